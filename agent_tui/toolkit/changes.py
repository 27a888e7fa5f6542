"""Changes of files: shown before they are made, then made as shown, all or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from agent_tui.protocol.display import ChangePreview, ResultContentType
from agent_tui.protocol.errors import BaseChanged, ToolError
from agent_tui.toolkit.atomic import ChangedMeanwhile, Write, apply
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.diffing import Block, changes, hunks, take_hunks
from agent_tui.toolkit.encoding import Encoding, encode
from agent_tui.toolkit.files import Base, digest
from agent_tui.toolkit.git_diff import FileDiff, Side, file_diff
from agent_tui.toolkit.lines import end_of, split_lines
from agent_tui.toolkit.paths import Target
from agent_tui.toolkit.ranges import LineRanges
from agent_tui.toolkit.rooted import message_of
from agent_tui.toolkit.stale import PendingTemps
from agent_tui.toolkit.text import count, count_lines
from agent_tui.toolkit.tracker import Stamp

PREVIEW_LIMIT_CHARS = 400_000


@dataclass(frozen=True)
class FileChange:
    """What happens to one file.

    `before` is what the change starts from (None: the file is new), `after` what it becomes (None: it is removed),
    both in `encoding` (None: not text). `source` is set when the file is moved from there to `target`; then
    `replaced` is what was at `target` before. `mode` sets permission bits, None keeps them. `knows_all` says that
    the agent wrote every line of `after` itself. `note` tells a person what was not exact.
    """

    target: Target
    before: Base | None
    after: bytes | None
    encoding: Encoding | None
    mode: int | None = None
    source: Target | None = None
    replaced: Base | None = None
    knows_all: bool = False
    note: str = ""

    @cached_property
    def lines_before(self) -> list[str] | None:
        """Give the lines the change starts from, None when they are not text."""
        return _lines(self.before.data if self.before else None, self.encoding)

    @cached_property
    def lines_after(self) -> list[str] | None:
        """Give the lines the change leads to, None when they are not text."""
        return _lines(self.after, self.encoding)

    @cached_property
    def blocks(self) -> list[Block]:
        """Give the blocks of lines that differ, none for what is not text."""
        if self.lines_before is None or self.lines_after is None:
            return []
        return changes(self.lines_before, self.lines_after)

    @property
    def verb(self) -> str:
        """Name what happens, in the past tense."""
        if self.source is not None:
            return "Moved"
        if self.before is None:
            return "Created"
        return "Deleted" if self.after is None else "Replaced" if self.knows_all else "Changed"

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing would be different."""
        same_content = self.before is not None and self.after == self.before.data
        same_mode = self.mode is None or (self.before is not None and self.mode == self.before.mode)
        return same_content and same_mode and self.source is None


@dataclass(frozen=True)
class Done:
    """What became of one change. `left_out` are the 0-based hunks of this file that the person did not accept."""

    change: FileChange
    diff: FileDiff
    left_out: tuple[int, ...] = ()

    @property
    def remark(self) -> str:
        """Say what is worth saying besides: a note, a broken hard link, hunks that were left out; "" if nothing."""
        remarks = [self.change.note]
        replaced = self.change.replaced if self.change.source else self.change.before
        if replaced is not None and replaced.links > 1 and self.change.after is not None:
            remarks.append(
                f"the file had {replaced.links} hard links; this name has the new content, the others keep the old"
            )
        if self.left_out:
            numbers = ", ".join(str(number + 1) for number in self.left_out)
            remarks.append(
                f"the person left out {count(len(self.left_out), 'hunk')} of this file (number {numbers})"
            )
        return "; ".join(remark for remark in remarks if remark)


def preview(files: Sequence[FileChange], ctx: ToolContext) -> ChangePreview:
    """Show the changes as one git-style diff, and plan them so that the previews of later calls start there."""
    ctx.files.plan(ctx.call_id, contents_after(files))
    diffs = [diff_of(change) for change in files]
    text = "".join(diff.text for diff in diffs)
    notes = [f"{change.target.shown}: {change.note}" for change in files if change.note]
    is_truncated = len(text) > PREVIEW_LIMIT_CHARS
    tail = f"\n... ({len(text):,} characters in all)" if is_truncated else ""
    return ChangePreview(
        content=text[:PREVIEW_LIMIT_CHARS] + tail,
        content_type=ResultContentType.DIFF,
        is_truncated=is_truncated,
        full_length=len(text),
        full_lines=count_lines(text),
        path=files[0].target.shown if len(files) == 1 else "",
        summary=totals(diffs),
        bases=_bases(files),
        hunks=sum(diff.hunks for diff in diffs),
        note="; ".join(notes),
    )


def commit(files: Sequence[FileChange], ctx: ToolContext) -> list[Done]:
    """Make the changes, or only the hunks of them that a person accepted; all files or none.

    Raises ToolError, and BaseChanged when a file is not what the approved preview showed.
    """
    accepted = ctx.files.accepted_hunks(ctx.call_id)
    chosen = (
        [Done(change, diff_of(change)) for change in files] if accepted is None else _choose(files, accepted)
    )
    writes = [write for done in chosen for write in _writes(done.change)]
    try:
        stamps = apply(writes, PendingTemps(ctx.data_dir))
    except ChangedMeanwhile as error:
        if ctx.files.covers(ctx.call_id, error.target.real):
            ctx.files.replan()
            raise BaseChanged(error.target.real) from error
        raise ToolError(
            f"{error.target.shown} was modified by somebody else at this very moment. Nothing was changed; "
            "read it again, then try again."
        ) from error
    except OSError as error:
        names = ", ".join(change.target.shown for change in files)
        raise ToolError(f"{message_of(error, shown=names)} Nothing was changed.") from error
    _record(chosen, dict(zip([write.target.real for write in writes], stamps, strict=True)), ctx)
    return chosen


def contents_after(files: Sequence[FileChange]) -> dict[Path, bytes | None]:
    """Give what every touched path holds afterwards; None for a removed one."""
    contents: dict[Path, bytes | None] = {}
    for change in files:
        if change.source is not None:
            contents[change.source.real] = None
        contents[change.target.real] = change.after
    return contents


def diff_of(change: FileChange) -> FileDiff:
    """Print one change as git would."""
    old_lines, new_lines = change.lines_before, change.lines_after
    if old_lines and new_lines and _all_crlf(old_lines) and _all_crlf(new_lines):
        old_lines, new_lines = _without_cr(old_lines), _without_cr(new_lines)
    before_mode = change.before.mode if change.before else None
    after_mode = None if change.after is None else change.mode or before_mode or 0o644
    return file_diff(
        Side((change.source or change.target).shown, old_lines, before_mode),
        Side(change.target.shown, new_lines, after_mode),
        change.blocks,
    )


def totals(diffs: Sequence[FileDiff]) -> str:
    """Give "+3 -1"."""
    return f"+{sum(diff.added for diff in diffs):,} -{sum(diff.removed for diff in diffs):,}"


def _lines(data: bytes | None, encoding: Encoding | None) -> list[str] | None:
    if data is None:
        return []
    return None if encoding is None else split_lines(encoding.decode(data))


def _all_crlf(lines: Sequence[str]) -> bool:
    return all(line.endswith("\r\n") for line in lines[:-1]) and end_of(lines[-1]) in ("\r\n", "")


def _without_cr(lines: Sequence[str]) -> list[str]:
    return [line.replace("\r\n", "\n") for line in lines]


def _bases(files: Sequence[FileChange]) -> dict[str, str]:
    bases: dict[str, str] = {}
    for change in files:
        if change.source is None:
            bases[str(change.target.real)] = change.before.sha256 if change.before else ""
        else:
            bases[str(change.source.real)] = change.before.sha256 if change.before else ""
            bases[str(change.target.real)] = change.replaced.sha256 if change.replaced else ""
    return bases


def _choose(files: Sequence[FileChange], accepted: Sequence[int]) -> list[Done]:
    """Keep only the accepted hunks, which are numbered through all files in the order of the preview."""
    chosen: list[Done] = []
    first = 0
    for change in files:
        whole = diff_of(change)
        own = [number - first for number in accepted if first <= number < first + whole.hunks]
        first += whole.hunks
        left_out = tuple(number for number in range(whole.hunks) if number not in own)
        kept = _keep(change, own) if left_out else change
        chosen.append(Done(kept, diff_of(kept), left_out))
    return chosen


def _keep(change: FileChange, own: Sequence[int]) -> FileChange:
    """Give the change with only the hunks in `own`; a file that would be made or removed is left as it is."""
    old, new = change.lines_before, change.lines_after
    if old is None or new is None or change.encoding is None:
        return change
    if change.before is None or change.after is None:
        return replace(change, after=change.before.data if change.before else None)
    groups = hunks(change.blocks)
    text = "".join(take_hunks(old, new, groups, own))
    return replace(change, after=encode(text, change.encoding, shown=change.target.shown))


def _writes(change: FileChange) -> list[Write]:
    """Give the steps on disk; none for a change that leaves all as it is."""
    if change.is_idle or (change.before is None and change.after is None):
        return []
    before = change.before.stamp if change.before else None
    if change.source is None:
        return [Write(change.target, change.after, before, mode=change.mode)]
    replaced = change.replaced.stamp if change.replaced else None
    return [
        Write(change.target, change.after, replaced, mode=change.mode, like=change.source),
        Write(change.source, None, before),
    ]


def _record(chosen: Sequence[Done], stamps: dict[Path, Stamp | None], ctx: ToolContext) -> None:
    """Tell the tracker what the agent did itself."""
    for done in chosen:
        change = done.change
        if change.source is not None:
            _record_known(change, stamps, ctx)
            ctx.files.forget(change.source.real)
        elif change.after is None:
            ctx.files.forget(change.target.real)
        else:
            _record_known(change, stamps, ctx)


def _record_known(change: FileChange, stamps: dict[Path, Stamp | None], ctx: ToolContext) -> None:
    stamp = stamps.get(change.target.real)
    lines = change.lines_after
    if stamp is None or change.after is None or lines is None:
        return
    known = LineRanges.of([(1, len(lines))]) if change.knows_all else _known_after(change, lines, ctx)
    stamp = replace(stamp, sha256=digest(change.after))
    ctx.files.wrote(change.target.real, stamp, known, total_lines=len(lines))


def _known_after(change: FileChange, new: Sequence[str], ctx: ToolContext) -> LineRanges:
    """Carry over what was shown of the old lines and add the lines that the agent wrote."""
    old = change.lines_before
    if old is None or change.before is None or change.before.stamp is None:
        return LineRanges.of([(1, len(new))])
    known = ctx.files.known_lines((change.source or change.target).real, change.before.stamp)
    spans: list[tuple[int, int]] = []
    at = Block(0, 0, 0, 0)
    for block in (*change.blocks, Block(len(old), len(old), len(new), len(new))):
        spans += known.within(at.old_end + 1, block.old_start, shift=at.new_end - at.old_end)
        spans.append((block.new_start + 1, block.new_end))
        at = block
    return LineRanges.of(spans)
