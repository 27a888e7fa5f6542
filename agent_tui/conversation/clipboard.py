"""The image of the clipboard, by the programs that the desktop brings."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.toolkit.capture import capture
from agent_tui.toolkit.children import NULL

_KINDS = ("image/png", "image/jpeg", "image/webp", "image/gif")
_WAIT_S = 5.0
_MOST_BYTES = 50_000_000


class Clipboard:
    """Asks wl-paste, xclip or pngpaste, whichever fits the desktop. `find` gives the path of a program or None."""

    def __init__(self, find: Callable[[str], Path | None], environment: Mapping[str, str]) -> None:
        self._find = find
        self._environment = environment

    async def image(self) -> bytes:
        """Give the image that was copied last. Raises AgentTuiError when there is none or no way to get it."""
        commands = self._commands()
        if not commands:
            raise AgentTuiError(
                "No program here reads images from the clipboard; install wl-clipboard, xclip or pngpaste, "
                "or paste the path of an image file."
            )
        for command in commands:
            data = await self._run(command)
            if data:
                return data
        raise AgentTuiError("The clipboard holds no image.")

    def _commands(self) -> list[list[str]]:
        found: list[list[str]] = []
        if self._environment.get("WAYLAND_DISPLAY") and (program := self._find("wl-paste")):
            found += [[str(program), "--no-newline", "--type", kind] for kind in _KINDS]
        if self._environment.get("DISPLAY") and (program := self._find("xclip")):
            found += [[str(program), "-selection", "clipboard", "-target", kind, "-out"] for kind in _KINDS]
        if program := self._find("pngpaste"):
            found.append([str(program), "-"])
        return found

    async def _run(self, command: Sequence[str]) -> bytes:
        try:
            answer = await capture(command, stderr=NULL, timeout_s=_WAIT_S, limit_bytes=_MOST_BYTES)
        except OSError:
            return b""
        return answer.stdout
