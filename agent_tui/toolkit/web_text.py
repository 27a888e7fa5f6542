"""A fetched page as text: its charset, what kind it is, HTML turned to markdown or plain text."""

import asyncio
import codecs
import json
import os
import re
import sys
from pathlib import Path

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.capture import capture
from agent_tui.toolkit.context import FetchedPage

WORKER = Path(__file__).with_name("_page_worker.py")
CONVERT_TIMEOUT_S = 15.0
CONVERTED_LIMIT_BYTES = 16 << 20
HEAD_BYTES = 4_096
# Names that browsers read as a wider charset, because servers use them so.
_WIDER = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "iso-8859-9": "cp1254",
    "tis-620": "cp874",
}
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_META = re.compile(rb"<meta[^>]+?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"^\s*<\?xml[^>]+?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_TEXT_TYPE = re.compile(
    r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|toml|javascript|ecmascript|x-\w*(?:sh|script|yaml|sql)|sql|graphql|ndjson|x-ndjson|rtf|x-tex)|image/svg\+xml"
)
_HTML_TYPES = ("text/html", "application/xhtml+xml")


def kind_of(page: FetchedPage) -> str:
    """Give "html", "text" or "" for what cannot be read as text."""
    head = page.body[:HEAD_BYTES]
    is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or "utf-16" in page.charset.lower()
    if b"\0" in head and not is_wide:
        return ""
    if page.content_type in _HTML_TYPES:
        return "html"
    if _TEXT_TYPE.fullmatch(page.content_type):
        return "text"
    if page.content_type not in ("", "application/octet-stream", "unknown/unknown"):
        return ""
    if re.match(rb"\s*(?:<!doctype html|<html|<head|<body)", head, re.IGNORECASE):
        return "html"
    return "text" if _looks_like_text(head) else ""


def _looks_like_text(head: bytes) -> bool:
    controls = sum(byte < 0x20 and byte not in b"\t\n\r\f\x1b" for byte in head)
    return controls * 10 <= len(head)


def decoded(page: FetchedPage) -> str:
    """Decode the body: by its mark, by the header, by what the page says, as UTF-8, at last as Windows-1252."""
    for mark, name in _BOMS:
        if page.body.startswith(mark):
            return page.body.decode(name, "replace")
    for name in (page.charset, _declared(page.body)):
        text = _decoded_as(page.body, name)
        if text is not None:
            return text
    try:
        return page.body.decode("utf-8")
    except UnicodeDecodeError:
        # With one byte in a hundred wrong it is damaged UTF-8, else another charset.
        text = page.body.decode("utf-8", "replace")
        return text if text.count("\ufffd") * 100 <= len(text) else page.body.decode("cp1252", "replace")


def _declared(body: bytes) -> str:
    found = _META.search(body[:HEAD_BYTES]) or _XML_DECLARATION.search(body[:HEAD_BYTES])
    return found[1].decode("ascii", "replace") if found else ""


def _decoded_as(body: bytes, name: str) -> str | None:
    """Decode with a named charset, None when the name is unknown or no charset of text."""
    if not name:
        return None
    lower = name.strip().lower()
    try:
        return body.decode(_WIDER.get(lower, lower), "replace")
    except (LookupError, UnicodeError):
        return None


async def readable(page: FetchedPage, *, wanted: str) -> str:
    """Give the page as `wanted`: "markdown", "text" or "html" (as it came). Raises ToolError."""
    text = decoded(page)
    if kind_of(page) != "html" or wanted == "html":
        return text
    return await _converted(text, page.url, wanted)


async def _converted(html: str, url: str, wanted: str) -> str:
    """Convert in a process of its own: a hostile page can take any time and memory."""
    paths = [str(Path(__file__).parents[2]), *(path for path in sys.path if path)]
    order = await asyncio.to_thread(
        json.dumps, {"sys_path": paths, "html": html, "url": url, "wanted": wanted}
    )
    try:
        answer = await capture(
            [sys.executable, "-I", "-S", str(WORKER)],
            cwd=Path("/"),
            env={"PATH": os.defpath, "PYTHONIOENCODING": "utf-8"},
            stdin=order.encode("ascii"),
            timeout_s=CONVERT_TIMEOUT_S,
            limit_bytes=CONVERTED_LIMIT_BYTES,
        )
    except TimeoutError as error:
        raise ToolError(
            f"The page took longer than {CONVERT_TIMEOUT_S:.0f} s to convert; fetch it with format html."
        ) from error
    if answer.exit_code != 0 and not answer.is_cut:
        reason = answer.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ToolError(f"The page could not be converted ({reason}); fetch it with format html.")
    return answer.stdout.decode("utf-8", "replace")
