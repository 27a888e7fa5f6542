"""Lists a folder as a tree."""

import fnmatch
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
from agent_tui.toolkit.tree import DEPTH_LIMIT, Ignores, tree

SKIPPED_NAMES = ("node_modules", "dist", "build", ".git", "target", "__pycache__", ".DS_Store")
SKIPPED_GLOBS = ("*.pyc", "*.o", "*.so", "*.dylib")


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
        "Lists a folder as an indented tree, folders first, at most 1,000 entries. Hidden files and the usual build "
        "folders are left out. To find files by name use glob."
    )
    params_type = ListParams
    readable = True

    def permissions(self, params: ListParams, ctx: ToolContext) -> Sequence[Permission]:
        return (paths.read_permission(paths.bind(params.path or ".", ctx), is_folder=True),)

    def run(self, params: ListParams, ctx: ToolContext) -> ToolResult:
        target = paths.resolve(params.path or ".", ctx)
        try:
            with opened_folder(target) as folder:
                found = tree(folder, depth=max(1, params.depth), ignores=_ignores(params.ignore))
        except FileNotFoundError as error:
            raise ToolError(missing_file(target)) from error
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


def _ignores(patterns: Sequence[str]) -> Ignores:
    """Leave out hidden entries, the usual build folders and what `patterns` name."""
    from pathspec import GitIgnoreSpec  # 20 ms, needed only once a tool runs

    extra = GitIgnoreSpec.from_lines(patterns) if patterns else None

    def ignores(path: str, is_folder: bool) -> bool:
        name = path.rpartition("/")[2]
        if name.startswith(".") or name in SKIPPED_NAMES:
            return True
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in SKIPPED_GLOBS):
            return True
        return extra is not None and extra.match_file(f"{path}/" if is_folder else path)

    return ignores
