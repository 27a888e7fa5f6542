"""Turns what a server answered into a result for the model: text within a limit, checked images, the whole in a file."""

import base64
import binascii
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from agent_tui.extensions.plain import one_line, plain
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.messages import ImageBlock
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.images import IMAGE_HEAD_BYTES, image_label, recognise
from agent_tui.toolkit.output import log_path
from agent_tui.toolkit.text import CAPPED_BY_TOOL, count

OUTPUT_LIMIT_CHARS = 100_000  # about 25,000 tokens
IMAGE_LIMIT_BYTES = 3_750_000  # 5 MB once in base64, the most that providers take
MAX_IMAGES = 10
MAX_BLOCKS = 1_000
CUT_MARK = "agent-tui/cut_from_bytes"
"""Key in a result's `_meta` that the stdio reader sets when the answer was too long to be read whole."""


@dataclass
class Blocks:
    """The content of an answer, block by block."""

    sees_images: bool
    texts: list[str] = field(default_factory=list[str])
    images: list[ImageBlock] = field(default_factory=list[ImageBlock])

    def take(self, block: JsonValue) -> None:
        """Add one block; what cannot be shown to the model is named."""
        if not isinstance(block, dict):
            self.texts.append("[a content block that is not an object is left out]")
            return
        match block.get("type"):
            case "text":
                self.texts.append(plain(_text(block, "text")))
            case "image":
                self._image(_text(block, "data"), _text(block, "mimeType"))
            case "resource":
                self._resource(block.get("resource"))
            case "resource_link":
                name = one_line(_text(block, "title") or _text(block, "name"))
                self.texts.append(f"[resource {name!r}: {one_line(_text(block, 'uri'), limit_chars=2_000)}]")
            case kind:
                named = one_line(f"{kind or 'unknown'} {_text(block, 'mimeType')}", limit_chars=80)
                self.texts.append(f"[{named}: {len(_text(block, 'data')):,} characters, left out]")

    def _resource(self, resource: JsonValue) -> None:
        if not isinstance(resource, dict):
            self.texts.append("[a resource without content is left out]")
            return
        uri, kind = one_line(_text(resource, "uri"), limit_chars=2_000), _text(resource, "mimeType")
        if isinstance(resource.get("text"), str):
            self.texts.append(f"[resource {uri}]\n{plain(_text(resource, 'text'))}")
        elif kind.startswith("image/"):
            self.texts.append(f"[resource {uri}]")
            self._image(_text(resource, "blob"), kind)
        else:
            size = len(_text(resource, "blob"))
            self.texts.append(
                f"[resource {uri}: {one_line(kind) or 'binary'}, {size:,} characters of base64, left out]"
            )

    def _image(self, data: str, media_type: str) -> None:
        problem, block = _checked_image(data, one_line(media_type, limit_chars=80))
        if not problem and not self.sees_images:
            problem = "this model cannot see images"
        if not problem and len(self.images) >= MAX_IMAGES:
            problem = f"more than {MAX_IMAGES} images in one result"
        if block is None or problem:
            self.texts.append(f"[image left out: {problem}]")
            return
        self.images.append(block)


def _text(table: JsonObject, key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""


def _checked_image(data: str, claimed: str) -> tuple[str, ImageBlock | None]:
    """Give why an image cannot be used, or the image with the type its bytes tell."""
    if len(data) > IMAGE_LIMIT_BYTES * 4 // 3 + 4:
        return (
            f"{claimed}, {len(data):,} characters of base64 are more than {IMAGE_LIMIT_BYTES:,} bytes",
            None,
        )
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return f"{claimed}, not valid base64", None
    found = recognise(raw[:IMAGE_HEAD_BYTES])
    if found is None:
        return f"{claimed}, {len(raw):,} bytes that are no PNG, JPEG, GIF or WebP", None
    return "", ImageBlock(
        media_type=found.media_type,
        data=base64.b64encode(raw).decode("ascii"),
        label=image_label(found, len(raw)),
    )


def tool_result(answer: JsonObject, ctx: ToolContext, *, facts: JsonObject) -> ToolResult:
    """Give the model's copy of an answer, at most 100,000 characters; a longer text is kept whole in a file."""
    blocks = _blocks(answer.get("content"), sees_images=ctx.sees_images)
    structured = answer.get("structuredContent")
    if structured is not None and not any(blocks.texts):
        blocks.texts.append(json.dumps(structured, ensure_ascii=False, indent=1))
    failed = answer.get("isError") is True
    text = "\n".join(blocks.texts)
    if not text.strip():
        text = "The tool reported an error without saying which." if failed else ""
    if not text and not blocks.images:
        text = "(no output)"
    shown, whole = within_limit(text, ctx)
    shown += _cut_note(answer)
    data: JsonObject = {**facts, CAPPED_BY_TOOL: True, "full_chars": len(text)}
    if whole:
        data["log_path"] = whole
    return ToolResult(output=shown, is_error=failed, data=data, images=tuple(blocks.images))


def _blocks(content: JsonValue, *, sees_images: bool) -> Blocks:
    blocks = Blocks(sees_images)
    listed = content if isinstance(content, list) else []
    for block in listed[:MAX_BLOCKS]:
        blocks.take(block)
    if len(listed) > MAX_BLOCKS:
        blocks.texts.append(f"[{len(listed) - MAX_BLOCKS:,} more content blocks are left out]")
    return blocks


def content_text(content: JsonValue) -> str:
    """Give the text of content blocks, images and the like named only."""
    return "\n".join(_blocks(content, sees_images=False).texts)


def answered_text(answer: JsonObject) -> str:
    """Give the text of an answer that the program itself asked for. Raises ToolError for one that is an error."""
    text = content_text(answer.get("content"))
    structured = answer.get("structuredContent")
    if not text.strip() and structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
    if answer.get("isError") is True:
        raise ToolError(one_line(text, limit_chars=300) or "The tool reported an error without saying which.")
    return text


def _cut_note(answer: JsonObject) -> str:
    meta = answer.get("_meta")
    size = meta.get(CUT_MARK) if isinstance(meta, dict) else None
    return (
        f"\n\n[the server's answer of {size:,} bytes was too long; the rest was not read]"
        if isinstance(size, int)
        else ""
    )


def within_limit(text: str, ctx: ToolContext) -> tuple[str, str]:
    """Cut `text` in its middle when it is too long; give it with the file that holds the whole, "" when none does."""
    if len(text) <= OUTPUT_LIMIT_CHARS:
        return text, ""
    path, note = "", ""
    try:
        path = str(_keep(text, log_path(ctx.data_dir, ctx.call_id)))
        note = f"; the whole output is in {path}"
    except OSError as error:
        note = f"; the whole output could not be kept: {error.strerror}"
    head, tail = text[: OUTPUT_LIMIT_CHARS * 2 // 3], text[-OUTPUT_LIMIT_CHARS // 3 :]
    left_out = count(len(text) - len(head) - len(tail), "character")
    return f"{head}\n\n[{left_out} left out{note}]\n\n{tail}", path


def _keep(text: str, path: Path) -> Path:
    """Write a file that only the owner may read. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return path
