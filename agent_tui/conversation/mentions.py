"""What a prompt points at with `@`: files, their lines, folders, kept images, resources of MCP servers go along."""

import asyncio
import base64
import json
import logging
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.agent.notes import CLOSE, note
from agent_tui.conversation.images import IMAGE_MARK, KeptImages
from agent_tui.executor.prepare import MakeContext
from agent_tui.permissions.policy import Policy
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.messages import DocumentBlock, TextBlock, UserBlock
from agent_tui.toolkit import paths
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.source import ToolSource

_LOG = logging.getLogger(__name__)

MAX_MENTIONS = 20
PDF_LIMIT_BYTES = 10_000_000
_PDF_MARK = b"%PDF-"
_MENTION = re.compile(
    r'(?<!\S)@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s"#]+))(?:#(?P<first>\d+)(?:-(?P<last>\d+))?)?'
)
_FILE_NAME = re.compile(r"^[.~]{0,2}/|[^/.]\.[A-Za-z][A-Za-z0-9]{0,4}$")
"""What was meant as a file: a path from here, home or the root, or an ending such as `.txt`; `@types/node` is a word."""
_MAX_DIGITS = 9
_ENDS = ".,;:!?)]}'"


@dataclass(frozen=True)
class Mention:
    """One place a prompt points at. `first` and `last` are 1-based lines, both counted in; 0 means the whole."""

    path: str
    first: int = 0
    last: int = 0

    @property
    def shown(self) -> str:
        """The mention as a person writes it."""
        lines = f"#{self.first}-{self.last}" if self.first else ""
        return f'@"{self.path}"{lines}' if " " in self.path else f"@{self.path}{lines}"


def mentions(text: str) -> list[Mention]:
    """Find what `text` points at, each once, in order."""
    found: dict[Mention, None] = {}
    for hit in _MENTION.finditer(text):
        first = _line(hit["first"] or "0")
        last = _line(hit["last"]) if hit["last"] else first
        found[Mention(hit["quoted"] or hit["plain"], min(first, last), max(first, last))] = None
    return list(found)


def _line(digits: str) -> int:
    """Read a line number; one longer than any file is some line behind every end."""
    return int(digits) if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS


class Attachments:
    """Reads what prompts point at, with the tools the model has and by the same rules, and never asks.

    What a rule would deny or ask about stays out and `warn` says so: the model can still ask to read it. A word
    that is no path is text, unless `resource` has something for it ("server:uri"); it gives None where it has not.
    One that looks like a file is told of.
    """

    def __init__(
        self,
        tools: ToolSource,
        make_context: MakeContext,
        policy: Policy,
        *,
        workspace: Path,
        images: KeptImages,
        reads_pdfs: Callable[[], bool],
        warn: Callable[[str], Awaitable[None]],
        resource: Callable[[str], Awaitable[str | None]],
    ) -> None:
        self._resource = resource
        self._tools = tools
        self._make_context = make_context
        self._policy = policy
        self._workspace = workspace
        self._images = images
        self._reads_pdfs = reads_pdfs
        self._warn = warn

    async def __call__(self, text: str) -> Sequence[UserBlock]:
        """Give the blocks that go before a prompt."""
        blocks: list[UserBlock] = []
        found = mentions(text)
        for mention in found[:MAX_MENTIONS]:
            try:
                blocks += await self._attach(mention)
            except Exception as error:  # foreign code: a tool that reads, a server that has the resource
                _LOG.debug("%s could not be attached", mention.shown, exc_info=True)
                await self._warn(f"{mention.shown} was not attached: {error}")
        if len(found) > MAX_MENTIONS:
            await self._warn(f"Only the first {MAX_MENTIONS} of {len(found)} mentions were attached.")
        return blocks

    async def _attach(self, mention: Mention) -> Sequence[UserBlock]:
        if mention.path.startswith(IMAGE_MARK):
            image = await asyncio.to_thread(self._images.load, mention.path.removeprefix(IMAGE_MARK))
            ctx = self._make_context("", "")
            if not ctx.sees_images:
                raise ToolError("this model cannot see images; /model chooses another.")
            return [TextBlock(text=note(f"The person attached the image {mention.shown}:")), image]
        path, kind = await asyncio.to_thread(self._look, mention.path)
        if not kind:
            name = mention.path.rstrip(_ENDS)
            text = await self._resource(name)
            if text is None and _FILE_NAME.search(name):
                await self._warn(f"@{name} is no file here; it was sent as text.")
            return [] if text is None else [_told(mention, text)]
        if kind == "folder":
            return await self._call("list", {"path": path}, mention)
        arguments: JsonObject = {"file_path": path}
        if not mention.first and self._reads_pdfs() and await asyncio.to_thread(self._is_pdf, path):
            return await self._document(arguments, mention)
        if mention.first:
            arguments |= {"offset": mention.first, "limit": mention.last - mention.first + 1}
        return await self._call("read", arguments, mention)

    def _look(self, given: str) -> tuple[str, str]:
        """Give the path without a sentence's last mark, and whether it is a "file", a "folder" or ""."""
        for name in dict.fromkeys((given, given.rstrip(_ENDS))):
            try:
                path = self._workspace / Path(os.path.expanduser(name))
                if path.is_dir():
                    return name, "folder"
                if path.is_file():
                    return name, "file"
            except (OSError, RuntimeError, ValueError):
                continue
        return given, ""

    def _is_pdf(self, given: str) -> bool:
        path = self._workspace / Path(os.path.expanduser(given))
        with path.open("rb") as file:
            return file.read(len(_PDF_MARK)) == _PDF_MARK and path.stat().st_size <= PDF_LIMIT_BYTES

    async def _document(self, arguments: JsonObject, mention: Mention) -> Sequence[UserBlock]:
        """Give the PDF itself: with its pictures and tables it says more than its text."""
        given = json.dumps(arguments)
        ctx = self._context()
        self._check("read", given, ctx)
        target = paths.resolve(str(arguments["file_path"]), ctx)
        from agent_tui.toolkit.files import load  # 2 ms of CPU (ctypes), loaded ahead with the tools

        base = await asyncio.to_thread(load, target, limit_bytes=PDF_LIMIT_BYTES)
        if base is None:
            raise ToolError("it is gone.")
        data = await asyncio.to_thread(lambda: base64.b64encode(base.data).decode("ascii"))
        said = TextBlock(text=note(f"The person attached the document {mention.shown}:"))
        return [said, DocumentBlock(data=data, title=Path(mention.path).name)]

    async def _call(self, tool: str, arguments: JsonObject, mention: Mention) -> Sequence[UserBlock]:
        if not self._tools.owns(tool):
            return []
        given = json.dumps(arguments)
        ctx = self._context()
        self._check(tool, given, ctx)
        result = await self._tools.execute(tool, given, ctx)
        if result.is_error:
            raise ToolError(result.output)
        return [_told(mention, result.output), *result.images]

    def _context(self) -> ToolContext:
        return self._make_context(f"mention-{secrets.token_hex(4)}", "")

    def _check(self, tool: str, given: str, ctx: ToolContext) -> None:
        """Raise ToolError unless the rules let it be read unasked."""
        review = self._policy.review(
            tool=tool,
            permissions=self._tools.permissions(tool, given, ctx),
            readable=self._tools.readable(tool),
            needs_approval=self._tools.needs_approval(tool),
            cwd=ctx.workspace,
        )
        if review.denial:
            raise ToolError(review.denial)
        if review.asking:
            raise ToolError("reading it needs your approval, and the model asks when it reads it itself.")


def _told(mention: Mention, text: str) -> TextBlock:
    said = f"The person attached {mention.shown}:\n{text}".replace(CLOSE, CLOSE.replace("/", "\\/"))
    return TextBlock(text=note(said))
