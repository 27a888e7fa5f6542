"""Lists a folder as a tree."""

import os
from collections.abc import Sequence

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from agent_tui.toolkit import paths
from agent_tui.toolkit.api import (
    DisplayConfig,
    DisplayResult,
    Permission,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    count,
    display_text,
)
from agent_tui.toolkit.rooted import message_of, opened_folder
from agent_tui.toolkit.similar import missing_file
from agent_tui.toolkit.tree import DEPTH_LIMIT, tree
from agent_tui.toolkit.tree_filter import TreeFilter


class ListParams(BaseModel):
    """Arguments of list."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    path: str = Field(
        default=".",
        validation_alias=AliasChoices("path", "dir_path", "directory"),
        description="The folder, absolute or relative to the project. Default: the project.",
    )
    depth: int = Field(default=DEPTH_LIMIT, description="How many levels to show, 1 to 20. Default 20.")
    ignore: list[str] = Field(default=[], description="Patterns to leave out, written as in .gitignore.")


def _display(params: ListParams, result: ToolResult) -> DisplayResult:
    return display_text(result.output, path=params.path, summary=str(result.data.get("summary", "")))


class ListTool(Tool[ListParams]):
    """Lists a folder."""

    name = "list"
    description = (
        "Lists a folder as an indented tree, folders first, at most 1,000 entries. Hidden and ignored files and the "
        "usual build folders are left out. To find files by name use glob."
    )
    params_type = ListParams
    readable = True

    def permissions(self, params: ListParams, ctx: ToolContext) -> Sequence[Permission]:
        return (paths.read_permission(paths.bind(params.path or ".", ctx), is_folder=True),)

    def run(self, params: ListParams, ctx: ToolContext) -> ToolResult:
        target = paths.resolve(params.path or ".", ctx)
        try:
            with opened_folder(target) as folder:
                hiding = TreeFilter.at(target.real, ctx.workspace, params.ignore)
                found = tree(folder, depth=max(1, params.depth), hiding=hiding)
        except FileNotFoundError as error:
            raise ToolError(missing_file(target, may_look=True)) from error
        except NotADirectoryError as error:
            raise ToolError(f"{target.shown} is not a directory. Use read for a file.") from error
        except OSError as error:
            raise ToolError(message_of(error, shown=target.shown)) from error
        head = f"- {target.real if target.shown == '.' else target.shown}{os.sep}"
        body = [head, *found.lines, *([] if found.entries else ["  (empty)"])]
        notes = [f"({note})" for note in found.notes()]
        summary = count(found.entries, "entry", "entries")
        return ToolResult.success("\n".join([*body, *notes]), data={"path": target.shown, "summary": summary})

    def compact_summary(self, params: ListParams, result: ToolResult) -> str:
        outcome = "failed" if result.is_error else result.data.get("summary", "done")
        return f"[list: {params.path}, {outcome}]"

    display = DisplayConfig[ListParams](
        display_name="List",
        display_title=lambda params: params.path or ".",
        display_content=_display,
    )
