"""Reads the `*** Begin Patch` format."""

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.patch_model import FilePatch, Hunk, PatchLine

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File:", "*** Delete File:", "*** Update File:"
_MOVE, _END_OF_FILE = "*** Move to:", "*** End of File"
_UNIFIED = ("diff --git ", "--- ", "@@ -")
_SIGNS = {" ", "-", "+"}


def is_envelope(text: str) -> bool:
    """Tell whether the text is in this format."""
    for line in text.split("\n"):
        if line.strip() == BEGIN:
            return True
        if line.startswith(_UNIFIED):
            return False
    return False


def parse_envelope(text: str) -> list[FilePatch]:
    """Read the patch. Raises ToolError that names the line at fault (1-based)."""
    lines = text.split("\n")
    stripped = [line.strip() for line in lines]
    first = stripped.index(BEGIN) + 1
    if END not in stripped[first:]:
        raise ToolError(f"The patch does not end with {END!r}; it may be cut. Nothing was changed.")
    last = len(stripped) - 1 - stripped[::-1].index(END)
    reader = _Reader(lines[first:last], first)
    files: list[FilePatch] = []
    while not reader.is_done:
        files.append(_file(reader))
    if not files:
        raise ToolError("The patch names no file. Nothing was changed.")
    return files


class _Reader:
    """Walks over the lines of a patch."""

    def __init__(self, lines: list[str], offset: int) -> None:
        self._lines = [line.removesuffix("\r") for line in lines] if _is_crlf(lines) else lines
        self._offset = offset
        self._at = 0

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._lines)

    @property
    def line(self) -> str:
        return self._lines[self._at]

    @property
    def number(self) -> int:
        """Give the 1-based number of the line in the whole patch."""
        return self._offset + self._at + 1

    def next(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def value(self, marker: str) -> str | None:
        """Take a marker line and give what stands behind the marker, None when it is another line."""
        if self.is_done or not self.line.strip().startswith(marker):
            return None
        return self.next().strip()[len(marker) :].strip()

    def at_file(self) -> bool:
        return not self.is_done and self.line.strip().startswith((_ADD, _DELETE, _UPDATE))


def _is_crlf(lines: list[str]) -> bool:
    """Tell whether the patch itself came with CRLF ends: then its marker lines have them too."""
    markers = [line for line in lines if line.strip().startswith("*** ")]
    return bool(markers) and all(line.endswith("\r") for line in markers)


def _file(reader: _Reader) -> FilePatch:
    number = reader.number
    name = reader.value(_ADD)
    if name is not None:
        return _add(reader, _named(name, number))
    name = reader.value(_DELETE)
    if name is not None:
        return FilePatch("delete", (_named(name, number),))
    name = reader.value(_UPDATE)
    if name is not None:
        return _update(reader, _named(name, number))
    raise ToolError(
        f"Line {number} of the patch is not a file header: {reader.line!r}. "
        f"Expected {_ADD!r}, {_DELETE!r} or {_UPDATE!r}. Nothing was changed."
    )


def _named(name: str, number: int) -> str:
    if not name:
        raise ToolError(f"Line {number} of the patch names no file. Nothing was changed.")
    return name


def _add(reader: _Reader, name: str) -> FilePatch:
    lines: list[PatchLine] = []
    while not reader.is_done and not reader.at_file():
        number, line = reader.number, reader.next()
        if not line.strip() and (reader.is_done or reader.at_file()):
            break
        if not line.startswith("+"):
            raise ToolError(
                f"Line {number} of the patch must start with '+' in a new file: {line!r}. Nothing was changed."
            )
        lines.append(PatchLine("+", f"{line[1:]}\n"))
    return FilePatch("add", (name,), (Hunk(tuple(lines)),))


def _update(reader: _Reader, name: str) -> FilePatch:
    number = reader.number - 1
    moved_to = reader.value(_MOVE) or ""
    hunks: list[Hunk] = []
    while not reader.is_done and not reader.at_file():
        hunk = _hunk(reader)
        if hunk is not None:
            hunks.append(hunk)
    if not hunks and not moved_to:
        raise ToolError(
            f"Line {number} of the patch: the update of {name} has no changes. Nothing was changed."
        )
    return FilePatch("update", (name,), tuple(hunks), moved_to=moved_to, keeps_final_newline=False)


def _hunk(reader: _Reader) -> Hunk | None:
    """Read one hunk with the anchors before it; None for blank lines between two files."""
    number = reader.number
    anchors: list[str] = []
    while not reader.is_done and reader.line.startswith("@@"):
        anchor = reader.next()[2:].strip()
        anchors += [anchor.removesuffix("@@").rstrip()] if anchor else []
    lines: list[PatchLine] = []
    at_end = False
    while not reader.is_done and not reader.at_file() and not reader.line.startswith("@@"):
        line = reader.next()
        if line.strip() == _END_OF_FILE:
            at_end = True
            break
        lines.append(_line(line))
    while lines and lines[-1].text == "\n" and lines[-1].sign == " " and (reader.is_done or reader.at_file()):
        lines.pop()
    if not lines and not anchors:
        return None
    if all(line.sign == " " for line in lines):
        raise ToolError(f"Line {number} of the patch: this hunk changes nothing. Nothing was changed.")
    return Hunk(tuple(lines), anchors=tuple(anchors), at_end=at_end)


def _line(line: str) -> PatchLine:
    """Read one line of a hunk; one without a sign is context."""
    if line[:1] == "-":
        return PatchLine("-", f"{line[1:]}\n")
    if line[:1] == "+":
        return PatchLine("+", f"{line[1:]}\n")
    return PatchLine(" ", f"{line[1:] if line[:1] in _SIGNS else line}\n")
