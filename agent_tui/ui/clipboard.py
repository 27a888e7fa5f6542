"""Puts text into the clipboard by every way that can work here: the terminal's own sequence, tmux, a program."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence

OSC_52_BYTES = 74_994
"""Most bytes of base64 that xterm takes in one OSC 52; others take more, none is known to take less."""
WAIT_S = 2.0


class Clipboard:
    """`send` writes to the terminal; `environment` says what surrounds it."""

    def __init__(self, send: Callable[[str], None], environment: Mapping[str, str] | None = None) -> None:
        self._send = send
        self._environment = os.environ if environment is None else environment

    def put(self, text: str) -> None:
        """Send `text` by the terminal at once. Over SSH this reaches the machine the person sits at."""
        encoded = base64.b64encode(text.encode("utf-8", "replace"))
        if len(encoded) <= OSC_52_BYTES:
            self._send(f"\x1b]52;c;{encoded.decode()}\x07")

    def hand_over(self, text: str) -> bool:
        """Give `text` to tmux or a program of the desktop too; whether one took it. Blocks for up to 2 seconds."""
        data = text.encode("utf-8", "replace")
        taken = [self._run(command, data) for command in self.commands()]
        return any(taken)

    def commands(self) -> list[Sequence[str]]:
        """Give the programs to try: tmux's buffer, then the first of the desktop's that is there."""
        found: list[Sequence[str]] = []
        here = self._environment
        if here.get("TMUX"):
            found.append(("tmux", "load-buffer", "-w", "-"))
        if not (here.get("SSH_TTY") or here.get("SSH_CONNECTION")):
            found += self._desktop()[:1]
        return [command for command in found if self._which(command[0])]

    def _desktop(self) -> list[Sequence[str]]:
        here = self._environment
        candidates: list[Sequence[str]] = [("pbcopy",), ("clip.exe",)]
        if here.get("WAYLAND_DISPLAY"):
            candidates.append(("wl-copy",))
        if here.get("DISPLAY"):
            candidates += [("xclip", "-selection", "clipboard", "-in"), ("xsel", "--clipboard", "--input")]
        return [command for command in candidates if self._which(command[0])]

    def _which(self, name: str) -> str | None:
        folders = [
            folder for folder in self._environment.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)
        ]
        return shutil.which(name, path=os.pathsep.join(folders))

    def _run(self, command: Sequence[str], data: bytes) -> bool:
        program = self._which(command[0])
        if program is None:
            return False
        try:
            done = subprocess.run(
                [program, *command[1:]],
                input=data,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=WAIT_S,
                start_new_session=True,
                env=dict(self._environment),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0
