"""The slash commands about skills: which there are, what one says, and looking at them again."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.commands.reports import listing_report

_NONE = "There are no skills. They live in .agents/skills/NAME/SKILL.md."
_USAGE = "Write /skills, /skills info NAME or /skills reload."


async def _skills(host: CommandHost, args: str) -> None:
    verb, _, name = args.partition(" ")
    match verb:
        case "" | "list":
            host.notice("info", listing_report(await host.backend.house.skills(), _NONE))
        case "info" if name.strip():
            await _info(host, name.strip())
        case "reload":
            await _reload(host, "")
        case _:
            host.notice("warning", _USAGE)


async def _info(host: CommandHost, name: str) -> None:
    text = await host.backend.house.skill(name.removeprefix("/"))
    await host.view(
        ReplayBlock(
            kind="tool",
            text=text,
            display_name="Skill",
            title=name,
            content_type="markdown",
            full_length=len(text),
            full_lines=text.count("\n") + 1,
        )
    )


async def _reload(host: CommandHost, _args: str) -> None:
    said = await host.backend.house.reload_skills()
    listing = await host.backend.house.skills()
    await host.refresh_commands()
    host.notice("info", "\n".join([said, *(f"! {problem}" for problem in listing.problems)]))


async def _words(host: CommandHost, _typed: str) -> Sequence[str]:
    names = [name for name, _ in (await host.backend.house.skills()).rows]
    return ["list", "reload", *(f"info {name}" for name in names)]


def skill_commands() -> list[Command]:
    """Give the commands, in the order of the list."""
    return [
        Command(
            "skills",
            "skills the model can load; what one says; look again",
            _skills,
            usage="[list | info NAME | reload]",
            while_busy=True,
            complete=_words,
        ),
        Command("reload-skills", "look at the skills again", _reload, while_busy=True),
    ]
