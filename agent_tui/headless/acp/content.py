"""Reads the content blocks of a prompt: what the editor attaches becomes text and images for the model."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp.exceptions import RequestError
from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)

from agent_tui.protocol.messages import ImageBlock

PromptBlock = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_LINES = re.compile(r"L(\d+)(?:[:-]L?(\d+))?")
_CLOSE = "</context>"


@dataclass(frozen=True)
class Prompt:
    """What the model gets. `text` names links and attached files where they stood; `attached` are the contents.

    A link is a mention, which is read; an attached file is named without the mark, since its contents are there.
    """

    text: str
    attached: str = ""
    images: tuple[ImageBlock, ...] = ()


def read_prompt(blocks: Sequence[PromptBlock], workspace: Path) -> Prompt:
    """Join the blocks. Raises RequestError that names the block which cannot be used."""
    said: list[str] = []
    attached: list[str] = []
    images: list[ImageBlock] = []
    for number, block in enumerate(blocks):
        match block:
            case TextContentBlock():
                said.append(block.text)
            case ImageContentBlock():
                images.append(_image(block.mime_type, block.data, number))
            case ResourceContentBlock():
                said.append(mention(block.uri, block.name, workspace))
            case EmbeddedResourceContentBlock():
                resource = block.resource
                name = mention(resource.uri, "", workspace).removeprefix("@")
                said.append(name)
                if not isinstance(resource, BlobResourceContents):
                    attached.append(_context(name, resource.text))
                elif resource.mime_type in IMAGE_TYPES:
                    images.append(_image(resource.mime_type, resource.blob, number))
                else:
                    raise _rejected(number, f"a {resource.mime_type or 'binary'} file cannot be attached")
            case AudioContentBlock():
                raise _rejected(number, "audio cannot be attached")
    text = "".join(said).strip()
    if not text and not images:
        raise RequestError(-32602, "The prompt is empty.")
    return Prompt(text, "\n\n".join(attached), tuple(images))


def mention(uri: str, name: str, workspace: Path) -> str:
    """Name a resource in the text: a file as a mention, relative to the workspace, with its lines; else its address."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:  # half an address in brackets
        raise RequestError(-32602, f"{uri!r} is no address: {error}.") from error
    if parts.scheme not in ("file", ""):
        return f"[{name}]({uri})" if name else uri
    path = Path(unquote(parts.path)) if parts.scheme else Path(uri)
    shown = str(path.relative_to(workspace) if path.is_relative_to(workspace) else path)
    quoted = f'@"{shown}"' if " " in shown else f"@{shown}"
    lines = _LINES.search(parts.fragment) if parts.scheme else None
    if lines is None:
        return quoted
    last = lines[2] or lines[1]
    return f"{quoted}#{lines[1]}" if last == lines[1] else f"{quoted}#{lines[1]}-{last}"


def _context(name: str, text: str) -> str:
    """Give an attached text; it cannot end its own frame."""
    return f"<context of={name!r}>\n{text.replace(_CLOSE, _CLOSE.replace('/', chr(92) + '/'))}\n{_CLOSE}"


def _image(media_type: str | None, data: str, number: int) -> ImageBlock:
    if media_type not in IMAGE_TYPES:
        raise _rejected(
            number, f"an image of type {media_type!r} cannot be sent; {', '.join(IMAGE_TYPES)} can"
        )
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _rejected(number, "its image data is not base64") from error
    return ImageBlock(media_type=media_type, data=data)


def _rejected(number: int, reason: str) -> RequestError:
    return RequestError(-32602, f"Block {number + 1} of the prompt: {reason}.")
