"""Writes a whole file."""

from collections.abc import Sequence

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from agent_tui.toolkit import paths
from agent_tui.toolkit.api import (
    ChangePreview,
    DisplayConfig,
    DisplayResult,
    Permission,
    ResultContentType,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    count,
    count_lines,
    display_text,
)
from agent_tui.toolkit.changes import Done, FileChange, commit, preview
from agent_tui.toolkit.encoding import UTF8, decode, encode
from agent_tui.toolkit.files import Desk, refuse_read_only_folder
from agent_tui.toolkit.line_keeping import keep_ends
from agent_tui.toolkit.threads import off_loop


class WriteParams(BaseModel):
    """Arguments of write."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "path"),
        description="The file to write, absolute or relative to the project. Missing folders are made.",
    )
    content: str = Field(description="The whole new content.")


def _display(params: WriteParams, result: ToolResult) -> DisplayResult:
    """Show the diff, or the content itself of a file that is new."""
    path, summary = str(result.data.get("path", params.file_path)), str(result.data.get("summary", ""))
    if not result.is_error and result.data.get("new"):
        return display_text(params.content, ResultContentType.CODE, path=path, first_line=1, summary=summary)
    diff = str(result.data.get("diff", ""))
    if result.is_error or not diff:
        return display_text(result.output, path=path, summary=summary)
    return display_text(diff, ResultContentType.DIFF, path=path, summary=summary)


class WriteTool(Tool[WriteParams]):
    """Writes a whole file."""

    name = "write"
    description = (
        "Creates a file or replaces a whole one. An existing file must have been read, all of it, in an earlier "
        "round and be unchanged since. Prefer edit for small changes."
    )
    params_type = WriteParams

    def permissions(self, params: WriteParams, ctx: ToolContext) -> Sequence[Permission]:
        return (paths.write_permission(paths.bind(params.file_path, ctx)),)

    async def preview(self, params: WriteParams, ctx: ToolContext) -> ChangePreview | None:
        return await off_loop(lambda: preview([_change(params, ctx, planning=True)], ctx))

    def run(self, params: WriteParams, ctx: ToolContext) -> ToolResult:
        change = _change(params, ctx, planning=False)
        if change.is_idle:
            text = f"{change.target.shown} is unchanged: it holds exactly this content already."
            return ToolResult.success(
                text, data={"path": change.target.shown, "diff": "", "summary": "unchanged"}
            )
        done = commit([change], ctx)[0]
        data = {"path": change.target.shown, "diff": done.diff.text, "summary": _summary(done)}
        return ToolResult.success(_report(done), data={**data, "new": change.before is None})

    def compact_summary(self, params: WriteParams, result: ToolResult) -> str:
        if result.is_error:
            return f"[write: {params.file_path} failed]"
        return f"[write: {params.file_path}, {result.data.get('summary', 'done')}]"

    display = DisplayConfig[WriteParams](
        display_name="Write",
        display_title=lambda params: params.file_path or "Unknown file",
        display_content=_display,
    )


def _change(params: WriteParams, ctx: ToolContext, *, planning: bool) -> FileChange:
    """Work out the change. Raises ToolError, BaseChanged."""
    if params.file_path.endswith("/"):
        raise ToolError(f"{params.file_path!r} names a directory. Give the path of a file.")
    target = paths.resolve(params.file_path, ctx)
    desk = Desk(ctx, planning=planning)
    base = desk.look(target)
    if base is None:
        desk.guard_absent(target)
        refuse_read_only_folder(target)
        data = encode(params.content, UTF8, shown=target.shown)
        return FileChange(target, None, data, UTF8, knows_all=True)
    desk.guard_whole(target, base)
    text, encoding = decode(base.data, shown=target.shown)
    content = params.content.removeprefix("\ufeff") if encoding.bom else params.content
    after = encode(keep_ends(text, content), encoding, shown=target.shown)
    return FileChange(target, base, after, encoding, knows_all=True)


def _summary(done: Done) -> str:
    return f"+{done.diff.added:,} -{done.diff.removed:,}"


def _report(done: Done) -> str:
    """Say what was done, with bytes and lines."""
    data = done.change.after
    remark = f" ({done.remark})" if done.remark else ""
    if data is None:
        return f"{done.change.target.shown} was not written{remark}."
    text = done.change.encoding.decode(data) if done.change.encoding else ""
    size = f"{count(len(data), 'byte')}, {count(count_lines(text), 'line')}"
    return f"{done.change.verb} {done.change.target.shown}: {size}.{remark}"
