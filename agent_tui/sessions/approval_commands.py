"""The `approvals` subcommand: list, show, allow or deny what a deferred turn waits for."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from agent_tui.protocol.arguments import ArgumentParser
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.errors import AgentTuiError, SessionInUseError
from agent_tui.protocol.json_text import parse_json
from agent_tui.sessions.approvals import Answerer, ApprovalKey
from agent_tui.sessions.deferred import Waiting, answer, find_waiting, waiting
from agent_tui.sessions.store import SessionStore

IN_USE = 75
CHILD_VARIABLE = "AGENT_TUI_CHILD"
_MAX_ARGS_BYTES = 10_000_000


def at_terminal() -> bool:
    """Tell whether a person may be typing: input that comes from elsewhere is a program's."""
    return os.isatty(0)


def main(
    arguments: Sequence[str],
    *,
    root: Path,
    keys: Path,
    say: Callable[[str], None] = print,
    is_person: Callable[[], bool] = at_terminal,
) -> int:
    """Run the subcommand for the sessions below `root` with the key in the folder `keys`; give the exit code.

    An answer is signed as a person's or as a program's, as `is_person` tells.
    Refuses to decide anything for a program that agent-tui started: an agent cannot approve itself.
    """
    options = parser().parse_args(arguments)
    store = SessionStore(root)
    try:
        if options.action in ("allow", "deny"):
            by: Answerer = "person" if is_person() else "program"
            return _decide(store, ApprovalKey(keys), options, say, by=by)
        if options.action == "show":
            say(_described(find_waiting(store, str(options.id))))
            return 0
        found = list(waiting(store))
        for item in found:
            say(_line(item))
        if not found:
            say("Nothing waits for approval.")
    except SessionInUseError as error:
        print(error, file=sys.stderr)
        return IN_USE
    except BrokenPipeError:  # the reader of the output had enough
        raise
    except (AgentTuiError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _decide(
    store: SessionStore,
    key: ApprovalKey,
    options: argparse.Namespace,
    say: Callable[[str], None],
    *,
    by: Answerer,
) -> int:
    if os.environ.get(CHILD_VARIABLE):
        print("Refused: a command that agent-tui runs cannot approve anything.", file=sys.stderr)
        return 1
    item = find_waiting(store, str(options.id))
    allow = options.action == "allow"
    response = key.answer(
        item.request,
        session_id=item.session_id,
        turn_id=item.turn_id,
        cwd=item.workspace,
        allow=allow,
        edited_arguments=_edited(options) if allow else None,
        feedback=str(options.reason),
        reason=by,
    )
    asyncio.run(answer(store, item, response))
    say(
        f"{'Allowed' if allow else 'Denied'} {_line(item)}\nGo on with: agent-tui -p --resume {item.session_id}"
    )
    return 0


def _edited(options: argparse.Namespace) -> JsonObject | None:
    if not options.args_file:
        return None
    try:
        with Path(options.args_file).open("rb") as file:
            data = file.read(_MAX_ARGS_BYTES + 1)  # a device tells no size and may have no end
        if len(data) > _MAX_ARGS_BYTES:
            raise AgentTuiError(f"{options.args_file}: holds more than {_MAX_ARGS_BYTES:,} bytes")
        value = parse_json(data)
    except OSError as error:
        raise AgentTuiError(f"{options.args_file}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise AgentTuiError(f"{options.args_file}: is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise AgentTuiError(f"{options.args_file}: the arguments must be a JSON object")
    return cast("JsonObject", value)


def _line(item: Waiting) -> str:
    state = "answered" if item.answered else "waits"
    request = item.request
    return f"{request.call_id}  {state}  {request.display_name or request.tool}: {request.title or request.arguments_json}"


def _described(item: Waiting) -> str:
    request = item.request
    lines = [
        _line(item),
        f"session    {item.session_id}",
        f"directory  {item.workspace}",
        f"arguments  {request.arguments_json}",
        *(f"needs      {p.kind} {p.target} ({p.risk} risk) {p.reason}".rstrip() for p in request.permissions),
    ]
    return "\n".join([*lines, *([request.preview.content] if request.preview else [])])


def parser() -> ArgumentParser:
    """Give the parser of `agent-tui approvals`."""
    made = ArgumentParser(prog="agent-tui approvals", description="Answer deferred approvals.")
    actions = made.add_subparsers(dest="action", metavar="ACTION")
    made.set_defaults(action="list")
    actions.add_parser("list", help="List what waits.")
    actions.add_parser("show", help="Show one with its preview.").add_argument("id")
    for name, text in (("allow", "Allow a call, once."), ("deny", "Deny a call.")):
        action = actions.add_parser(name, help=text)
        action.add_argument("id")
        action.add_argument("--reason", default="", help="words for the model")
        if name == "allow":
            action.add_argument("--args-file", default="", help="run with the arguments in this JSON file")
    return made
