"""The slash commands about the surroundings: trust, background commands, skills, agents, the machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.commands.reports import listing_report
from agent_tui.ui.commands.skills import skill_commands
from agent_tui.ui.house import JobLine, Listing
from agent_tui.ui.screens.picker import Choice

INIT_PROMPT = (
    "Write AGENTS.md in the root of this project, for coding agents that work here. Look first: the manifest files, "
    "the way it is built, run, tested and linted, the layout of the source, and what existing rules files say "
    "(README, CONTRIBUTING, .cursorrules, .github/copilot-instructions.md, CLAUDE.md). Then write what an agent cannot "
    "see at a glance: the exact commands, among them how to run one test; the architecture in a few sentences; "
    "conventions that differ from what is usual. At most 150 lines, nothing generic, nothing you did not verify. If "
    "AGENTS.md exists, improve it and keep what people wrote."
)


async def _trust(host: CommandHost, args: str) -> None:
    house = host.backend.house
    if args == "revoke":
        host.notice("info", await house.revoke_trust())
        await host.refresh_commands()
        return
    if args not in ("", "accept"):
        host.notice("warning", "Write /trust, /trust accept or /trust revoke.")
        return
    view = await house.trust()
    if view.problem:
        host.notice("error", f"This project is not trusted: {view.problem}.")
    elif not view.lines:
        host.notice("info", "This project brings no configuration that would run or change anything.")
    elif view.accepted:
        host.show_trusted(view)
    elif await host.ask_trust(view):
        host.notice("info", await house.accept_trust(view.digest))
        await host.refresh_commands()
    else:
        host.notice("info", "This project's configuration is left out.")


async def offer_trust(host: CommandHost) -> None:
    """Ask once after the start when the project brings something that does not count yet."""
    await host.refresh_commands()
    view = await host.backend.house.trust()
    if view.asks:
        await _trust(host, "")


async def _tasks(host: CommandHost, _args: str) -> None:
    jobs = host.backend.house.jobs()
    choices = [
        Choice(job.job_id, f"{job.job_id} · {job.state}", " ".join(job.command.split()))
        for job in reversed(jobs)
    ]
    chosen = await host.pick("Background commands", choices, empty="No command was sent to the background.")
    job = next((job for job in host.backend.house.jobs() if job.job_id == chosen), None)
    if job is None:
        return
    await host.view(_job_block(job))
    if job.running:
        what = await host.pick(
            f"{job.job_id} is running",
            [Choice("leave", "Let it run"), Choice("end", "End it with all it started")],
        )
        if what == "end":
            host.notice("info", await host.backend.house.end_job(job.job_id))


def _job_block(job: JobLine) -> ReplayBlock:
    text = f"$ {job.command}\n{job.tail or '(no output)'}\n({job.state})"
    return ReplayBlock(
        kind="tool",
        text=text,
        display_name=job.job_id,
        title=" ".join(job.command.split())[:50],
        content_type="terminal",
        full_length=len(text),
        full_lines=text.count("\n") + 1,
    )


async def _agents(host: CommandHost, _args: str) -> None:
    host.notice("info", listing_report(await host.backend.house.agents(), "There are no sub-agents."))


async def _hooks(host: CommandHost, _args: str) -> None:
    listing = await host.backend.house.hooks()
    host.notice(
        "info",
        listing_report(listing, "There are no hooks. They stand in config.toml as [[hooks.EVENT]] tables."),
    )


async def _memory(host: CommandHost, args: str) -> None:
    listing = await host.backend.house.memory()
    if args.split(" ")[0] == "edit" and listing.rows:
        await _edit_memory(host, listing, args.removeprefix("edit").strip())
        return
    host.notice(
        "info", listing_report(listing, "The model reads no instruction files here. /init writes AGENTS.md.")
    )


async def _edit_memory(host: CommandHost, listing: Listing, named: str) -> None:
    files = [path for path, _ in listing.rows if named in path]
    chosen = files[0] if len(files) == 1 else None
    if chosen is None:
        chosen = await host.pick("Edit", [Choice(path, path, size) for path, size in listing.rows])
    if chosen is not None and host.edit_file(Path(chosen)):
        host.notice("info", f"{chosen} counts as it is now from the next session on.")


async def _memory_words(host: CommandHost, _typed: str) -> Sequence[str]:
    return ["edit", *(f"edit {path}" for path, _ in (await host.backend.house.memory()).rows)]


async def _doctor(host: CommandHost, _args: str) -> None:
    host.notice("info", await host.backend.house.doctor())


async def _init(host: CommandHost, args: str) -> None:
    host.submit(f"{INIT_PROMPT}\n\nAlso: {args}" if args else INIT_PROMPT)


def house_commands() -> list[Command]:
    """Give the commands, in the order of the list."""
    return [
        Command("trust", "what this project would run; trust it or not", _trust, usage="[accept | revoke]"),
        Command(
            "tasks",
            "commands in the background",
            _tasks,
            aliases=("jobs", "bashes", "ps", "task", "shells"),
            while_busy=True,
        ),
        *skill_commands(),
        Command("agents", "sub-agents the model can send", _agents, aliases=("subagents",), while_busy=True),
        Command("hooks", "your commands that look at calls and turns", _hooks, while_busy=True),
        Command(
            "memory",
            "instruction files the model reads; edit one",
            _memory,
            aliases=("instructions",),
            usage="[edit [file]]",
            while_busy=True,
            complete=_memory_words,
        ),
        Command("init", "write AGENTS.md for this project", _init, usage="[what it should say]"),
        Command(
            "doctor",
            "check terminal, sandbox, keys, settings",
            _doctor,
            aliases=("diagnose",),
            while_busy=True,
        ),
    ]
