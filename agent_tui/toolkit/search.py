"""Searches files: with rg where there is one, else by our own search in a process that can be killed."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.capture import Captured, capture
from agent_tui.toolkit.plain_search import from_json
from agent_tui.toolkit.programs import find_program
from agent_tui.toolkit.rg import WAY_OUT, RgCannot, rg_files, rg_grep
from agent_tui.toolkit.search_model import Found, Query

WORKER = Path(__file__).with_name("_search_worker.py")
TIMEOUT_S = 20.0
LISTING_LIMIT_BYTES = 256 << 20
EXIT_INVALID, EXIT_TOO_SLOW = 2, 3


async def list_files(base: Path, workspace: Path, *, names: Sequence[str] = ()) -> list[str]:
    """Give the paths, relative to the real path `base`, of the files below it that are neither ignored nor hidden.

    Symlinks are not followed and not given. The order means nothing. `names` are globs for the last component:
    files that match none of them may be left out, for speed. Raises ToolError.
    """
    rg = find_program("rg", outside=workspace)
    if rg is not None:
        try:
            return await rg_files(rg, base, workspace, names=names, timeout_s=TIMEOUT_S)
        except RgCannot:
            pass  # an older rg, or a case it treats differently from git: our own search answers the same
        except TimeoutError as error:
            raise _too_slow(base) from error
    answer = await _work({"op": "files"}, base, workspace)
    return [os.fsdecode(name) for name in answer.stdout.split(b"\0")[:-1]]


async def grep_files(base: Path, workspace: Path, query: Query, *, single: str = "") -> Found:
    """Search the files below the real path `base`, or only `single` in it whatever its name.

    Files are in order of their paths. Raises ToolError, with the reason of an invalid expression.
    """
    _check(query)
    rg = find_program("rg", outside=workspace)
    if rg is not None:
        try:
            return await rg_grep(rg, base, workspace, query, single=single, timeout_s=TIMEOUT_S)
        except RgCannot:
            pass  # see list_files
        except TimeoutError as error:
            raise _too_slow(base) from error
    order: JsonObject = {"op": "grep", "query": query.to_json(), "single": single}
    return from_json(json.loads((await _work(order, base, workspace)).stdout))


def _check(query: Query) -> None:
    if not query.pattern:
        raise ToolError("The pattern is empty.")
    if "\0" in query.pattern:
        raise ToolError("The pattern holds a NUL character; binary files are not searched.")
    if "\n" in query.pattern and not query.multiline:
        raise ToolError("The pattern holds a newline; set multiline to search across lines.")


def _too_slow(base: Path) -> ToolError:
    return ToolError(
        f"The search in {base} took longer than {TIMEOUT_S:.0f} s. Narrow it with path or glob, or use a simpler pattern."
    )


async def _work(order: JsonObject, base: Path, workspace: Path) -> Captured:
    """Let the worker do `order`. Raises ToolError."""
    package = str(Path(__file__).parents[2])
    paths: Sequence[str] = [package, *(path for path in sys.path if path)]
    text = json.dumps({**order, "base": str(base), "workspace": str(workspace), "sys_path": list(paths)})
    environment = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in os.environ}
    try:
        answer = await capture(
            [sys.executable, "-I", "-S", str(WORKER)],
            cwd=Path("/"),
            env=environment,
            stdin=text.encode("utf-8"),
            timeout_s=TIMEOUT_S,
            limit_bytes=LISTING_LIMIT_BYTES,
        )
    except TimeoutError as error:
        raise _too_slow(base) from error
    reason = answer.stderr.decode("utf-8", "replace").strip()
    if answer.exit_code == EXIT_INVALID:
        raise ToolError(f"Invalid regular expression: {reason}\n{WAY_OUT}")
    if answer.exit_code == EXIT_TOO_SLOW:
        raise ToolError(f"The search was stopped: {reason}. Use a simpler pattern, or literal.")
    if answer.exit_code != 0 or answer.is_cut:
        raise ToolError(f"The search failed: {reason[-400:]}")
    return answer
