"""The `sessions` subcommand: list, show, search, export, import, rename, delete, gc, verify, fork."""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from agent_tui.protocol.arguments import ArgumentParser
from agent_tui.protocol.errors import AgentTuiError, SessionInUseError
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.sessions import upkeep
from agent_tui.sessions.export import to_html, to_markdown
from agent_tui.sessions.frames import active_path, dumps
from agent_tui.sessions.imports import records_from
from agent_tui.sessions.info import SessionInfo, read_info
from agent_tui.sessions.replay import blocks_of
from agent_tui.sessions.store import SessionStore
from agent_tui.sessions.tree import points

IN_USE = 75


def main(
    arguments: Sequence[str],
    *,
    root: Path,
    workspace: Path | None = None,
    redact: Callable[[str], str] | None = None,
    say: Callable[[str], None] = print,
) -> int:
    """Run the subcommand for the sessions below `root`; give the exit code: 0, 1 damage or failure, 75 in use."""
    options = parser().parse_args(arguments)
    command = _Commands(SessionStore(root, redact=redact), workspace or Path.cwd(), options, say)
    try:
        return command.run()
    except SessionInUseError as error:
        print(error, file=sys.stderr)
        return IN_USE
    except BrokenPipeError:  # the reader of the output had enough
        raise
    except AgentTuiError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{where}{error.strerror or error}", file=sys.stderr)
        return 1


class _Commands:
    """One run of the subcommand."""

    def __init__(
        self, store: SessionStore, workspace: Path, options: argparse.Namespace, say: Callable[[str], None]
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._options = options
        self._say = say

    def run(self) -> int:
        """Do what was asked for."""
        match self._options.action:
            case "show":
                return self._show()
            case "search":
                return self._search()
            case "export":
                return self._export()
            case "import":
                return self._import()
            case "rename":
                return asyncio.run(self._rename())
            case "delete":
                return self._delete()
            case "fork":
                return self._fork()
            case "gc":
                return self._gc()
            case "verify":
                return self._verify()
            case _:
                return self._list()

    def _list(self) -> int:
        everywhere = bool(self._options.all)
        infos = self._store.list(None if everywhere else self._workspace)
        for info in infos:
            self._say(_line(info, with_workspace=everywhere))
        if not infos:
            self._say(
                "There are no sessions." if everywhere else "There are no sessions here; --all lists all."
            )
        return 0

    def _show(self) -> int:
        info, blocks = self._read()
        self._say(to_markdown(info, blocks).rstrip())
        return 0

    def _search(self) -> int:
        text = " ".join(self._options.text)
        found = self._store.search(text, None if self._options.all else self._workspace)
        for hit in found:
            self._say(f"{_line(hit.info, with_workspace=bool(self._options.all))}\n    {hit.snippet}")
        if not found:
            self._say(f"No session holds {text!r}.")
        return 0 if found else 1

    def _export(self) -> int:
        kind, output = str(self._options.format), str(self._options.output or "")
        target = Path(output)
        if output:
            self._store.refuse_inside(target)
        if kind == "jsonl":
            parts = map(dumps, self._store.whole_records(self._id()))
        else:
            info, blocks = self._read()
            text = to_html(info, blocks) if kind == "html" else to_markdown(info, blocks)
            parts = iter([text.rstrip("\n")])
        if not output:
            for part in parts:
                self._say(part)
            return 0
        first = next(parts, "")  # what cannot be read leaves the file as it is
        with target.open("w", encoding="utf-8") as file:
            file.writelines(f"{part}\n" for part in chain([first], parts) if part)
        self._say(f"{target}")
        return 0

    def _import(self) -> int:
        path = Path(self._options.file)
        records, name = records_from(path)
        session_id = self._store.write_whole(self._workspace, records, name=name, origin=str(path))
        self._say(f"{session_id}  {len(records)} records imported")
        return 0

    async def _rename(self) -> int:
        session = self._store.open(self._id())
        try:
            await session.rename(" ".join(self._options.name))
        finally:
            session.close()
        return 0

    def _delete(self) -> int:
        info = read_info(self._store.path_of(self._id()))
        if not self._options.yes:
            self._say(f"This removes {info.title!r} ({_turns(info.turns)}) for good; repeat with --yes.")
            return 1
        upkeep.delete(self._store, info.session_id)
        self._say(f"Removed {info.title!r}.")
        return 0

    def _fork(self) -> int:
        session_id, entry = self._id(), str(self._options.at)
        outline = self._store.outline(session_id)
        records = self._store.read(session_id).records if entry else []
        prompts = {point.entry_id: point for point in points(records)}
        if entry and entry not in prompts:
            known = "\n".join(f"  {point.entry_id}  {point.title}" for point in prompts.values())
            self._say(f"There is no prompt {entry!r}; there are:\n{known}")
            return 1
        path = outline.path(prompts[entry].before if entry else None)
        name = str(self._options.name)
        self._say(self._store.copy(self._workspace, outline, path, name=name, origin=session_id))
        return 0

    def _gc(self) -> int:
        days, sure = self._options.older_than, bool(self._options.yes)
        old = upkeep.older_than(self._store.list(), float(days)) if days is not None else []
        for info in old:
            self._say(f"{'removed' if sure else 'would remove'}  {_line(info, with_workspace=True)}")
            if sure:
                upkeep.delete(self._store, info.session_id)
        removed = upkeep.collect_garbage(self._store, dry_run=not sure)
        self._say(
            f"{len(old)} sessions, {removed.blobs} stored texts ({removed.size_bytes:,} bytes) and "
            f"{removed.leftovers} leftovers {'were removed' if sure else 'would be removed; repeat with --yes'}."
        )
        return 0

    def _verify(self) -> int:
        wanted = [self._store.path_of(self._id())] if self._options.session else list(self._store.paths())
        damaged = 0
        for path in wanted:
            found = upkeep.verify(path, self._store.blobs)
            damaged += bool(found)
            self._say(f"{path.stem}  {'sound' if not found else 'damaged'}")
            for sentence in found:
                self._say(f"    {sentence}")
        return 1 if damaged else 0

    def _read(self) -> tuple[SessionInfo, list[ReplayBlock]]:
        session_id = self._id()
        frames = self._store.read(session_id)
        blocks = blocks_of(active_path(frames.records), self._store.blobs)
        return read_info(self._store.path_of(session_id)), blocks

    def _id(self) -> str:
        return self._store.find(str(self._options.session), self._workspace)


def _line(info: SessionInfo, *, with_workspace: bool) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.changed_at))
    where = f"  {info.workspace}" if with_workspace else ""
    return f"{info.session_id}  {when}  {_turns(info.turns):>10}  {info.title}{where}"


def parser() -> ArgumentParser:
    """Give the parser of `agent-tui sessions`."""
    made = ArgumentParser(prog="agent-tui sessions", description="Look after stored sessions.")
    actions = made.add_subparsers(dest="action", metavar="ACTION")
    made.set_defaults(action="list", all=False)

    def add(name: str, text: str, *, session: bool = False) -> ArgumentParser:
        action = actions.add_parser(name, help=text, description=text)
        if session:
            action.add_argument("session", metavar="ID|NAME")
        return action

    for name, text in (
        ("list", "List the sessions of this directory."),
        ("search", "Search the sessions' text."),
    ):
        action = add(name, text)
        action.add_argument("--all", action="store_true", help="of all directories")
        if name == "search":
            action.add_argument("text", nargs="+")
    add("show", "Print a session as Markdown.", session=True)
    export = add("export", "Write a session as Markdown, HTML or JSONL.", session=True)
    export.add_argument("--format", choices=("md", "html", "jsonl"), default="md")
    export.add_argument("-o", "--output", default="", metavar="FILE")
    add("import", "Import a session of agent-tui (JSONL), Claude Code, Codex or opencode.").add_argument(
        "file"
    )
    add("rename", "Name a session.", session=True).add_argument("name", nargs="+")
    delete = add("delete", "Remove a session for good.", session=True)
    delete.add_argument("--yes", action="store_true")
    fork = add("fork", "Copy a session, whole or up to a prompt.", session=True)
    fork.add_argument("--at", default="", metavar="ENTRY", help="the prompt before which the copy ends")
    fork.add_argument("--name", default="")
    gc = add("gc", "Remove what no session needs; with --older-than also old sessions.")
    gc.add_argument("--older-than", type=float, default=None, metavar="DAYS")
    gc.add_argument("--yes", action="store_true", help="remove; without it only say what would be removed")
    add("verify", "Check session files and name the damage.").add_argument(
        "session", metavar="ID|NAME", nargs="?"
    )
    return made


def _turns(number: int) -> str:
    return "1 turn" if number == 1 else f"{number} turns"
