"""Completes command lines in a shell: flags, subcommands, their flags and choices."""

import argparse
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import cast

import click

from agent_tui.subcommands.commands import COMMANDS
from agent_tui.subcommands.root import root_command

_SAME_FLAGS = {
    "exec": "Answer a prompt and end, as -p does.",
    "run": "Answer a prompt and end, as -p does.",
    "resume": "Open an earlier session.",
}


def complete(variable: str) -> int:
    """Print what may stand where the cursor of the shell is.

    Its words are in the environment, and `variable` names the one that holds which shell it is, such as bash_complete.
    """
    command_tree().main([], prog_name="agent-tui", complete_var=variable, standalone_mode=False)
    return 0


def command_tree() -> click.Group:
    """Give everything that can be typed as one tree. It is for completion: running it does nothing."""
    flags = [one for one in root_command(lambda _options: 0).params if isinstance(one, click.Option)]
    same = {name: click.Command(name, params=[*flags], help=text) for name, text in _SAME_FLAGS.items()}
    plain = {name: ParserGroup(name, load, text) for name, (load, text) in _PLAIN.items()}
    return click.Group("agent-tui", params=[*flags], commands={**COMMANDS, **same, **plain})


class ParserGroup(click.Group):
    """A subcommand that argparse reads. Its parser is made when the shell asks about it, not for its name."""

    def __init__(self, name: str, load: Callable[[], argparse.ArgumentParser], text: str) -> None:
        super().__init__(name, help=text)
        self._load = load

    @cached_property
    def _parsers(self) -> Mapping[str, argparse.ArgumentParser]:
        subparsers = next(one for one in _actions(self._load()) if one.nargs == argparse.PARSER)
        return cast("dict[str, argparse.ArgumentParser]", subparsers.choices)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the names of the actions, as the help lists them."""
        return list(self._parsers)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Give an action as click would have it, None when there is none."""
        parser = self._parsers.get(cmd_name)
        if parser is None:
            return None
        params = [_parameter(action) for action in _actions(parser) if action.dest != "help"]
        return click.Command(cmd_name, params=params, help=parser.description)


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # pyright: ignore[reportPrivateUsage]  # argparse has no public list of them


def _parameter(action: argparse.Action) -> click.Parameter:
    kind = click.Choice([str(one) for one in action.choices]) if action.choices else None
    if not action.option_strings:
        return click.Argument([action.dest], type=kind, nargs=-1 if action.nargs in ("*", "+") else 1)
    flags = list(action.option_strings)
    return click.Option([*flags, action.dest], type=kind, is_flag=action.nargs == 0, help=action.help)


def _approvals() -> argparse.ArgumentParser:
    from agent_tui.sessions.approval_commands import parser

    return parser()


def _mcp() -> argparse.ArgumentParser:
    from agent_tui.extensions.mcp.commands import parser

    return parser()


def _permissions() -> argparse.ArgumentParser:
    from agent_tui.permissions.commands import parser

    return parser()


def _sessions() -> argparse.ArgumentParser:
    from agent_tui.sessions.commands import parser

    return parser()


_PLAIN: Mapping[str, tuple[Callable[[], argparse.ArgumentParser], str]] = {
    "approvals": (_approvals, "Answer deferred approvals."),
    "mcp": (_mcp, "MCP servers: programs that offer tools."),
    "permissions": (_permissions, "Show, test and change permissions."),
    "sessions": (_sessions, "Look after stored sessions."),
}
