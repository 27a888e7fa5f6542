"""Reads unified diffs, as git and diff print them and as models write them."""

import re
from dataclasses import dataclass, field

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.patch_model import FileAction, FilePatch, Hunk, PatchLine
from agent_tui.toolkit.patch_names import git_names, header_name, is_epoch, stripped_pair

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_BARE_HUNK = re.compile(r"@@(?: .*)?$")
_NO_NEWLINE = "\\ "
_REGULAR = ("100644", "100755", "100664")
DEV_NULL = "/dev/null"


def parse_unified(text: str) -> list[FilePatch]:
    """Read the patch; what stands between the files is ignored. Raises ToolError."""
    lines = _lines(text)
    files: list[FilePatch] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith("diff --git "):
            file, at = _git_file(lines, at)
            files.append(file)
        elif _is_plain_header(lines, at):
            file, at = _plain_file(lines, at)
            files.append(file)
        elif _HUNK.match(lines[at]):
            raise ToolError(
                f"Line {at + 1} of the patch: a hunk without a file before it. Nothing was changed."
            )
        else:
            at += 1
    if not files:
        raise ToolError("The patch has no hunks: no file header was found. Nothing was changed.")
    return files


def _lines(text: str) -> list[str]:
    """Split the patch; a CR that also ends the headers came with the patch and belongs to no file."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    headers = [line for line in lines if line.startswith(("--- ", "+++ ", "@@ -", "diff --git "))]
    if headers and all(line.endswith("\r") for line in headers):
        return [line.removesuffix("\r") for line in lines]
    return lines


def _is_plain_header(lines: list[str], at: int) -> bool:
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


@dataclass
class _Git:
    """What the extended header of git says."""

    old: str
    new: str
    action: FileAction = "update"
    moved_to: str = ""
    executable: bool | None = None
    is_exact: bool = False
    names: list[str] = field(default_factory=list[str])


def _git_file(lines: list[str], at: int) -> tuple[FilePatch, int]:
    old, new = git_names(lines[at])
    git = _Git(old, new)
    at += 1
    while at < len(lines) and _extended(git, lines[at]):
        at += 1
    if at < len(lines) and _is_plain_header(lines, at):
        at += 2 if _take_names(git, header_name(lines[at][4:]), header_name(lines[at + 1][4:])) else 0
    if at < len(lines) and lines[at].startswith(("GIT binary patch", "Binary files ")):
        raise ToolError(f"{git.new or git.old}: binary patches cannot be applied. Nothing was changed.")
    hunks, at = _hunks(lines, at)
    if not hunks and git.action == "update" and not git.moved_to and git.executable is None:
        raise ToolError(f"{git.new or git.old}: the patch has no hunks for it. Nothing was changed.")
    name = git.new if git.action == "add" else git.old
    if not name:
        raise ToolError(f"Line {at} of the patch: the file has no name. Nothing was changed.")
    return (
        FilePatch(
            git.action,
            (name,),
            tuple(hunks),
            moved_to=git.moved_to,
            executable=git.executable,
            is_exact=git.is_exact,
        ),
        at,
    )


def _take_names(git: _Git, old: str, new: str) -> bool:
    """Compare the names of the `---` and `+++` lines with git's; False when they belong to another file.

    Git's own line tells whether the names have prefixes, so it stands where both mean the same.
    """
    named = stripped_pair(old, new)
    if git.moved_to:
        return named == (git.old, git.new) or (old, new) == (git.old, git.new)
    if not old or not new:
        git.action = "add" if not old else "delete"
    git.old = git.old if git.old in (old, named[0]) or not old else named[0]
    git.new = git.new if git.new in (new, named[1]) or not new else named[1]
    return True


def _extended(git: _Git, line: str) -> bool:
    """Take one line of the extended header; False when it is none."""
    word, _, value = line.partition(" ")
    if line.startswith("index "):
        git.is_exact = True
    elif line.startswith(("similarity index ", "dissimilarity index ", "old mode ")):
        pass
    elif line.startswith("new mode "):
        git.executable = _executable(line, git)
    elif line.startswith("new file mode "):
        git.action, git.executable = "add", _executable(line, git)
    elif line.startswith("deleted file mode "):
        _executable(line, git)
        git.action = "delete"
    elif line.startswith(("rename from ", "copy from ")):
        git.old = header_name(value.removeprefix("from "))
    elif line.startswith(("rename to ", "copy to ")):
        git.moved_to = git.new = header_name(value.removeprefix("to "))
        git.action = "copy" if word == "copy" else git.action
    else:
        return False
    return True


def _executable(line: str, git: _Git) -> bool:
    mode = line.split()[-1]
    if mode not in _REGULAR:
        raise ToolError(
            f"{git.new or git.old}: mode {mode} is not that of a regular file. Nothing was changed."
        )
    return mode == "100755"


def _plain_file(lines: list[str], at: int) -> tuple[FilePatch, int]:
    raw_old, raw_new = lines[at][4:], lines[at + 1][4:]
    old, new = stripped_pair(header_name(raw_old), header_name(raw_new))
    hunks, end = _hunks(lines, at + 2)
    if not hunks:
        raise ToolError(f"{new or old}: the patch has no hunks for it. Nothing was changed.")
    action: FileAction = "update"
    if not old or (is_epoch(raw_old) and hunks[0].old_start == 0):
        action = "add"
    elif not new or is_epoch(raw_new):
        action = "delete"
    names = dict.fromkeys(name for name in (new, old, _without_top(new), _without_top(old)) if name)
    if not names:
        raise ToolError(f"Line {at + 1} of the patch names no file. Nothing was changed.")
    return FilePatch(action, tuple(names), tuple(hunks), is_exact="\t" in raw_old), end


def _without_top(name: str) -> str:
    return name.partition("/")[2]


def _hunks(lines: list[str], at: int) -> tuple[list[Hunk], int]:
    hunks: list[Hunk] = []
    while at < len(lines):
        match = _HUNK.match(lines[at])
        if match is None and not _BARE_HUNK.match(lines[at]):
            break
        body, at = _body(lines, at + 1, match)
        if body:
            hunks.append(Hunk(tuple(body), old_start=int(match[1]) if match else None))
    return hunks, at


def _body(lines: list[str], at: int, match: re.Match[str] | None) -> tuple[list[PatchLine], int]:
    """Read the lines of one hunk: as many as its header says, and on while they still look like a hunk's."""
    old_left, new_left = (int(match[2] or 1), int(match[4] or 1)) if match else (0, 0)
    body: list[PatchLine] = []
    while at < len(lines):
        line = lines[at]
        if line.startswith(_NO_NEWLINE) and body:
            body[-1] = PatchLine(body[-1].sign, body[-1].text.removesuffix("\n"))
            at += 1
            continue
        is_due = old_left > 0 or new_left > 0
        if not is_due and not _goes_on(lines, at, counted=match is not None and bool(body)):
            break
        if line.startswith("diff --git ") or _HUNK.match(line):
            break
        body.append(_line(line))
        old_left -= body[-1].sign != "+"
        new_left -= body[-1].sign != "-"
        at += 1
    return body, at


def _goes_on(lines: list[str], at: int, *, counted: bool) -> bool:
    """Tell whether a line beyond what the header counted still belongs to the hunk."""
    line = lines[at]
    if line.startswith(("diff --git ", "@@", "Index: ", "index ")) or _is_plain_header(lines, at):
        return False
    if line.rstrip() == "--":
        return False  # the signature of a mailed patch
    return line[:1] in (" ", "+", "-") or (not counted and line == "")


def _line(line: str) -> PatchLine:
    """Read one line; one without a sign, also an empty one, is context."""
    if line[:1] == "-":
        return PatchLine("-", f"{line[1:]}\n")
    if line[:1] == "+":
        return PatchLine("+", f"{line[1:]}\n")
    return PatchLine(" ", f"{line[1:] if line[:1] == ' ' else line}\n")
