"""The slash commands about the model's context: what fills it, shortening it, asking beside it, working on."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.protocol.numbers import whole_number
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.commands.reports import context_report, usage_report
from agent_tui.ui.screens.picker import Choice
from agent_tui.ui.series import MAX_REPEATS, Goal, Repeat
from agent_tui.ui.talk import EFFORTS

_STOP = ("stop", "end", "clear", "off")


async def _context(host: CommandHost, _args: str) -> None:
    counted = await host.backend.talk.count()
    host.notice("info", context_report(host.backend.status(), host.backend.talk.shares(), counted))


async def _usage(host: CommandHost, _args: str) -> None:
    host.notice("info", usage_report(host.backend.status()))


async def _effort(host: CommandHost, args: str) -> None:
    talk = host.backend.talk
    if not args:
        choices = [
            Choice(effort, effort or "the model's own", current=effort == talk.effort) for effort in EFFORTS
        ]
        chosen = await host.pick("Effort", choices)
        if chosen is None:
            return
        args = chosen
    host.notice("info", talk.set_effort("" if args in ("auto", "default") else args.lower()))
    host.refresh_status()


async def _aside(host: CommandHost, args: str) -> None:
    host.notice("info", f"Aside: {args}")
    answer = await host.backend.talk.aside(args)
    host.notice("info", f"Aside, answered: {answer}")
    host.refresh_status()


async def _compact(host: CommandHost, args: str) -> None:
    if args == "undo":
        host.notice("info", await host.backend.talk.undo_compaction())
        host.refresh_status()
        return
    draft = await host.drafting(host.backend.talk.draft(args))
    if not draft.text:
        host.notice("warning", draft.problem)
        return
    text = await agreed(host, draft.text, "This summary would take the place of the older messages")
    if text:
        host.notice("info", await host.backend.talk.compact(text))
        host.refresh_status()


async def agreed(host: CommandHost, text: str, title: str) -> str:
    """Let the person read, change and take a summary; "" when it is not wanted."""
    while True:
        size = f"{len(text.split()):,} words"
        chosen = await host.pick(
            title,
            [
                Choice("use", "Use it", size),
                Choice("show", "Read it first"),
                Choice("edit", "Change it in the editor"),
                Choice("leave", "Leave the conversation as it is"),
            ],
        )
        match chosen:
            case "use":
                return text
            case "show":
                await host.view(_block(text))
            case "edit":
                text = host.edit_outside(text) or text
            case _:
                host.notice("info", "The conversation stays as it is.")
                return ""


def _block(text: str) -> ReplayBlock:
    return ReplayBlock(
        kind="tool",
        text=text,
        tool="compact",
        display_name="Summary",
        title="not used yet",
        content_type="markdown",
        full_length=len(text),
        full_lines=text.count("\n") + 1,
    )


async def _pin(host: CommandHost, args: str) -> None:
    if args:
        host.notice("info", await host.backend.talk.pin(args))
        return
    pins = host.backend.talk.pins()
    listed = "\n".join(f"· {text}" for text in pins)
    host.notice("info", f"Pinned:\n{listed}" if pins else "Nothing is pinned. /pin TEXT pins something.")


async def _goal(host: CommandHost, args: str) -> None:
    if args in _STOP or not args:
        _about(host, args, "There is no goal. /goal TEXT sets one.")
        return

    async def ask(question: str) -> bool:
        return await host.confirm("Goal", question)

    host.pursue(
        Goal(
            args,
            last_reply=host.backend.talk.last_reply,
            tell=lambda text: host.notice("info", text),
            ask=ask,
        )
    )


async def _loop(host: CommandHost, args: str) -> None:
    if args in _STOP or not args:
        _about(host, args, f"No loop runs. /loop N PROMPT sends a prompt N times (1 to {MAX_REPEATS}).")
        return
    typed, _, prompt = args.partition(" ")
    number = whole_number(typed)
    if number is None or not 1 <= number <= MAX_REPEATS or not prompt.strip():
        host.notice("warning", f"Write /loop N PROMPT with N from 1 to {MAX_REPEATS}.")
        return
    host.pursue(Repeat(prompt.strip(), number, tell=lambda text: host.notice("info", text)))


def _about(host: CommandHost, args: str, nothing: str) -> None:
    """Say what goes on by itself, or end it."""
    running = host.pursued
    if running is None:
        host.notice("info", nothing)
    elif args:
        host.pursue(None)
        host.notice("info", f"No longer: {running.about}. A turn that runs goes on to its end.")
    else:
        host.notice("info", f"Going on: {running.about}")


async def _efforts(_host: CommandHost, _typed: str) -> Sequence[str]:
    return EFFORTS[1:]


def talk_commands() -> list[Command]:
    """Give the commands in the order of the list."""
    return [
        Command(
            "compact",
            "replace older messages by a summary you can read and change first",
            _compact,
            aliases=("summarize", "compress"),
            usage="[focus | undo]",
        ),
        Command("context", "what fills the model's window", _context, while_busy=True),
        Command("usage", "tokens and cost", _usage, aliases=("cost", "stats"), while_busy=True),
        Command(
            "effort",
            "how much the model thinks",
            _effort,
            aliases=("thinking",),
            usage="[low | medium | high | max]",
            while_busy=True,
            complete=_efforts,
        ),
        Command(
            "btw",
            "ask beside the conversation; nothing of it is kept",
            _aside,
            aliases=("ask", "side"),
            usage="question",
            needs_args=True,
            while_busy=True,
        ),
        Command("pin", "tell the model what every compaction keeps", _pin, usage="[text]"),
        Command(
            "goal",
            "work until the model says that a goal is met",
            _goal,
            usage="[text | stop]",
            while_busy=True,
        ),
        Command("loop", "send a prompt several times", _loop, usage="[N prompt | stop]", while_busy=True),
    ]
