"""The slash commands that keep what a person decides by hand: rules, folders, keys of providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from agent_tui.protocol.near_names import did_you_mean
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.commands.reports import columns
from agent_tui.ui.keeping import KeepFor, RuleWord
from agent_tui.ui.screens.picker import Choice

_WORDS: dict[str, RuleWord] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_SCOPES = cast("tuple[KeepFor, ...]", get_args(KeepFor))
_VERBS = ("show", "test", "add", "remove", "reset", "log")
_ADD = "Write /permissions add allow RULE, or ask or deny, with --project or --user to keep it, such as Bash(git *)."


async def _permissions(host: CommandHost, args: str) -> None:
    verb, _, rest = args.partition(" ")
    rest = rest.strip()
    match verb:
        case "" | "show" | "list":
            host.show_rules()
        case "test" | "check":
            host.notice(
                "info", host.backend.check_command(rest) if rest else "Write /permissions test COMMAND."
            )
        case "add":
            await _add(host, rest)
        case "remove" | "revoke":
            said = (
                await host.backend.remove_rule(rest)
                if rest
                else "Write /permissions remove ID; /permissions lists them."
            )
            host.notice("info", said)
        case "reset":
            message = "Every grant of this session is taken back. Those of the project and the user stay."
            if await host.confirm("Take back the grants of this session?", message):
                host.notice("info", host.backend.house.keeping.forget_session_rules())
        case "log":
            host.notice("info", _log(host))
        case _:
            host.notice("warning", f"/permissions knows {', '.join(_VERBS)}.")


async def _add(host: CommandHost, rest: str) -> None:
    words = rest.split()
    keep: KeepFor = "session"
    for scope in _SCOPES:
        if f"--{scope}" in words:
            words.remove(f"--{scope}")
            keep = scope
    effect = _WORDS.get(words[0]) if words else None
    if effect is None or len(words) < 2:
        host.notice("warning", _ADD)
        return
    host.notice("info", await host.backend.house.keeping.add_rule(effect, " ".join(words[1:]), keep))


def _log(host: CommandHost) -> str:
    recent = host.backend.rulings.recent()
    if not recent:
        return "Nothing was decided yet in this run."
    return columns([(f"{one.at}  {one.decision}", f"{one.call}  ({one.by})") for one in reversed(recent)])


async def _verbs(_host: CommandHost, typed: str) -> Sequence[str]:
    if typed.startswith("add "):
        return [f"add {word}" for word in _WORDS]
    return _VERBS


async def _add_dir(host: CommandHost, args: str) -> None:
    host.notice("info", await host.backend.house.keeping.add_folder(args))


async def _cd(host: CommandHost, args: str) -> None:
    host.notice("info", await host.backend.house.keeping.change_folder(args))


async def _folders(host: CommandHost, _typed: str) -> Sequence[str]:
    return host.backend.house.keeping.folders()


async def _login(host: CommandHost, args: str) -> None:
    keeping = host.backend.house.keeping
    views = {view.provider: view for view in await keeping.keys()}
    provider = args or await host.pick(
        "Whose key", [Choice(v.provider, v.provider, v.source or "no key yet") for v in views.values()]
    )
    if provider is None:
        return
    if provider not in views:
        host.notice(
            "warning", f"No provider {provider!r} takes a key{did_you_mean(provider, views, end='.')}"
        )
        return
    message = f"Paste the API key. It is kept in the keyring or in a file only you can read. {views[provider].variable} in the environment would win over it."
    key = await host.ask_secret(f"Key of {provider}", message)
    if key is None:
        host.notice("info", "No key was kept.")
        return
    said = await keeping.store_key(provider, key)
    if host.backend.status().provider != provider:
        said += f" /model {provider}:NAME asks it, /config model.provider {provider} makes it the default."
    host.notice("info", said)


async def _logout(host: CommandHost, args: str) -> None:
    keeping = host.backend.house.keeping
    stored = [view for view in await keeping.keys() if view.source]
    provider = args or await host.pick(
        "Forget the key of",
        [Choice(view.provider, view.provider, view.source) for view in stored],
        empty="No key is known.",
    )
    if provider is not None:
        host.notice("info", await keeping.forget_key(provider))


async def _providers(host: CommandHost, _typed: str) -> Sequence[str]:
    return [view.provider for view in await host.backend.house.keeping.keys()]


def keeping_commands() -> list[Command]:
    """Give the commands, in the order of the list."""
    return [
        Command(
            "permissions",
            "rules and grants; test what a command needs; add, remove, reset, log",
            _permissions,
            aliases=("approvals", "allowed-tools", "policies"),
            usage="[test COMMAND | add | remove | reset | log]",
            while_busy=True,
            complete=_verbs,
        ),
        Command(
            "add-dir",
            "count a folder outside the project as part of this run",
            _add_dir,
            aliases=("directory",),
            usage="PATH",
            needs_args=True,
        ),
        Command(
            "cd", "the folder in which commands run", _cd, aliases=("cwd",), usage="[path]", complete=_folders
        ),
        Command(
            "login",
            "keep the key of a provider",
            _login,
            aliases=("auth", "connect"),
            usage="[provider]",
            complete=_providers,
        ),
        Command("logout", "forget the key of a provider", _logout, usage="[provider]", complete=_providers),
    ]
