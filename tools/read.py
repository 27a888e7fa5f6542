"""Reads a file: text with line numbers, an image, a notebook or the text of a PDF."""

import base64
import re
from collections.abc import Sequence

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from agent_tui.toolkit import images, notebooks, paths
from agent_tui.toolkit.api import (
    DisplayConfig,
    DisplayResult,
    ImageBlock,
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
from agent_tui.toolkit.files import load
from agent_tui.toolkit.pdf import read_pdf
from agent_tui.toolkit.ranges import LineRanges
from agent_tui.toolkit.reading import LINE_LIMIT_CHARS, SCAN_LIMIT_BYTES, TextRead, read_head, read_window
from agent_tui.toolkit.rooted import message_of
from agent_tui.toolkit.similar import missing_file
from agent_tui.toolkit.text import CAPPED_BY_TOOL

DEFAULT_LIMIT_LINES = 2_000
OUTPUT_LIMIT_CHARS = 50_000
UNASKED_LIMIT_BYTES = 262_144
IMAGE_LIMIT_BYTES = 3_750_000  # 5 MB once in base64, the most that providers take
PDF_LIMIT_BYTES = 32 * 1024 * 1024
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_EMPTY = "(empty file)"


class ReadParams(BaseModel):
    """Arguments of read."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    file_path: str = Field(
        validation_alias=AliasChoices("file_path", "path"),
        description="The file to read, absolute or relative to the project.",
    )
    offset: int | None = Field(default=None, description="The first line to read, counted from 1. Default 1.")
    limit: int | None = Field(default=None, description="How many lines to read. Default 2000.")


def _display(params: ReadParams, result: ToolResult) -> DisplayResult:
    """Show the code itself; the numbers come from the panel."""
    path, summary = str(result.data.get("path", params.file_path)), str(result.data.get("summary", ""))
    first_line = result.data.get("first_line")
    if result.is_error or not isinstance(first_line, int):
        kind = ResultContentType.MARKDOWN if result.data.get("notebook") else ResultContentType.PLAIN_TEXT
        return display_text(result.output, kind, path=path, summary=summary)
    rows = result.output.split("\n")[: int(str(result.data.get("lines", 0)))]
    code = "\n".join(_NUMBERED.sub("", row, count=1) for row in rows)
    return display_text(code, ResultContentType.CODE, path=path, first_line=first_line, summary=summary)


class ReadTool(Tool[ReadParams]):
    """Reads a file."""

    name = "read"
    description = (
        "Reads a file. Text comes with line numbers (6 wide, then a tab); they are not part of the file. Gives up to "
        "2,000 lines or 50,000 characters; use offset and limit for the rest and for files over 262,144 bytes. "
        "Also shows images, notebooks and the text of PDF files. A file must be read before it is edited."
    )
    params_type = ReadParams
    readable = True

    def permissions(self, params: ReadParams, ctx: ToolContext) -> Sequence[Permission]:
        target = paths.bind(params.file_path, ctx)
        ctx.files.announce_read(target.real)
        return (paths.read_permission(target),)

    def run(self, params: ReadParams, ctx: ToolContext) -> ToolResult:
        target = paths.resolve(params.file_path, ctx)
        try:
            return _read(params, target, ctx)
        except FileNotFoundError as error:
            ctx.files.forget(target.real)
            raise ToolError(missing_file(target, may_look=True)) from error
        except IsADirectoryError as error:
            raise ToolError(_is_directory(target)) from error
        except OSError as error:
            raise ToolError(message_of(error, shown=target.shown)) from error

    def compact_summary(self, params: ReadParams, result: ToolResult) -> str:
        if result.is_error:
            return f"[read: {params.file_path} failed]"
        return f"[read: {params.file_path}, {result.data.get('summary', 'done')}]"

    display = DisplayConfig[ReadParams](
        display_name="Read",
        display_title=lambda params: params.file_path or "Unknown file",
        display_content=_display,
    )


def _read(params: ReadParams, target: paths.Target, ctx: ToolContext) -> ToolResult:
    """Choose by what the file is, not by what it is called."""
    if target.real.is_dir():
        raise ToolError(_is_directory(target))
    head, status = read_head(target, images.IMAGE_HEAD_BYTES)
    image = images.recognise(head)
    if image is not None:
        return _image(image, target, ctx)
    if head.startswith(b"%PDF-"):
        return _pdf(params, target)
    if target.real.suffix == ".ipynb" and params.offset is None and params.limit is None:
        return _notebook(target, ctx) or _text(
            params, target, ctx, remark="not a notebook that can be shown as cells"
        )
    if status.st_size > UNASKED_LIMIT_BYTES and params.offset is None and params.limit is None:
        raise ToolError(
            f"{target.shown} is {status.st_size:,} bytes; more than {UNASKED_LIMIT_BYTES:,} bytes are read only with "
            f'offset and limit. Call read with {{"file_path": "{params.file_path}", "offset": 1, '
            f'"limit": {DEFAULT_LIMIT_LINES}}}, or search it with grep.'
        )
    return _text(params, target, ctx)


def _text(params: ReadParams, target: paths.Target, ctx: ToolContext, *, remark: str = "") -> ToolResult:
    offset, limit = max(1, params.offset or 1), max(1, params.limit or DEFAULT_LIMIT_LINES)
    found = read_window(target, offset=offset, limit=limit, limit_chars=OUTPUT_LIMIT_CHARS)
    if found is None:
        size = target.real.stat().st_size
        raise ToolError(f"{target.shown} is a binary file ({size:,} bytes). It was not read.")
    window = found.window
    if window.total_lines is not None and offset > max(1, window.total_lines):
        raise ToolError(
            f"{target.shown} has only {count(window.total_lines, 'line')}; offset {offset} is past the end."
        )
    if not window.lines and window.total_lines is None:
        raise ToolError(
            f"Line {offset} of {target.shown} was not reached: the first {SCAN_LIMIT_BYTES:,} of {found.size_bytes:,} bytes "
            f"hold {count(window.seen_lines, 'line')}. Search it with grep, or cut a part out with bash (tail -c, dd)."
        )
    whole = [(offset + row, offset + row) for row, line in enumerate(window.lines) if not line.is_cut]
    if found.stamp is not None:
        ctx.files.saw(target.real, found.stamp, LineRanges.of(whole), total_lines=window.total_lines)
    last = offset + len(window.lines) - 1
    total = "?" if window.total_lines is None else f"{window.total_lines:,}"
    summary = f"lines {offset:,}-{last:,} of {total}" if window.lines else "empty file"
    data: JsonObject = {
        "path": target.shown,
        "first_line": offset,
        "summary": summary,
        "lines": len(window.lines),
        CAPPED_BY_TOOL: True,
    }
    return ToolResult.success(_numbered(found, offset, remark), data=data)


def _numbered(found: TextRead, offset: int, remark: str) -> str:
    """Give the numbered lines and, below, what was left out."""
    window = found.window
    if not window.lines and window.total_lines == 0:
        return _EMPTY
    rows = [
        f"{number:>6}\t{line.text}{'...' if line.is_cut else ''}"
        for number, line in enumerate(window.lines, start=offset)
    ]
    next_line = offset + len(window.lines)
    notes = [remark] if remark else []
    unfinished = 0 if window.total_lines is not None or window.ends_with_newline else next_line - 1
    notes += [
        f"line {number:,} was cut at {LINE_LIMIT_CHARS:,} characters; it has "
        f"{'at least ' if number == unfinished else ''}{line.size_bytes:,} bytes"
        for number, line in enumerate(window.lines, start=offset)
        if line.is_cut
    ]
    if window.total_lines is None:
        notes.append(f"more lines; the file is too large to count them; continue with offset={next_line}")
    elif next_line <= window.total_lines:
        more = count(window.total_lines - next_line + 1, "more line")
        notes.append(f"{more}, continue with offset={next_line}")
    else:
        ending = "" if window.ends_with_newline else ", no newline at the end"
        notes.append(f"end of file, {count(window.total_lines, 'line')}{ending}")
    if found.stamp is None:
        notes.append("another program is writing this file; read it again before changing it")
    if found.encoding.name != "utf-8":
        notes.append(f"encoding: {found.encoding.name}")
    return "\n".join([*rows, "", *(f"({note})" for note in notes)])


def _image(image: images.ImageInfo, target: paths.Target, ctx: ToolContext) -> ToolResult:
    size = target.real.stat().st_size
    pixels = f"{image.width}x{image.height} pixels" if image.width else "size unknown"
    text = f"Image {target.shown}: {image.media_type}, {pixels}, {size:,} bytes."
    data: JsonObject = {"path": target.shown, "summary": f"image, {pixels}"}
    if not ctx.sees_images:
        return ToolResult.success(f"{text} This model cannot see images.", data=data)
    base = load(target, limit_bytes=IMAGE_LIMIT_BYTES) if size <= IMAGE_LIMIT_BYTES else None
    if base is None:
        return ToolResult.success(
            f"{text} It is too large to be shown (at most {IMAGE_LIMIT_BYTES:,} bytes).", data=data
        )
    block = ImageBlock(
        media_type=image.media_type,
        data=base64.b64encode(base.data).decode("ascii"),
        label=images.image_label(image, size, target.shown),
    )
    return ToolResult.success(text, data=data, images=(block,))


def _notebook(target: paths.Target, ctx: ToolContext) -> ToolResult | None:
    """Give the cells, None when the file cannot be taken as a notebook."""
    base = load(target)
    if base is None or base.stamp is None:
        return None
    text = base.data.decode("utf-8", "replace")
    cells = notebooks.render(text)
    if cells is None:
        return None
    ctx.files.saw(target.real, base.stamp, LineRanges(), total_lines=text.count("\n") + 1)
    shown = cells[:OUTPUT_LIMIT_CHARS]
    hidden = len(cells) - len(shown)
    note = f"\n\n({hidden:,} more characters; read the raw text with offset and limit)" if hidden else ""
    data: JsonObject = {"path": target.shown, "notebook": True, "summary": "notebook", CAPPED_BY_TOOL: True}
    return ToolResult.success(shown + note, data=data)


def _pdf(params: ReadParams, target: paths.Target) -> ToolResult:
    base = load(target, limit_bytes=PDF_LIMIT_BYTES)
    if base is None:
        raise ToolError(missing_file(target, may_look=True))
    offset, limit = max(1, params.offset or 1), max(1, params.limit or DEFAULT_LIMIT_LINES)
    found = read_pdf(
        base.data, shown=target.shown, offset=offset, limit=limit, limit_chars=OUTPUT_LIMIT_CHARS
    )
    if not found.lines:
        raise ToolError(f"The text of {target.shown} ends before line {offset}.")
    if found.next_line:
        note = f"more of {count(found.pages, 'page')}, continue with offset={found.next_line}"
    elif found.has_text:
        note = f"end of file, {count(found.pages, 'page')}"
    else:
        note = f"no text in {count(found.pages, 'page')}: what they show is a picture"
    data: JsonObject = {"path": target.shown, "summary": count(found.pages, "page"), CAPPED_BY_TOOL: True}
    return ToolResult.success("\n".join([*found.lines, f"({note})"]), data=data)


def _is_directory(target: paths.Target) -> str:
    return f'{target.shown} is a directory. Use list with {{"path": "{target.given}"}}.'
