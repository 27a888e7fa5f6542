"""One network namespace for all commands of a session, so that a server in a job answers the next command."""

import json
import os
import subprocess
from pathlib import Path

from agent_tui.protocol.errors import SandboxError

NSENTER = Path("/usr/bin/nsenter")
_START_TIMEOUT_S = 5
_SAY_READY = "echo ready; exec sleep infinity >&2"


class SharedNetwork:
    """Holds a namespace with a loopback of its own; the host and the world are out of reach.

    `bwrap` is the path of bubblewrap. The holder dies with this program. `close` ends it.
    """

    def __init__(self, bwrap: Path) -> None:
        self._bwrap = bwrap
        self._holder: subprocess.Popen[bytes] | None = None
        self._pid = 0

    def prefix(self) -> list[str]:
        """Give the words that go before a command to run it inside; [] where joining is not possible.

        Starts the holder on first use (about 10 ms). Raises SandboxError when it does not start.
        """
        if not NSENTER.is_file():
            return []
        if self._holder is None or self._holder.poll() is not None:
            self._start()
        return [str(NSENTER), "-t", str(self._pid), "-U", "-n", "--preserve-credentials", "--"]

    def _start(self) -> None:
        reader, writer = os.pipe()
        command = [
            str(self._bwrap),
            "--unshare-user",
            "--unshare-net",
            "--die-with-parent",
            "--ro-bind",
            "/",
            "/",
        ]
        command += ["--cap-drop", "ALL", "--info-fd", str(writer), "--", "/bin/sh", "-c", _SAY_READY]
        try:
            self._holder = subprocess.Popen(
                command,
                pass_fds=(writer,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            os.close(reader)
            raise SandboxError(f"bubblewrap cannot hold a network namespace: {error}") from error
        finally:
            os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            text = stream.read()
        try:
            self._pid = int(json.loads(text)["child-pid"])
            self._await_ready(self._holder)
        except (ValueError, KeyError) as error:
            self.close()
            raise SandboxError("bubblewrap cannot hold a network namespace") from error

    def _await_ready(self, holder: "subprocess.Popen[bytes]") -> None:
        """Wait until the holder runs: before that its user mapping is not written and nobody can join."""
        assert holder.stdout is not None  # a pipe was asked for
        with holder.stdout as stream:
            if stream.readline() != b"ready\n":
                raise ValueError("the holder did not start")

    def close(self) -> None:
        """End the holder; commands that run inside keep their namespace until they end."""
        if self._holder is not None:
            self._holder.kill()
            self._holder.wait(timeout=_START_TIMEOUT_S)
            self._holder = None
