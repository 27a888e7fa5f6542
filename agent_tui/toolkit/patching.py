"""From the text of a patch to the changes of files, all worked out before the first is made."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit import paths
from agent_tui.toolkit.atomic import default_mode
from agent_tui.toolkit.changes import FileChange
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.encoding import UTF8, Encoding, decode, detect, encode
from agent_tui.toolkit.files import Base, Desk, refuse_read_only_folder
from agent_tui.toolkit.line_keeping import keep_ends
from agent_tui.toolkit.patch_applying import Patched, apply_hunks
from agent_tui.toolkit.patch_envelope import is_envelope, parse_envelope
from agent_tui.toolkit.patch_model import FilePatch, added_text
from agent_tui.toolkit.patch_names import check_name
from agent_tui.toolkit.patch_unified import parse_unified
from agent_tui.toolkit.paths import Target
from agent_tui.toolkit.similar import missing_file

_BOM = "\ufeff"


@dataclass(frozen=True)
class PlacedPatch:
    """A file of the patch and where it leads; `destination` is set for a move or a copy."""

    patch: FilePatch
    target: Target
    destination: Target | None = None

    @property
    def written(self) -> tuple[Target, ...]:
        """Give the paths that change."""
        if self.destination is None:
            return (self.target,)
        return (self.destination,) if self.patch.action == "copy" else (self.target, self.destination)


def parse(text: str) -> list[FilePatch]:
    """Read a patch of either format and check its names. Raises ToolError."""
    files = parse_envelope(text) if is_envelope(text) else parse_unified(text)
    for file in files:
        for name in (*file.names, *([file.moved_to] if file.moved_to else [])):
            check_name(name)
    return files


def place(files: Sequence[FilePatch], ctx: ToolContext, *, binding: bool = False) -> list[PlacedPatch]:
    """Resolve the names; `binding` holds the call to what is found (for `permissions`). Raises ToolError.

    A plain diff may spell a name in several ways: the first one that exists is taken.
    """
    find = paths.bind if binding else paths.resolve
    placed: list[PlacedPatch] = []
    for file in files:
        target = find(_spelling(file, ctx), ctx)
        destination = find(file.moved_to, ctx) if file.moved_to and file.moved_to != file.name else None
        placed.append(PlacedPatch(file, target, destination))
    _refuse_duplicates(placed)
    return placed


def work_out(placed: Sequence[PlacedPatch], ctx: ToolContext, *, planning: bool) -> list[FileChange]:
    """Compute every new content. Raises ToolError, BaseChanged; nothing is changed."""
    desk = Desk(ctx, planning=planning)
    changes = [_change(each, desk) for each in placed]
    if all(change.is_idle for change in changes):
        raise ToolError("nothing to change: the files would hold the same as before.")
    return changes


def _spelling(file: FilePatch, ctx: ToolContext) -> str:
    def is_there(name: str) -> bool:
        real = Path(os.path.realpath(ctx.workspace / name))
        if ctx.files.is_planned(ctx.call_id, real):
            return ctx.files.planned(ctx.call_id, real) is not None
        return os.path.lexists(real)

    return next((name for name in file.names if is_there(name)), file.name)


def _refuse_duplicates(placed: Sequence[PlacedPatch]) -> None:
    seen: set[Path] = set()
    for each in placed:
        for target in each.written:
            if target.real in seen:
                raise ToolError(
                    f"{target.shown} is in the patch twice. Put all its hunks under one header. Nothing was changed."
                )
            seen.add(target.real)


def _change(each: PlacedPatch, desk: Desk) -> FileChange:
    base = desk.look(each.target)
    if each.patch.action == "add":
        return _added(each, base, desk)
    if base is None:
        raise ToolError(f"{missing_file(each.target)} Nothing was changed.")
    desk.guard(each.target, base)
    if each.patch.action == "delete":
        return _deleted(each, base)
    return _updated(each, base, desk)


def _added(each: PlacedPatch, base: Base | None, desk: Desk) -> FileChange:
    """Make a file, or replace one that was shown whole."""
    target, text = each.target, added_text(each.patch.hunks)
    if base is None:
        desk.guard_absent(target)
        refuse_read_only_folder(target)
        mode = _with_execute(default_mode(), True) if each.patch.executable else None
        return FileChange(
            target, None, encode(text, UTF8, shown=target.shown), UTF8, mode=mode, knows_all=True
        )
    desk.guard_whole(target, base)
    old, encoding = decode(base.data, shown=target.shown)
    after = encode(keep_ends(old, text), encoding, shown=target.shown)
    return FileChange(target, base, after, encoding, mode=_mode(each, base), knows_all=True)


def _deleted(each: PlacedPatch, base: Base) -> FileChange:
    """Remove a file; the lines that the patch names must be its own."""
    encoding = detect(base.data)
    if encoding is not None and any(hunk.lines for hunk in each.patch.hunks):
        left, _written = _patched(encoding.decode(base.data), encoding, each)
        if left.text:
            raise ToolError(f"{each.target.shown} holds more than the patch deletes. Nothing was changed.")
    return FileChange(each.target, base, None, encoding)


def _updated(each: PlacedPatch, base: Base, desk: Desk) -> FileChange:
    after, encoding, note = base.data, detect(base.data), ""
    if each.patch.hunks:
        text, encoding = decode(base.data, shown=each.target.shown)
        patched, written = _patched(text, encoding, each)
        after, note = encode(patched.text, written, shown=each.target.shown), patched.note
    mode = _mode(each, base)
    if each.destination is None:
        return FileChange(each.target, base, after, encoding, mode=mode, note=note)
    replaced = desk.look(each.destination)
    if replaced is not None:
        desk.guard_whole(each.destination, replaced)
    else:
        desk.guard_absent(each.destination)
        refuse_read_only_folder(each.destination)
    if each.patch.action == "copy":
        return FileChange(
            each.destination, replaced, after, encoding, mode=mode or base.mode & 0o777, note=note
        )
    return FileChange(
        each.destination, base, after, encoding, mode=mode, source=each.target, replaced=replaced, note=note
    )


def _mode(each: PlacedPatch, base: Base) -> int | None:
    """Give the mode the patch asks for, None when it asks for none or for what is there."""
    wanted = each.patch.executable
    if wanted is None or wanted == bool(base.mode & 0o100):
        return None
    return _with_execute(base.mode, wanted)


def _with_execute(mode: int, wanted: bool) -> int:
    """Let those execute who may read, or nobody."""
    return mode | (mode & 0o444) >> 2 if wanted else mode & ~0o111


def _patched(text: str, encoding: Encoding, each: PlacedPatch) -> tuple[Patched, Encoding]:
    """Apply the hunks to the text and say in which encoding to write it.

    A BOM is part of the first line for the programs that make patches, and unknown to models.
    """
    patch, shown = each.patch, each.target.shown
    speaks_of_bom = patch.is_exact or any(_BOM in line.text for hunk in patch.hunks for line in hunk.lines)
    if encoding.bom and speaks_of_bom:
        with suppress(ToolError):
            return apply_hunks(_BOM + text, patch, shown=shown), replace(encoding, bom=b"")
    return apply_hunks(text, patch, shown=shown), encoding
