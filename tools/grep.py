"""Searches the contents of files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from agent_tui.toolkit import paths
from agent_tui.toolkit.api import (
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
from agent_tui.toolkit.file_types import globs_of
from agent_tui.toolkit.globbing import PatternError
from agent_tui.toolkit.search import grep_files
from agent_tui.toolkit.search_model import FileHits, Found, OutputMode, Query

DEFAULT_HEAD_LIMIT = 100
MAX_HEAD_LIMIT = 10_000
CONTEXT_LIMIT_LINES = 100
OUTPUT_LIMIT_CHARS = 30_000
TITLE_CHARS = 30
SUMMARY_CHARS = 20
MARK_OPEN, MARK_CLOSE = "\x1b[1;31m", "\x1b[0m"


class GrepParams(BaseModel):
    """Arguments of grep."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    pattern: str = Field(description="Regular expression, ripgrep syntax.")
    path: str = Field(default=".", description="File or folder to search; default: the project.")
    glob: str = Field(
        default="",
        validation_alias=AliasChoices("glob", "include"),
        description="Only files whose name (or path, with a slash) matches, such as *.{ts,tsx}.",
    )
    type: str = Field(default="", description="Only files of a type: py, js, ts, rust, go, java, md ...")
    output_mode: OutputMode = Field(
        default="content",
        description="content: matched lines; files: paths only; count: matched lines per file.",
    )
    ignore_case: bool = Field(default=False, alias="-i", description="Ignore case.")
    line_numbers: bool = Field(default=True, alias="-n", description="Show line numbers (content).")
    after: int = Field(default=0, ge=0, alias="-A", description="Lines to show after each match.")
    before: int = Field(default=0, ge=0, alias="-B", description="Lines to show before each match.")
    context: int = Field(default=0, ge=0, alias="-C", description="Lines to show around each match.")
    multiline: bool = Field(default=False, description="Let matches span lines; . matches newlines too.")
    literal: bool = Field(default=False, description="Take the pattern as plain text.")
    head_limit: int = Field(
        default=DEFAULT_HEAD_LIMIT, ge=0, description="Matches or files to show; default 100."
    )
    offset: int = Field(default=0, ge=0, description="Matches or files to skip.")


def _query(params: GrepParams) -> Query:
    context = min(params.context, CONTEXT_LIMIT_LINES)
    return Query(
        pattern=params.pattern,
        mode=params.output_mode,
        ignore_case=params.ignore_case,
        multiline=params.multiline,
        literal=params.literal,
        before=context or min(params.before, CONTEXT_LIMIT_LINES),
        after=context or min(params.after, CONTEXT_LIMIT_LINES),
        limit=min(params.head_limit or MAX_HEAD_LIMIT, MAX_HEAD_LIMIT),
        offset=params.offset,
        path_globs=(params.glob,) if params.glob else (),
        name_globs=globs_of(params.type),
    )


def _shown_path(name: str, base: str) -> str:
    path = name if base == "." else f"{base}/{name}"
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\n", "\\n")


def _file_lines(hits: FileHits, path: str, *, numbers: bool, has_context: bool) -> Iterator[tuple[str, bool]]:
    """Give one file's lines as grep prints them, with whether each is a match; `--` stands between groups."""
    last = 0
    for line in hits.lines:
        if has_context and last and line.number > last + 1:
            yield "--", False
        sign = ":" if line.is_match else "-"
        yield f"{path}{sign}{f'{line.number}{sign}' if numbers else ''}{line.text}", line.is_match
        last = line.number


def _content_lines(found: Found, query: Query, params: GrepParams, base: str) -> tuple[str, int]:
    """Give the lines as far as they fit, and how many matches they show."""
    has_context = bool(query.before or query.after)
    lines: list[str] = []
    room, matches = OUTPUT_LIMIT_CHARS, 0
    for hits in found.files:
        path = _shown_path(hits.path, base)
        if has_context and lines and hits.lines:
            lines.append("--")
        for text, is_match in _file_lines(hits, path, numbers=params.line_numbers, has_context=has_context):
            room -= len(text) + 1
            if room < 0:
                return "\n".join(lines), matches
            lines.append(text)
            matches += is_match
    return "\n".join(lines), matches


def _text(found: Found, query: Query, params: GrepParams, base: str) -> str:
    """Give the answer as the model reads it."""
    if not found.files:
        return "No matches found"
    if query.mode == "content":
        body, shown = _content_lines(found, query, params, base)
        return _joined(body, _more(query.offset, shown, found.total, "match", "matches"))
    window = found.files[query.offset : query.offset + query.limit]
    room = OUTPUT_LIMIT_CHARS
    lines: list[str] = []
    for hits in window:
        path = _shown_path(hits.path, base)
        lines.append(path if query.mode == "files" else f"{path}:{hits.count}")
        room -= len(lines[-1]) + 1
        if room < 0:
            lines.pop()
            break
    shown = len(lines)
    if query.mode == "count":
        lines.append(f"({count(found.total, 'match', 'matches')} in {count(len(found.files), 'file')})")
    return _joined("\n".join(lines), _more(query.offset, shown, len(found.files), "file", "files"))


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _more(offset: int, shown: int, total: int, noun: str, plural: str) -> str:
    """Say what is not shown and how to get it."""
    if offset >= total:
        return f"(offset {offset} is past the end: {count(total, noun, plural)} in all)"
    end = offset + shown
    rest = f"; continue with offset={end}" if end < total else ""
    if offset == 0:
        return f"(showing first {shown:,} of {count(total, noun, plural)}{rest})" if rest else ""
    return f"(showing {offset + 1:,} to {end:,} of {count(total, noun, plural)}{rest})"


def _facts(found: Found, query: Query, base: str) -> JsonObject:
    """Give what the panel shows: per file its lines as [number, text, start, end]."""
    window = (
        found.files if query.mode == "content" else found.files[query.offset : query.offset + query.limit]
    )
    shown = [hits for hits in window if hits.lines or query.mode != "content"]
    return {
        "total": found.total,
        "file_count": len(found.files),
        "files": [
            {
                "path": _shown_path(hits.path, base),
                "count": hits.count,
                "lines": [[line.number, line.text, line.start, line.end] for line in hits.lines],
            }
            for hits in shown
        ],
    }


def _content(params: GrepParams, result: ToolResult) -> DisplayResult:
    """Show the answer grouped by file, each match marked."""
    files = result.data.get("files")
    if not isinstance(files, list) or not files:
        return display_text(result.output)
    groups: list[str] = []
    for entry in files:
        if isinstance(entry, dict):
            groups.append("\n".join(_group(entry)))
    total, number = result.data.get("total"), result.data.get("file_count")
    matches = count(total if isinstance(total, int) else 0, "match", "matches")
    summary = f"{matches} in {count(number if isinstance(number, int) else 0, 'file')}"
    return display_text("\n\n".join(groups), ResultContentType.TERMINAL, summary=summary)


def _group(entry: JsonObject) -> Iterator[str]:
    yield f"{entry.get('path')} ({entry.get('count')})"
    lines = entry.get("lines")
    for line in lines if isinstance(lines, list) else []:
        match line:
            case [int(number), str(text), int(start), int(end)] if start >= 0:
                marked = f"{text[:start]}{MARK_OPEN}{text[start:end]}{MARK_CLOSE}{text[end:]}"
                yield f"{number:>6}  {marked}"
            case [int(number), str(text), int(), int()]:
                yield f"{number:>6}  {text}"
            case _:
                continue


class Grep(Tool[GrepParams]):
    name = "grep"
    description = (
        "Search file contents with a regular expression (ripgrep syntax; literal for plain text). Ignored, hidden, "
        "binary and secret files are left out unless path names them. Sorted by path; at most 100 matches, continue "
        "with offset."
    )
    params_type = GrepParams
    readable = True
    display = DisplayConfig(
        display_name="Grep",
        display_title=lambda params: params.pattern[:TITLE_CHARS],
        display_content=_content,
    )

    def permissions(self, params: GrepParams, ctx: ToolContext) -> Sequence[Permission]:
        target = paths.bind(params.path or ".", ctx)
        return (paths.read_permission(target, is_folder=target.real.is_dir()),)

    async def run(self, params: GrepParams, ctx: ToolContext) -> ToolResult:
        target = paths.resolve(params.path or ".", ctx)
        base, single, shown_base = _place(target)
        query = _query(params)
        try:
            found = await grep_files(base, ctx.workspace, query, single=single)
        except PatternError as error:
            raise ToolError(str(error)) from error
        text = _text(found, query, params, shown_base)
        if params.type and not query.name_globs:
            text = f"{text}\n(type {params.type!r} is not known: all types were searched)"
        return ToolResult.success(text, data=_facts(found, query, shown_base))

    def compact_summary(self, params: GrepParams, result: ToolResult) -> str:
        pattern = params.pattern[:SUMMARY_CHARS]
        if result.is_error:
            return f"[Grep: '{pattern}' (error)]"
        total = result.data.get("total")
        return f"[Grep: '{pattern}' ({count(total if isinstance(total, int) else 0, 'match', 'matches')})]"


def _place(target: paths.Target) -> tuple[Path, str, str]:
    """Give the folder to search, the one file in it when the path names a file, and how the folder is shown."""
    if target.real.is_dir():
        return target.real, "", target.shown
    if not target.real.exists():
        raise ToolError(f"There is no file or folder {target.shown!r}.")
    if not target.real.is_file():
        raise ToolError(f"{target.shown!r} is neither a file nor a folder.")
    parent, _, _ = target.shown.rpartition("/")
    folder = parent or ("/" if target.shown.startswith("/") else ".")
    return target.real.parent, target.real.name, folder
