"""Replaces text in a file."""

from collections.abc import Sequence

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

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
    display_text,
)
from agent_tui.toolkit.changes import Done, FileChange, commit, preview
from agent_tui.toolkit.editing import Edited, Replacement, apply_edits, check, replaced_count
from agent_tui.toolkit.encoding import decode, encode
from agent_tui.toolkit.files import Desk
from agent_tui.toolkit.notebook_edits import check_notebook, find_in_notebook
from agent_tui.toolkit.similar import missing_file
from agent_tui.toolkit.snippets import snippet
from agent_tui.toolkit.text_matching import find
from agent_tui.toolkit.threads import off_loop

MAX_EDITS = 50
_OLD = AliasChoices("old_string", "old", "old_text", "old_str")
_NEW = AliasChoices("new_string", "new", "new_text", "new_str")


class OneEdit(BaseModel):
    """One replacement."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    old_string: str = Field(
        validation_alias=_OLD, description="The text to replace; must occur exactly once."
    )
    new_string: str = Field(validation_alias=_NEW, description="The text to put in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence instead.")


class EditParams(BaseModel):
    """Arguments of edit."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "path"),
        description="The file to change, absolute or relative to the project.",
    )
    old_string: str | None = Field(
        default=None,
        validation_alias=_OLD,
        description="The text to replace, without line numbers; must occur exactly once unless replace_all is set.",
    )
    new_string: str | None = Field(
        default=None, validation_alias=_NEW, description="The text to put in its place."
    )
    replace_all: bool = Field(default=False, description="Replace every occurrence of old_string.")
    edits: list[OneEdit] | None = Field(
        default=None,
        max_length=MAX_EDITS,
        description="Several replacements instead, all made or none; each is looked for in the file as it is now.",
    )

    @model_validator(mode="after")
    def _one_form(self) -> "EditParams":
        if self.edits and self.old_string is not None:
            raise ValueError("give either old_string and new_string, or edits, not both")
        if not self.edits and (self.old_string is None or self.new_string is None):
            raise ValueError("old_string and new_string are needed, or a list of edits")
        return self

    def replacements(self) -> list[Replacement]:
        """Give the edits of either form."""
        if self.edits:
            return [Replacement(edit.old_string, edit.new_string, edit.replace_all) for edit in self.edits]
        return [Replacement(self.old_string or "", self.new_string or "", self.replace_all)]


def _display(params: EditParams, result: ToolResult) -> DisplayResult:
    path, summary = str(result.data.get("path", params.file_path)), str(result.data.get("summary", ""))
    if result.is_error:
        return display_text(result.output, path=path)
    diff = str(result.data.get("diff", ""))
    return display_text(diff, ResultContentType.DIFF, path=path, summary=summary)


class EditTool(Tool[EditParams]):
    """Replaces text in a file."""

    name = "edit"
    description = (
        "Replaces text in a file that was read before. old_string must be in the file exactly once: give enough of the "
        "lines around it. Differences in line ends, trailing blanks, indentation and quotes are tolerated and "
        "reported. With edits, several replacements are made together or not at all."
    )
    params_type = EditParams

    def permissions(self, params: EditParams, ctx: ToolContext) -> Sequence[Permission]:
        return (paths.write_permission(paths.bind(params.file_path, ctx)),)

    async def preview(self, params: EditParams, ctx: ToolContext) -> ChangePreview | None:
        return await off_loop(lambda: preview([_change(params, ctx, planning=True)[0]], ctx))

    def run(self, params: EditParams, ctx: ToolContext) -> ToolResult:
        change, edited = _change(params, ctx, planning=False)
        done = commit([change], ctx)[0]
        summary = f"+{done.diff.added:,} -{done.diff.removed:,}"
        data: JsonObject = {"path": change.target.shown, "diff": done.diff.text, "summary": summary}
        return ToolResult.success(_report(done, edited), data=data)

    def compact_summary(self, params: EditParams, result: ToolResult) -> str:
        if result.is_error:
            return f"[edit: {params.file_path} failed]"
        return f"[edit: {params.file_path}, {result.data.get('summary', 'done')}]"

    display = DisplayConfig[EditParams](
        display_name="Edit",
        display_title=lambda params: params.file_path or "Unknown file",
        display_content=_display,
    )


def _change(params: EditParams, ctx: ToolContext, *, planning: bool) -> tuple[FileChange, Edited]:
    """Work out the change. Raises ToolError, BaseChanged."""
    target = paths.resolve(params.file_path, ctx)
    desk = Desk(ctx, planning=planning)
    base = desk.look(target)
    if base is None:
        raise ToolError(missing_file(target))
    edits = params.replacements()
    check(edits)
    desk.guard(target, base)
    text, encoding = decode(base.data, shown=target.shown)
    is_notebook = target.real.suffix == ".ipynb"
    search = find_in_notebook if is_notebook else find
    edited = apply_edits(text, edits, shown=target.shown, search=search)
    if is_notebook:
        check_notebook(text, edited.text, shown=target.shown)
    after = encode(edited.text, encoding, shown=target.shown)
    if after == base.data:
        raise ToolError(f"nothing to change: {target.shown} would hold the same as before.")
    return FileChange(target, base, after, encoding, note=edited.note), edited


def _report(done: Done, edited: Edited) -> str:
    """Say what was done and show the lines around it."""
    remark = f" ({done.remark})" if done.remark else ""
    head = f"Changed {done.change.target.shown}: {replaced_count(edited)}.{remark}"
    if done.left_out:
        return f"{head}\n{done.diff.text}"
    return f"{head}\n{snippet(edited.text, edited.places)}"
