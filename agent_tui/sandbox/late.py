"""A sandbox that is looked for in a thread, so that nothing waits for the probe before the first command."""

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.bwrap import BwrapSandbox
from agent_tui.sandbox.interface import Confinement, Launch, NoSandbox, Sandbox, Strength


class LateSandbox:
    """Stands for the sandbox that `probe` will give; whoever needs it first waits for it (at most seconds)."""

    def __init__(self, probe: Callable[[], Sandbox]) -> None:
        self._probe = probe
        self._found: Sandbox = NoSandbox("the probe failed")
        self._probed = threading.Event()
        self._thread = threading.Thread(target=self._look, name="sandbox-probe", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def _look(self) -> None:
        try:
            found = self._found = self._probe()
        finally:
            self._probed.set()  # the search of a large workspace may go on for long: only commands wait for it
        if isinstance(found, BwrapSandbox):
            with contextlib.suppress(SandboxError, OSError):  # the first command says it again
                found.warm_up()

    def _ready(self) -> Sandbox:
        if self._thread.ident is None:
            self.start()
        self._probed.wait()
        return self._found

    @property
    def found(self) -> bool:
        """Whether the probe is done."""
        return self._probed.is_set()

    @property
    def strength(self) -> Strength:
        return self._ready().strength

    @property
    def reason(self) -> str:
        return self._ready().reason

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        """Wrap `argv` with what was found. Raises SandboxError."""
        return self._ready().launch(argv, cwd=cwd, confinement=confinement, env=env, keep_fds=keep_fds)

    def refused_hosts(self) -> tuple[str, ...]:
        """Give the hosts that commands asked the sandbox's proxy for in vain."""
        return self._found.refused_hosts() if self.found and isinstance(self._found, BwrapSandbox) else ()

    def close(self) -> None:
        """Give up what the sandbox holds; after the last command."""
        if self._thread.ident is not None:
            self._thread.join()
        if isinstance(self._found, BwrapSandbox):
            self._found.close()
