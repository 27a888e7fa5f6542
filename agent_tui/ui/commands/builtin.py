"""The built-in slash commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from agent_tui.protocol.near_names import did_you_mean
from agent_tui.ui.backend import ModeName
from agent_tui.ui.commands.bench import bench_commands
from agent_tui.ui.commands.copying import copy_commands
from agent_tui.ui.commands.house import house_commands
from agent_tui.ui.commands.keeping import keeping_commands
from agent_tui.ui.commands.mcp import mcp_commands
from agent_tui.ui.commands.papers import paper_commands
from agent_tui.ui.commands.past import past_commands
from agent_tui.ui.commands.plugged import extension_commands
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.commands.reports import MODE_WORDS, status_report, tools_report
from agent_tui.ui.commands.settings import settings_commands
from agent_tui.ui.commands.talk import talk_commands

_LASTING = " --default"
MODES = cast("tuple[ModeName, ...]", get_args(ModeName))


async def _help(host: CommandHost, args: str) -> None:
    host.show_help(args)


async def _clear(host: CommandHost, _args: str) -> None:
    await host.new_session()


async def _model(host: CommandHost, args: str) -> None:
    name = args.removesuffix(_LASTING).strip()
    if name:
        await host.switch_model(name)
        if args.endswith(_LASTING):
            await _make_default(host, name)
    else:
        host.perform("models")


async def _make_default(host: CommandHost, name: str) -> None:
    """Write the model into the user's settings, for every start from now on."""
    desk = host.backend.house.settings
    provider, _, model = name.partition(":") if ":" in name else (host.backend.status().provider, "", name)
    said = [await desk.set("model.provider", provider, "user"), await desk.set("model.name", model, "user")]
    host.notice("info", said[-1])


async def _mode(host: CommandHost, args: str) -> None:
    if not args:
        host.perform("cycle_mode")
        return
    named: dict[str, ModeName] = {word: name for name, word in MODE_WORDS.items()}
    wanted = (
        args.lower().replace("_", "-").replace("acceptedits", "accept-edits").replace("dontask", "dont-ask")
    )
    mode: ModeName | None = named.get(args.lower()) or next((mode for mode in MODES if mode == wanted), None)
    if mode is None:
        host.notice("warning", f"There is no mode {args!r}{did_you_mean(args, MODES, end='.')}")
        return
    host.switch_mode(mode)


async def _plan(host: CommandHost, args: str) -> None:
    host.switch_mode("plan")
    if args:
        host.submit(args)


async def _bypass(host: CommandHost, _args: str) -> None:
    message = "Nothing will ask until you choose another mode. Deny rules and protected paths still hold."
    if await host.confirm("Stop asking for permission?", message, danger=True):
        host.switch_mode("bypass")


async def _resume(host: CommandHost, args: str) -> None:
    if not args:
        host.perform("sessions")
        return
    sessions = await host.backend.sessions()
    for session in sessions:
        if session.session_id.startswith(args) or session.name.lower() == args.lower():
            await host.open_session(session.session_id)
            return
    names = [name for session in sessions for name in (session.name, session.session_id) if name]
    meant = did_you_mean(args, names, otherwise=".")
    host.notice("warning", f"There is no session {args!r}{meant} /sessions lists them.")


async def _rename(host: CommandHost, args: str) -> None:
    await host.backend.rename(args)
    host.refresh_status()
    host.notice("info", f"The session is now called {args}.")


async def _theme(host: CommandHost, args: str) -> None:
    if args:
        await host.switch_theme(args)
    else:
        host.perform("themes")


async def _tools(host: CommandHost, _args: str) -> None:
    host.notice("info", tools_report(host.backend.tools()))


async def _status(host: CommandHost, _args: str) -> None:
    host.notice("info", status_report(host.backend.status()))


async def _search(host: CommandHost, args: str) -> None:
    if args:
        host.search(args)
    else:
        host.perform("search")


async def _transcript(host: CommandHost, args: str) -> None:
    where = args or "reader"
    if where in ("reader", "pager", "scrollback"):
        host.perform(where)
    else:
        host.notice("warning", "Write /transcript, /transcript pager or /transcript scrollback.")


async def _version(host: CommandHost, _args: str) -> None:
    from agent_tui.protocol.version import version_line  # importlib.metadata: 80 ms, for nothing else

    host.notice("info", version_line())


async def _quit(host: CommandHost, _args: str) -> None:
    host.leave()


async def _models(host: CommandHost, _typed: str) -> Sequence[str]:
    return (await host.backend.models()).names


async def _themes(host: CommandHost, _typed: str) -> Sequence[str]:
    return host.theme_names()


async def _outsides(_host: CommandHost, _typed: str) -> Sequence[str]:
    return ["pager", "scrollback"]


async def _mode_names(_host: CommandHost, _typed: str) -> Sequence[str]:
    return MODES


async def _session_ids(host: CommandHost, _typed: str) -> Sequence[str]:
    return [session.name or session.session_id for session in await host.backend.sessions()]


def builtin_commands() -> list[Command]:
    """Give the commands the program brings, in the order of the list."""
    return [
        Command("help", "keys and commands", _help, aliases=("?",), usage="[topic]", while_busy=True),
        Command(
            "clear", "start a new session; this one is kept", _clear, aliases=("new", "reset", "new-session")
        ),
        *talk_commands(),
        Command(
            "model",
            "choose the model",
            _model,
            aliases=("models",),
            usage="[name [--default]]",
            while_busy=True,
            complete=_models,
        ),
        Command("mode", "permission mode", _mode, usage="[name]", while_busy=True, complete=_mode_names),
        Command("plan", "switch to plan mode", _plan, usage="[prompt]"),
        *keeping_commands(),
        Command("yolo", "stop asking, after one question", _bypass, aliases=("allow-all",), while_busy=True),
        Command(
            "resume",
            "open another session",
            _resume,
            aliases=("sessions", "continue", "history"),
            usage="[id or name]",
            complete=_session_ids,
        ),
        Command(
            "rename",
            "name this session",
            _rename,
            aliases=("title", "name"),
            usage="name",
            needs_args=True,
            while_busy=True,
        ),
        *past_commands(),
        Command(
            "theme",
            "choose the colours",
            _theme,
            aliases=("themes",),
            usage="[name]",
            while_busy=True,
            complete=_themes,
        ),
        *settings_commands(),
        *house_commands(),
        *mcp_commands(),
        *extension_commands(),
        Command("tools", "the tools the model can call", _tools, while_busy=True),
        Command("status", "model, mode, session, sandbox", _status, while_busy=True),
        Command(
            "search",
            "find text in the conversation",
            _search,
            aliases=("find",),
            usage="[text]",
            while_busy=True,
        ),
        Command(
            "transcript",
            "read the conversation as with less, in a pager or in the scrollback",
            _transcript,
            aliases=("pager",),
            usage="[pager | scrollback]",
            while_busy=True,
            complete=_outsides,
        ),
        *bench_commands(),
        *paper_commands(),
        *copy_commands(),
        Command("version", "version of the program", _version, while_busy=True),
        Command("quit", "leave; the session is kept", _quit, aliases=("exit", "q"), while_busy=True),
    ]
