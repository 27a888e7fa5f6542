"""Checks the machine: terminal, sandbox, programs, keys, settings, and what people plugged in."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from agent_tui.config.paths import Paths, user_paths
from agent_tui.config.settings import Settings
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.providers.connect import choose
from agent_tui.run.checks import Check
from agent_tui.run.extension_checks import extension_checks
from agent_tui.run.found_problems import found_problems
from agent_tui.run.models import provider_spec
from agent_tui.run.options import RunOptions
from agent_tui.run.own_checks import text_checks, tool_checks
from agent_tui.run.server_checks import server_checks
from agent_tui.run.settings import settings_of_a_run
from agent_tui.sandbox.probe import bwrap_refused

_MARKS = {"ok": "✓", "hint": "·", "look": "!"}


def examine(workspace: Path, *, inside: bool = False) -> list[Check]:
    """Look at everything; sends nothing anywhere. `inside` the running program tools and extensions are loaded already."""
    environment = os.environ
    paths = user_paths()
    loaded = settings_of_a_run(RunOptions(), workspace)
    return [
        Check("python", True, f"{sys.version.split()[0]} at {sys.executable}"),
        _terminal(environment),
        _sandbox(),
        _program("git", "branches and ignore rules are read from files only"),
        _program("rg", "searches use the built-in engine, which is slower"),
        _model(loaded.settings, paths),
        _folders(paths),
        *_settings(workspace, inside=inside),
        *([] if inside else tool_checks(workspace, paths)),
        *text_checks(workspace),
        *server_checks(workspace, paths),
        *([] if inside else extension_checks(workspace, paths)),
    ]


def report(workspace: Path) -> str:
    """Give what `examine` finds inside the running program, a line for each check."""
    checks = examine(workspace, inside=True)
    width = max(len(check.name) for check in checks)
    return "\n".join(f"{_MARKS[check.mark]} {check.name:<{width}}  {check.text}" for check in checks)


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
    return Check(name, True, found or f"not found on PATH: {without}", is_hint=found is None)


def _model(settings: Settings, paths: Paths) -> Check:
    """Say which model the next start asks. Connects to nothing."""
    try:
        choice = choose(provider_spec(settings, paths))
    except AgentTuiError as error:
        return Check("model", False, str(error))
    if choice.provider == "offline" and not settings.model.provider:
        text = "no key: the offline model answers; set ANTHROPIC_API_KEY or OPENAI_API_KEY, or keep a key with 'agent-tui auth'"
        return Check("model", True, text, is_hint=True)
    return Check("model", True, f"{choice.provider}:{choice.model}, {choice.reason}")


def _folders(paths: Paths) -> Check:
    for folder in (paths.data, paths.state):
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        if not os.access(existing, os.W_OK):
            return Check("folders", False, f"{folder} cannot be written: sessions are not kept")
    return Check("folders", True, f"sessions under {paths.sessions}")


def _settings(workspace: Path, *, inside: bool) -> list[Check]:
    problems = found_problems(workspace, inside=inside)
    if not problems:
        return [Check("settings", True, "no problems")]
    return [Check("settings", False, problem) for problem in problems]
