"""The search with ripgrep, bent to git's idea of what is ignored and to our order."""

import base64
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.capture import Captured, capture
from agent_tui.toolkit.file_filter import FileFilter
from agent_tui.toolkit.globbing import expand_braces
from agent_tui.toolkit.ignore_rules import IGNORE_LIMIT_BYTES, IGNORE_NAME, Surroundings, surroundings
from agent_tui.toolkit.search_model import FileHits, Found, Line, Query, Window, with_context

OUTPUT_LIMIT_BYTES = 256 << 20
BATCH_FILES = 500
BATCH_BYTES = 100_000
ERROR_CHARS = 600
WAY_OUT = "Escape special characters, or set literal to search for the text itself."
_COMMON = (
    "--no-config",
    "--no-messages",
    "--no-ignore-dot",
    "--no-ignore-global",
    "--no-require-git",
    "--color=never",
)
_NOT_FOR_RG = re.compile(rb"\[:\w+:\]|[\t\\] *\r?$", re.MULTILINE)
# To rg, `?` and classes are about bytes; only what is sure to mean the same is left to it.
_SIMPLE_GLOB = re.compile(r"[\w.*+@,= ~-]+")
# A brace that cannot be a count stands for itself in most engines, not in rg's.
_LONE_BRACE = re.compile(r"\\.|\{(?!\d+(?:,\d*)?\}|,\d+\})", re.DOTALL)
_BRACED_ESCAPE = re.compile(r"\\[pPxuU]")


class RgCannot(Exception):
    """This rg, or this place, would not give the answer that git's rules demand."""


@dataclass(frozen=True)
class _Place:
    """Where rg runs, so that patterns of the user's ignore file start at the work tree, and what it searches."""

    cwd: Path
    target: str
    flags: tuple[str, ...]


def _place(base: Path, workspace: Path) -> _Place:
    """Say how rg has to be called for `base`. Raises RgCannot."""
    where = surroundings(base, workspace)
    if where.git_root is None and any((folder / IGNORE_NAME).exists() for folder in where.parents):
        raise RgCannot("ignore files above, and no work tree that bounds them")
    if any(_reads_otherwise(path) for path in (*_files_above(where), base / IGNORE_NAME)):
        raise RgCannot("an ignore file holds what rg reads otherwise than git")
    cwd = where.git_root or base
    below = base.relative_to(cwd).as_posix()
    return _Place(cwd, "./" if below == "." else f"./{below}/", tuple(_ignore_flags(where)))


def _files_above(where: Surroundings) -> Iterator[Path]:
    yield from (path for path in (where.user_file, where.exclude_file) if path is not None)
    yield from (folder / IGNORE_NAME for folder in where.parents)


def _reads_otherwise(path: Path) -> bool:
    try:
        return path.is_file() and _NOT_FOR_RG.search(path.read_bytes()[:IGNORE_LIMIT_BYTES]) is not None
    except OSError:
        return False


def _ignore_flags(where: Surroundings) -> Iterator[str]:
    yield from _COMMON
    if where.git_root is None:
        yield "--no-ignore-parent"
    files = [where.user_file]
    if where.git_root is not None and (where.git_root / ".git").is_file():
        files.append(where.exclude_file)  # rg does not find it from a linked work tree
    for path in files:
        if path is not None and path.is_file():
            yield f"--ignore-file={path}"


async def rg_files(
    rg: Path, base: Path, workspace: Path, *, names: Sequence[str], timeout_s: float
) -> list[str]:
    """Give the files below `base` as `list_files` does. Raises RgCannot and TimeoutError."""
    place = _place(base, workspace)
    types = _type_flags(names)
    answer = await _run(rg, place, [*place.flags, "--files", "--null", *types, place.target], timeout_s)
    return _visible(place, answer.stdout)


def _visible(place: _Place, listing: bytes) -> list[str]:
    """Give the names relative to the base; hidden ones that an ignore file brought back are left out."""
    cut = len(place.target)
    names = [name[cut:] for name in os.fsdecode(listing).split("\0")[:-1]]
    if "/." not in os.fsdecode(listing[cut:]):
        return names
    return [name for name in names if not _is_hidden(name)]


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or "/." in name


async def rg_grep(
    rg: Path, base: Path, workspace: Path, query: Query, *, single: str, timeout_s: float
) -> Found:
    """Search as `grep_files` does. Raises RgCannot, TimeoutError and ToolError."""
    place = _place(base, workspace)
    counts: dict[str, int] | None = None
    chosen = FileFilter(query, base, workspace)
    if single:
        names = [single]
    elif query.multiline:
        names = sorted(
            name for name in await _matching_names(rg, place, query, timeout_s) if chosen.takes(name)
        )
    else:
        counted = await _counts(rg, place, query, timeout_s)
        counts = {name: counted[name] for name in sorted(counted) if chosen.takes(name)}
        names = list(counts)
    if counts is not None and query.mode != "content":
        return Found([FileHits(name, count) for name, count in counts.items()], sum(counts.values()))
    return await _lines(rg, place, query, names, counts, timeout_s)


async def _counts(rg: Path, place: _Place, query: Query, timeout_s: float) -> dict[str, int]:
    """Count matched lines by file; rg leaves binary files out here."""
    arguments = ["--count", "--null", "--no-mmap", *_expression(query), *_types(query), "--", place.target]
    answer = await _run(rg, place, [*place.flags, *arguments], timeout_s)
    cut = len(place.target)
    found = re.findall(r"([^\0]+)\0(\d+)\r?\n", os.fsdecode(answer.stdout))
    return {name[cut:]: int(count) for name, count in found if not _is_hidden(name[cut:])}


async def _matching_names(rg: Path, place: _Place, query: Query, timeout_s: float) -> list[str]:
    arguments = ["--files-with-matches", "--null", *_expression(query), *_types(query), "--", place.target]
    answer = await _run(rg, place, [*place.flags, *arguments], timeout_s)
    return _visible(place, answer.stdout)


async def _lines(
    rg: Path,
    place: _Place,
    query: Query,
    names: Sequence[str],
    counts: dict[str, int] | None,
    timeout_s: float,
) -> Found:
    """Fetch the lines to show, from the files that hold them; without `counts` from all, to count them."""
    found, window = Found(), Window(query)
    wanted: list[str] = []
    for name in names:
        if counts is None:
            wanted.append(name)
            continue
        found.total += counts[name]
        if window.take(counts[name]):
            wanted.append(name)
    lines: dict[str, list[Line]] = {}
    for batch in _batches(wanted):
        lines.update(await _json_lines(rg, place, query, batch, timeout_s))
    window = Window(query)
    for name in names:
        own = lines.get(name, [])
        matched = [line for line in own if line.is_match]
        count = len(matched) if counts is None else counts[name]
        if not count:
            continue
        if counts is None:
            found.total += count
        places = window.take(count if query.mode == "content" else 1)
        kept = [matched[index] for index in places if index < len(matched)] if query.mode == "content" else []
        found.files.append(FileHits(name, count, with_context(own, kept, query)))
    return found


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        size += len(os.fsencode(name)) + 200
        if batch and (len(batch) >= BATCH_FILES or size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(name)
    if batch:
        yield batch


async def _json_lines(
    rg: Path, place: _Place, query: Query, names: Sequence[str], timeout_s: float
) -> dict[str, list[Line]]:
    """Give the matched and context lines of the named files; a binary file has none."""
    context = [f"--before-context={query.before}", f"--after-context={query.after}"]
    paths = [f"{place.target}{name}" for name in names]
    arguments = ["--json", "--no-mmap", *context, *_expression(query), "--", *paths]
    answer = await _run(rg, place, [*place.flags, *arguments], timeout_s)
    cut = len(os.fsencode(place.target))
    lines: dict[str, list[Line]] = {}
    for record in answer.stdout.splitlines():
        message = json.loads(record)
        kind, data = message["type"], message["data"]
        if kind == "summary":
            continue
        name = os.fsdecode(_bytes_of(data["path"])[cut:])
        if kind in ("match", "context"):
            lines.setdefault(name, []).extend(_message_lines(data, is_match=kind == "match"))
        elif kind == "end" and data.get("binary_offset") is not None:
            lines.pop(name, None)
    return lines


def _message_lines(data: dict[str, Any], *, is_match: bool) -> Iterator[Line]:
    """Give the lines of one message; a match over several lines has one for each."""
    raw = _bytes_of(data["lines"])
    spans = [(span["start"], span["end"]) for span in data["submatches"]]
    at = 0
    for offset, piece in enumerate(raw.split(b"\n")):
        if at >= len(raw) and offset:
            return
        text = piece.removesuffix(b"\r")
        touching = [
            (max(a - at, 0), min(b - at, len(text))) for a, b in spans if a <= at + len(piece) and b >= at
        ]
        start, end = touching[0] if touching else (0, 0)
        before = len(text[:start].decode("utf-8", "replace"))
        width = len(text[start:end].decode("utf-8", "replace")) if end > start else 0
        shown = text.decode("utf-8", "replace")
        number = data["line_number"] + offset
        yield Line(number, shown, before, before + width) if is_match else Line(number, shown)
        at += len(piece) + 1


def _bytes_of(field: dict[str, str]) -> bytes:
    """Read a text that rg gives as it is or, when it is not UTF-8, in base64."""
    return os.fsencode(field["text"]) if "text" in field else base64.b64decode(field["bytes"])


def _expression(query: Query) -> list[str]:
    flags = ["--crlf"]
    if query.ignore_case:
        flags.append("--ignore-case")
    if query.multiline:
        flags += ["--multiline", "--multiline-dotall"]
    if query.literal:
        flags.append("--fixed-strings")
    pattern = query.pattern if query.literal else _with_plain_braces(query.pattern)
    return [*flags, f"--regexp={pattern}"]


def _with_plain_braces(pattern: str) -> str:
    """Escape braces that are no count, unless the expression uses braced escapes such as `\\p{L}`."""
    if _BRACED_ESCAPE.search(pattern):
        return pattern
    return _LONE_BRACE.sub(lambda found: found[0] if found[0].startswith("\\") else r"\{", pattern)


def _types(query: Query) -> list[str]:
    """Let rg leave out files early, where a glob is about names; the filter decides anyway."""
    globs = list(query.name_globs)
    if not globs and query.path_globs and not any(glob.startswith("!") for glob in query.path_globs):
        globs = [glob.rpartition("/")[2] for glob in query.path_globs]
    return _type_flags(globs)


def _type_flags(globs: Sequence[str]) -> list[str]:
    """Define a file type of the globs, [] when one could mean something else to rg."""
    forms = [form for glob in globs for form in expand_braces(glob)]
    if not forms or not all(_SIMPLE_GLOB.fullmatch(form) for form in forms):
        return []
    return [*(f"--type-add=agenttui:{form}" for form in forms), "--type=agenttui"]


async def _run(rg: Path, place: _Place, arguments: Sequence[str], timeout_s: float) -> Captured:
    """Run rg. Raises RgCannot when it does not know an option or prints too much, ToolError for an expression."""
    environment = {"PATH": os.defpath, "HOME": "/nonexistent"}
    try:
        answer = await capture(
            [str(rg), *arguments],
            cwd=place.cwd,
            env=environment,
            timeout_s=timeout_s,
            limit_bytes=OUTPUT_LIMIT_BYTES,
        )
    except OSError as error:
        raise RgCannot(str(error)) from error
    if answer.is_cut:
        raise RgCannot("too much output")
    reason = answer.stderr.decode("utf-8", "replace").strip()
    if answer.exit_code == 2 and reason:
        if "regex" in reason:
            raise ToolError(_explained(reason))
        raise RgCannot(reason)
    return answer


def _explained(reason: str) -> str:
    text = reason.removeprefix("regex parse error:").strip("\n")[:ERROR_CHARS]
    return f"Invalid regular expression:\n{text}\n{WAY_OUT}"
