"""The change of a file as git would print it."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_tui.toolkit.diffing import CONTEXT_LINES, Block, hunks
from agent_tui.toolkit.encoding import displayable

NO_NEWLINE = "\\ No newline at end of file\n"
_ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


@dataclass(frozen=True)
class Side:
    """One side of a file's change: its name, its lines with their ends and its mode bits (None: does not exist).

    `lines` is None for a file that is not text.
    """

    name: str
    lines: Sequence[str] | None
    mode: int | None


@dataclass(frozen=True)
class FileDiff:
    """A printed change. `hunks` counts those that can be accepted one by one; `added` and `removed` count lines."""

    text: str
    hunks: int
    added: int
    removed: int


def file_diff(old: Side, new: Side, blocks: Sequence[Block]) -> FileDiff:
    """Print the change from `old` to `new`, which differ in `blocks`; a side whose mode is None is /dev/null."""
    if old.lines is None or new.lines is None:
        text = _header(old, new) + f"Binary files {_name('a', old)} and {_name('b', new)} differ\n"
        return FileDiff(text, hunks=0, added=0, removed=0)
    groups = hunks(blocks)
    body = "".join(_hunk(group, old.lines, new.lines) for group in groups)
    names = f"--- {_name('a', old)}\n+++ {_name('b', new)}\n" if groups else ""
    return FileDiff(
        text=displayable(_header(old, new) + names + body),
        hunks=len(groups),
        added=sum(block.new_end - block.new_start for block in blocks),
        removed=sum(block.old_end - block.old_start for block in blocks),
    )


def quoted(name: str) -> str:
    """Give a name as git prints it: in quotes with escapes when it holds control characters or quotes."""
    if not any(char < " " or char in '"\\\x7f' for char in name) and name.isprintable():
        return name
    return '"' + "".join(_escape(byte) for byte in name.encode("utf-8", "surrogateescape")) + '"'


def _escape(byte: int) -> str:
    if byte in _ESCAPES:
        return _ESCAPES[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _name(prefix: str, side: Side) -> str:
    """Give `a/name`, the bare name of an absolute one, or /dev/null."""
    if side.mode is None:
        return "/dev/null"
    return quoted(side.name if side.name.startswith("/") else f"{prefix}/{side.name}")


def _header(old: Side, new: Side) -> str:
    first = Side(old.name, None, 0)
    second = Side(new.name, None, 0)
    lines = [f"diff --git {_name('a', first)} {_name('b', second)}"]
    if old.mode is None and new.mode is not None:
        lines.append(f"new file mode {_git_mode(new.mode)}")
    elif new.mode is None and old.mode is not None:
        lines.append(f"deleted file mode {_git_mode(old.mode)}")
    elif old.mode is not None and new.mode is not None and old.mode & 0o111 != new.mode & 0o111:
        lines += [f"old mode {_git_mode(old.mode)}", f"new mode {_git_mode(new.mode)}"]
    if old.name != new.name:
        lines += [f"rename from {quoted(old.name)}", f"rename to {quoted(new.name)}"]
    return "\n".join(lines) + "\n"


def _git_mode(mode: int) -> str:
    return "100755" if mode & 0o100 else "100644"


def _hunk(group: Sequence[Block], old: Sequence[str], new: Sequence[str]) -> str:
    """Print one hunk with its context."""
    old_from = max(0, group[0].old_start - CONTEXT_LINES)
    old_to = min(len(old), group[-1].old_end + CONTEXT_LINES)
    new_from = group[0].new_start - (group[0].old_start - old_from)
    new_to = group[-1].new_end + (old_to - group[-1].old_end)
    lines = [f"@@ -{_range(old_from, old_to)} +{_range(new_from, new_to)} @@\n"]
    at = old_from
    for block in group:
        lines += [_line(" ", line) for line in old[at : block.old_start]]
        lines += [_line("-", line) for line in old[block.old_start : block.old_end]]
        lines += [_line("+", line) for line in new[block.new_start : block.new_end]]
        at = block.old_end
    lines += [_line(" ", line) for line in old[at:old_to]]
    return "".join(lines)


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{NO_NEWLINE}"


def _range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
