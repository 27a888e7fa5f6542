"""Finds files by pattern, newest first."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from agent_tui.toolkit import paths
from agent_tui.toolkit.api import (
    DisplayConfig,
    DisplayResult,
    JsonObject,
    Permission,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    count,
    display_text,
)
from agent_tui.toolkit.globbing import GlobPattern, PatternError, compile_glob, has_magic
from agent_tui.toolkit.search import list_files
from agent_tui.toolkit.trees import tree

RESULT_LIMIT = 100


class GlobParams(BaseModel):
    """Arguments of glob."""

    model_config = ConfigDict(extra="ignore")

    pattern: str = Field(
        description="Glob relative to path: * and ? within a name, ** for any folders, {a,b}, [a-z]. "
        "`*.py` finds only what is directly in path, `**/*.py` at any depth."
    )
    path: str = Field(default=".", description="Folder to search in; default: the project.")


@dataclass(frozen=True)
class _Search:
    """The folder the search really begins in, and what is left of the pattern."""

    base: paths.Target
    rest: str


def _plan(params: GlobParams, ctx: ToolContext, *, bind: bool = False) -> _Search:
    """Walk down the leading components that are plain names or exist as they are written. Raises ToolError."""
    pattern = params.pattern.removeprefix("./") or "."
    if ".." in pattern.split("/"):
        raise ToolError("A pattern must not hold '..'; give the folder in path.")
    folder = params.path or "."
    if pattern.startswith(("/", "~/")):
        folder, pattern = ("/", pattern.lstrip("/")) if pattern.startswith("/") else ("~/", pattern[2:])
    components = [part for part in pattern.split("/") if part not in ("", ".")]
    resolve = paths.bind if bind else paths.resolve
    here = Path(paths.resolve(folder, ctx).real)
    spelled = [folder]
    while components and (not has_magic(components[0]) or os.path.lexists(here / components[0])):
        if len(components) == 1 and not (here / components[0]).is_dir():
            break
        here = here / components[0]
        spelled.append(components.pop(0))
    return _Search(resolve("/".join(spelled).replace("//", "/"), ctx), "/".join(components) or "**")


async def _find(search: _Search, ctx: ToolContext) -> list[str]:
    base = search.base.real
    if not base.is_dir():
        raise ToolError(f"There is no folder {search.base.shown!r}.")
    if "/" not in search.rest and os.path.lexists(base / search.rest):
        return [search.rest]
    try:
        pattern = compile_glob(search.rest)
    except PatternError as error:
        raise ToolError(str(error)) from error
    last = [form.rpartition("/")[2] for form in pattern.alternatives]
    names = await list_files(base, ctx.workspace, names=last)
    return await asyncio.to_thread(_newest_first, base, names, pattern)


def _newest_first(base: Path, names: Sequence[str], pattern: GlobPattern) -> list[str]:
    matches, prefix = pattern.expression.fullmatch, f"{base}/"
    found: list[tuple[int, str]] = []
    for name in names:
        if matches(name):
            try:
                found.append((-os.lstat(prefix + name).st_mtime_ns, name))
            except OSError:
                continue  # gone since it was listed
    return [name for _, name in sorted(found)]


def _shown(name: str, base: paths.Target) -> str:
    path = name if base.shown == "." else f"{base.shown}/{name}"
    return os.fsencode(path).decode("utf-8", "replace").replace("\n", "\\n")


def _content(params: GlobParams, result: ToolResult) -> DisplayResult:
    files = result.data.get("files")
    if not isinstance(files, list):
        return display_text(result.output)
    total = result.data.get("total")
    number = total if isinstance(total, int) else len(files)
    more = f"\n... {number - len(files):,} more" if number > len(files) else ""
    return display_text(f"{tree([str(file) for file in files])}{more}", summary=count(number, "file"))


class Glob(Tool[GlobParams]):
    name = "glob"
    description = (
        "Find files by name pattern, newest first, at most 100. Ignored (.gitignore) and hidden files are left out; "
        "name a hidden folder in path to look into it. Directories are not listed: use list."
    )
    params_type = GlobParams
    readable = True
    display = DisplayConfig(
        display_name="Glob", display_title=lambda params: params.pattern, display_content=_content
    )

    def permissions(self, params: GlobParams, ctx: ToolContext) -> Sequence[Permission]:
        return (paths.read_permission(_plan(params, ctx, bind=True).base, is_folder=True),)

    async def run(self, params: GlobParams, ctx: ToolContext) -> ToolResult:
        search = _plan(params, ctx)
        names = await _find(search, ctx)
        shown = [_shown(name, search.base) for name in names[:RESULT_LIMIT]]
        lines = list(shown) or [
            f"No files matched {params.pattern!r} in {paths.resolve(params.path or '.', ctx).real}."
        ]
        if len(names) > RESULT_LIMIT:
            lines.append(
                f"\n(showing {RESULT_LIMIT} of {len(names):,}, newest first; use a narrower pattern)"
            )
        data: JsonObject = {"files": [*shown], "total": len(names)}
        return ToolResult.success("\n".join(lines), data=data)

    def compact_summary(self, params: GlobParams, result: ToolResult) -> str:
        if result.is_error:
            return f"[Glob: {params.pattern} (error)]"
        total = result.data.get("total")
        return f"[Glob: {params.pattern} ({count(total if isinstance(total, int) else 0, 'file')})]"
