"""Applies a patch to several files."""

from collections.abc import Sequence

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from agent_tui.toolkit import paths
from agent_tui.toolkit.api import (
    ChangePreview,
    DisplayConfig,
    DisplayResult,
    JsonObject,
    Permission,
    ResultContentType,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    count,
    display_text,
)
from agent_tui.toolkit.changes import Done, commit, preview, totals
from agent_tui.toolkit.patching import parse, place, work_out
from agent_tui.toolkit.threads import off_loop


class PatchParams(BaseModel):
    """Arguments of patch."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    patch: str = Field(
        validation_alias=AliasChoices("patch", "patch_text", "patchText", "diff", "input"),
        description="A unified diff, or a patch between '*** Begin Patch' and '*** End Patch'.",
    )


def _title(params: PatchParams) -> str:
    try:
        names = [file.moved_to or file.name for file in parse(params.patch)]
    except ToolError:
        return "Unknown files"
    return names[0] if len(names) == 1 else f"{count(len(names), 'file')}: {', '.join(names)}"


def _display(_params: PatchParams, result: ToolResult) -> DisplayResult:
    summary = str(result.data.get("summary", ""))
    diff = str(result.data.get("diff", ""))
    if result.is_error or not diff:
        return display_text(result.output, summary=summary)
    return display_text(diff, ResultContentType.DIFF, summary=summary)


class PatchTool(Tool[PatchParams]):
    """Applies a patch."""

    name = "patch"
    description = (
        "Applies a patch to one or several files, all of it or nothing. Takes unified diffs (also git's, with renames "
        "and modes) and the '*** Begin Patch' format with '*** Add File:', '*** Update File:' (and '*** Move to:') and "
        "'*** Delete File:'. Paths are relative to the project. Files that are changed or deleted must have been read."
    )
    params_type = PatchParams

    def permissions(self, params: PatchParams, ctx: ToolContext) -> Sequence[Permission]:
        written = [
            target for each in place(parse(params.patch), ctx, binding=True) for target in each.written
        ]
        return [
            paths.write_permission(target, permission_id=f"write:{number}")
            for number, target in enumerate(written, start=1)
        ]

    async def preview(self, params: PatchParams, ctx: ToolContext) -> ChangePreview | None:
        placed = place(parse(params.patch), ctx)
        return await off_loop(lambda: preview(work_out(placed, ctx, planning=True), ctx))

    def run(self, params: PatchParams, ctx: ToolContext) -> ToolResult:
        done = commit(work_out(place(parse(params.patch), ctx), ctx, planning=False), ctx)
        data: JsonObject = {
            "files": [each.change.target.shown for each in done],
            "diff": "".join(each.diff.text for each in done),
            "summary": f"{count(len(done), 'file')}, {totals([each.diff for each in done])}",
        }
        return ToolResult.success(_report(done), data=data)

    def compact_summary(self, params: PatchParams, result: ToolResult) -> str:
        return f"[patch: {'failed' if result.is_error else result.data.get('summary', 'done')}]"

    display = DisplayConfig[PatchParams](display_name="Patch", display_title=_title, display_content=_display)


def _report(done: Sequence[Done]) -> str:
    """Say which files changed, with lines added and removed."""
    added = count(sum(each.diff.added for each in done), "addition")
    removed = count(sum(each.diff.removed for each in done), "removal")
    return "\n".join([f"Patched {count(len(done), 'file')}: {added}, {removed}.", *map(_line, done)])


def _line(each: Done) -> str:
    change = each.change
    place = f"{change.source.shown} to {change.target.shown}" if change.source else change.target.shown
    remark = f" ({each.remark})" if each.remark else ""
    return f"{change.verb} {place} (+{each.diff.added:,} -{each.diff.removed:,}){remark}"
