"""Checks the machine: terminal, sandbox, programs, keys, settings, and what people plugged in."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from agent_tui.config.paths import Paths, user_paths
from agent_tui.run.checks import Check
from agent_tui.run.extension_checks import extension_checks
from agent_tui.run.options import RunOptions
from agent_tui.run.own_checks import skill_checks, tool_checks
from agent_tui.run.settings import loaded_settings
from agent_tui.sandbox.probe import bwrap_refused


def examine(workspace: Path, *, inside: bool = False) -> list[Check]:
    """Look at everything; sends nothing anywhere. `inside` the running program tools and extensions are loaded already."""
    environment = os.environ
    paths = user_paths()
    return [
        Check("python", True, f"{sys.version.split()[0]} at {sys.executable}"),
        _terminal(environment),
        _sandbox(),
        _program("git", "branches and ignore rules are read from files only"),
        _program("rg", "searches use the built-in engine, which is slower"),
        _keys(environment),
        _folders(paths),
        *_settings(workspace),
        *([] if inside else tool_checks(workspace, paths)),
        *skill_checks(workspace),
        *([] if inside else extension_checks(workspace, paths)),
    ]


def report(workspace: Path) -> str:
    """Give what `examine` finds inside the running program, a line for each check."""
    checks = examine(workspace, inside=True)
    width = max(len(check.name) for check in checks)
    return "\n".join(f"{'✓' if check.ok else '!'} {check.name:<{width}}  {check.text}" for check in checks)


def _terminal(environment: Mapping[str, str]) -> Check:
    name = environment.get("TERM", "")
    if name in {"", "dumb"}:
        return Check("terminal", False, f"TERM is {name!r}: no full screen there; use -p PROMPT")
    colours = (
        "24-bit colour" if environment.get("COLORTERM") in {"truecolor", "24bit"} else "256 colours or fewer"
    )
    return Check("terminal", True, f"{name}, {colours}")


def _sandbox() -> Check:
    refused = bwrap_refused()
    return Check("sandbox", not refused, refused or "strong: bubblewrap works")


def _program(name: str, without: str) -> Check:
    found = shutil.which(name)
    return Check(name, found is not None, found or f"not found on PATH: {without}")


def _keys(environment: Mapping[str, str]) -> Check:
    names = [
        name
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")
        if environment.get(name, "").strip()
    ]
    if names:
        return Check("model", True, f"{', '.join(names)} set")
    return Check("model", False, "no key: the offline model answers; set ANTHROPIC_API_KEY or OPENAI_API_KEY")


def _folders(paths: Paths) -> Check:
    for folder in (paths.data, paths.state):
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        if not os.access(existing, os.W_OK):
            return Check("folders", False, f"{folder} cannot be written: sessions are not kept")
    return Check("folders", True, f"sessions under {paths.sessions}")


def _settings(workspace: Path) -> list[Check]:
    problems = loaded_settings(RunOptions(), workspace, trusted=True).problems
    if not problems:
        return [Check("settings", True, "no problems")]
    return [Check("settings", False, str(problem)) for problem in problems]
