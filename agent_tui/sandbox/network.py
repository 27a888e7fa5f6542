"""Network namespaces that several commands share: one without a way out, and the ground of one with a proxy."""

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from agent_tui.protocol.errors import SandboxError

NSENTER = Path("/usr/bin/nsenter")
_START_TIMEOUT_S = 5
_WAIT = ("/bin/sh", "-c", "echo ready; exec cat >&2")


class HeldNetwork:
    """Holds a network namespace with a loopback of its own; the host and the world are out of reach.

    `bwrap` is the path of bubblewrap. `inside` is what holds it: it prints "ready" and ends when its input does, so
    it cannot outlive this program. `pass_fds` reach it. `nsenter` joins the namespace. Any thread may use it.
    """

    def __init__(
        self,
        bwrap: Path,
        *,
        inside: Sequence[str] = _WAIT,
        pass_fds: Sequence[int] = (),
        nsenter: Path = NSENTER,
    ) -> None:
        self._bwrap = bwrap
        self._nsenter = nsenter
        self._starting = threading.Lock()
        self._inside = tuple(inside)
        self._pass_fds = tuple(pass_fds)
        self._holder: subprocess.Popen[bytes] | None = None
        self._pid = 0
        self._is_closed = False

    @property
    def running(self) -> bool:
        """Whether there is a namespace to join. An ended holder stays unreaped until asked: its pid is not reused."""
        return self._holder is not None and self._holder.poll() is None

    def prefix(self) -> list[str]:
        """Give the words that go before a command to run it inside; [] where joining is not possible.

        Starts the holder on first use (about 20 ms, blocks). Raises SandboxError when it does not start, or is closed.
        """
        if not self._nsenter.is_file():
            return []
        with self._starting:
            if self._is_closed:
                raise SandboxError("the network of the sandbox is closed")
            if not self.running:
                self._end()
                self._start()
        return [str(self._nsenter), "-t", str(self._pid), "-U", "-n", "--preserve-credentials", "--"]

    def _start(self) -> None:
        reader, writer = os.pipe()
        command = [str(self._bwrap), "--unshare-user", "--unshare-net", "--ro-bind", "/", "/"]
        command += ["--cap-drop", "ALL", "--info-fd", str(writer), "--", *self._inside]
        try:
            # Not tied to the thread that starts it, which may be the one that probes: its input ties it to us.
            self._holder = subprocess.Popen(
                command,
                pass_fds=(writer, *self._pass_fds),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={},
                cwd="/",
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
            self._end()
            raise SandboxError("bubblewrap cannot hold a network namespace") from error

    def _await_ready(self, holder: "subprocess.Popen[bytes]") -> None:
        """Wait until the holder runs: before that its user mapping is not written and nobody can join."""
        assert holder.stdout is not None  # a pipe was asked for
        with holder.stdout as stream:
            if stream.readline() != b"ready\n":
                raise ValueError("the holder did not start")

    def close(self) -> None:
        """End the holder for good; commands that run inside keep their namespace until they end."""
        with self._starting:
            self._is_closed = True
            self._end()

    def _end(self) -> None:
        holder, self._holder = self._holder, None
        if holder is None:
            return
        if holder.stdin is not None:
            holder.stdin.close()
        try:
            holder.wait(timeout=_START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            holder.kill()
            holder.wait()
