"""The slash commands that show what the program says about itself: sandbox, log, changes, terminal, a report."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import re
import time
from collections.abc import Mapping
from pathlib import Path

from agent_tui import __version__
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.commands.reports import columns
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.panels import panel

LOG_TAIL_BYTES = 200_000
REVIEW_PROMPT = (
    "Review {what}. Read the diff with git, and the code around it where that matters. Look for what would hurt: wrong "
    "results, lost data, races, broken error paths, security holes, changed behaviour without a test. Report each "
    "finding as file:line, what is wrong, when it happens, and how to mend it, the worst first; say so when there is "
    "nothing. Leave style to the formatter. Change no files."
)
_HEADLINE = re.compile(r"^# Changelog$", re.MULTILINE)


async def _sandbox(host: CommandHost, _args: str) -> None:
    status = host.backend.status()
    folders = host.backend.house.keeping.folders()
    host.notice(
        "info",
        columns(
            [
                ("Sandbox", status.sandbox or "none"),
                ("Why", status.sandbox_reason),
                ("Commands write in", ", ".join(folders)),
                ("Network", "only hosts that you allowed" if status.sandbox == "strong" else "open"),
            ]
        ),
    )


async def _review(host: CommandHost, args: str) -> None:
    what = (
        f"the changes of `git diff {args}`"
        if args
        else "the changes that are not committed yet, new files too"
    )
    host.submit(REVIEW_PROMPT.format(what=what))


async def _debug(host: CommandHost, _args: str) -> None:
    file = host.log_file
    text = await asyncio.to_thread(_tail, file) if file is not None else ""
    if not text:
        host.notice("info", f"The log is empty{f': {file}' if file else ''}.")
    else:
        await host.view(panel("Log", str(file), text, content_type="text"))


def _tail(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - LOG_TAIL_BYTES))
            return stream.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise AgentTuiError(f"{file} cannot be read: {error.strerror}") from error


async def _changelog(host: CommandHost, _args: str) -> None:
    text = await asyncio.to_thread(changelog)
    if text:
        await host.view(panel("Changelog", f"agent-tui {__version__}", text, content_type="markdown"))
    else:
        host.notice("info", f"This is agent-tui {__version__}; its changelog was not installed with it.")


def changelog() -> str:
    """Give the changelog of a checkout, else the one that was installed; "" when there is neither."""
    root = Path(__file__).parents[3]
    if (root / "pyproject.toml").exists():  # elsewhere a file of that name is another program's
        with contextlib.suppress(OSError):
            return (root / "CHANGELOG.md").read_text(encoding="utf-8")
    from importlib import metadata  # only for those who ask

    try:
        text = metadata.distribution("agent-tui").read_text("METADATA") or ""
    except metadata.PackageNotFoundError:
        return ""
    found = _HEADLINE.search(text)
    return text[found.start() :] if found else ""


async def _feedback(host: CommandHost, args: str) -> None:
    if host.log_file is None:
        raise AgentTuiError("There is no folder to write a report to in this run.")
    facts = [
        ("Version", __version__),
        ("System", f"{platform.system()} {platform.release()}, Python {platform.python_version()}"),
        ("Terminal", f"{os.environ.get('TERM', '')} {os.environ.get('TERM_PROGRAM', '')}".strip()),
    ]
    doctor = await host.backend.house.doctor()
    text = (
        f"# Feedback\n\n{args or '(what happened, and what you expected)'}\n\n{columns(facts)}\n\n{doctor}\n"
    )
    file = host.log_file.parent / f"feedback-{time.strftime('%Y%m%d-%H%M%S')}.md"
    await asyncio.to_thread(_write, file, text)
    host.notice(
        "info",
        f"A report is in {file}. Nothing of it was sent: read it, and send it yourself where you like.",
    )


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise AgentTuiError(f"{file} cannot be written: {error.strerror}") from error


async def _terminal_setup(host: CommandHost, _args: str) -> None:
    host.notice("info", terminal_advice(os.environ, host.keys))


def terminal_advice(environment: Mapping[str, str], keys: Keymap) -> str:
    """Say what this terminal can do and what to set so that it can do more."""
    name = environment.get("TERM_PROGRAM") or environment.get("TERM", "")
    newline = " or ".join(keys.keys_of("prompt", "newline")) or "a backslash before sending"
    rows = [
        ("Terminal", f"{name}{' in tmux' if environment.get('TMUX') else ''}"),
        ("New line", f"{newline}; a backslash at the end of the line works in every terminal"),
        ("Colours", _colours(environment)),
        *_rows_of(environment),
    ]
    return columns(rows)


def _colours(environment: Mapping[str, str]) -> str:
    if environment.get("NO_COLOR"):
        return "none, because NO_COLOR is set"
    if environment.get("COLORTERM") in ("truecolor", "24bit"):
        return "all"
    return "256 or fewer; if the terminal has more: export COLORTERM=truecolor"


def _rows_of(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if environment.get("TMUX"):
        rows += [
            ("tmux, Shift+Enter", "set -s extended-keys on; set -as terminal-features 'xterm*:extkeys'"),
            ("tmux, clipboard", "set -s set-clipboard on"),
            ("tmux, focus", "set -s focus-events on"),
        ]
    match environment.get("TERM_PROGRAM", ""):
        case "Apple_Terminal":
            rows.append(("Alt keys", "Settings, Profiles, Keyboard: use Option as Meta key"))
        case "iTerm.app":
            rows.append(("Alt keys", "Settings, Profiles, Keys: Left Option key is Esc+"))
            rows.append(("Clipboard", "Settings, General, Selection: applications may access the clipboard"))
        case "vscode":
            rows.append(
                ("Shift+Enter", 'keybindings.json: "shift+enter" sends "\\u001b[13;2u" when terminalFocus')
            )
        case _:
            pass
    return rows


def paper_commands() -> list[Command]:
    """Give the commands, in the order of the list."""
    return [
        Command("sandbox", "how commands are confined", _sandbox, while_busy=True),
        Command(
            "review",
            "let the model look for faults in changes",
            _review,
            aliases=("code-review",),
            usage="[range]",
        ),
        Command(
            "terminal-setup",
            "what this terminal can do, and how it could do more",
            _terminal_setup,
            while_busy=True,
        ),
        Command("debug", "the program's own log", _debug, while_busy=True),
        Command(
            "changelog",
            "what changed between versions",
            _changelog,
            aliases=("release-notes",),
            while_busy=True,
        ),
        Command(
            "feedback",
            "write a report to a file; nothing is sent",
            _feedback,
            aliases=("bug",),
            usage="[what happened]",
            while_busy=True,
        ),
    ]
