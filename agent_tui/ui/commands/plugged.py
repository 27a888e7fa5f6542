"""The slash command about extensions."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.commands.reports import columns

_NONE = "There are no extensions. They live in ~/.config/agent-tui/extensions and .agent-tui/extensions."
_USAGE = "Write /extensions, /extensions restart NAME or /extensions log NAME."


async def _extensions(host: CommandHost, args: str) -> None:
    extensions = host.backend.extensions
    word, _, name = args.partition(" ")
    match word, name.strip():
        case "", _:
            listing = extensions.listing()
            lines = [columns(listing.rows)] if listing.rows else [] if listing.problems else [_NONE]
            host.notice("info", "\n".join([*lines, *(f"! {problem}" for problem in listing.problems)]))
        case "restart", named if named:
            host.notice("info", await extensions.restart(named))
        case "log", named if named:
            host.notice("info", extensions.log(named))
        case _:
            host.notice("warning", _USAGE)


async def _complete(host: CommandHost, typed: str) -> Sequence[str]:
    names = [name for name, _ in host.backend.extensions.listing().rows]
    return [f"{word} {name}" for word in ("restart", "log") for name in names]


def extension_commands() -> list[Command]:
    """Give the command."""
    return [
        Command(
            "extensions",
            "extensions, what they offer, what is wrong",
            _extensions,
            aliases=("plugins",),
            usage="[restart NAME | log NAME]",
            while_busy=True,
            complete=_complete,
        )
    ]
