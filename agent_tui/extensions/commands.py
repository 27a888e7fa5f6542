"""Finds the slash commands that people describe in markdown files."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.extensions.command_text import MAX_SHELL_LINES, pieces
from agent_tui.extensions.front_matter import Document, Fault, Unreadable, read_document
from agent_tui.extensions.places import Folder
from agent_tui.extensions.skills import MAX_BODY_CHARS, MAX_DESCRIPTION_CHARS, checked_place

MAX_COMMANDS = 500
MAX_DEPTH = 3
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SAME_MODEL = frozenset({"", "inherit", "default", "sonnet", "opus", "haiku"})
_KEYS = frozenset({"description", "argument-hint", "allowed-tools", "model", "name"})


@dataclass(frozen=True)
class CommandFile:
    """A custom command. `name` is its path below the folder, `:` between folders; `origin` "project" or "user".

    `allowed_tools` are allow rules for the turn it begins, from `rules_line`; `model` "" is the one in use.
    """

    name: str
    description: str
    path: Path
    origin: str
    body: str
    argument_hint: str = ""
    allowed_tools: tuple[str, ...] = ()
    rules_line: int = 0
    model: str = ""

    @property
    def runs_shell(self) -> bool:
        """Whether its text holds shell lines."""
        return any(piece.is_shell for piece in pieces(self.body, ""))


@dataclass(frozen=True)
class FoundCommands:
    """What the folders hold, nearest first; a name may stand twice. `faults` is what is wrong with the others."""

    commands: tuple[CommandFile, ...]
    faults: tuple[Fault, ...]


class CommandLibrary:
    """The commands of some folders, looked up anew at each call.

    `project_counts` says whether the project's do; without `shell` those that run shell lines do not count.
    """

    def __init__(
        self, folders: Sequence[Folder], *, project_counts: Callable[[], bool], shell: bool = True
    ) -> None:
        self._folders = tuple(folders)
        self._project_counts = project_counts
        self._shell = shell

    def find(self) -> FoundCommands:
        """Look through the folders. A command that cannot be used costs only itself. Reads files."""
        commands: list[CommandFile] = []
        faults: list[Fault] = []
        project = self._project_counts()
        for folder in self._folders:
            if folder.origin == "project" and not project:
                continue
            for name, path in _files(folder.path):
                try:
                    checked_place(path, folder)
                    document = read_document(path, needs_head=False)
                    command = _command(name, document, folder)
                except Unreadable as error:
                    faults.append(error.fault)
                    continue
                if self._shell or not command.runs_shell:
                    commands.append(command)
                    faults += [*document.faults, *_unknown(document)]
        return FoundCommands(tuple(commands[:MAX_COMMANDS]), tuple(faults))


def _files(folder: Path, prefix: str = "", depth: int = 1) -> Iterator[tuple[str, Path]]:
    """Give the name and path of every markdown file, by name, subfolders after their neighbours."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: (entry.is_dir(), entry.name))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth < MAX_DEPTH:
                yield from _files(Path(entry.path), f"{prefix}{entry.name}:", depth + 1)
        elif entry.name.endswith(".md"):
            yield f"{prefix}{entry.name.removesuffix('.md')}", Path(entry.path)


def _command(name: str, document: Document, folder: Folder) -> CommandFile:
    """Check what a command must have. Raises Unreadable."""
    path, values = document.path, document.values
    if not all(_NAME.fullmatch(part) for part in name.split(":")):
        raise Unreadable(
            path, 0, f"the name {name[:64]!r} must be letters, digits, - and _, 64 characters at most"
        )
    if not document.body.strip():
        raise Unreadable(path, 0, "there is no text: it is what the command sends")
    if len(document.body) > MAX_BODY_CHARS:
        raise Unreadable(path, 0, f"the text is longer than {MAX_BODY_CHARS:,} characters")
    lines = sum(piece.is_shell for piece in pieces(document.body, ""))
    if lines > MAX_SHELL_LINES:
        raise Unreadable(path, 0, f"it holds {lines} shell lines; {MAX_SHELL_LINES} are the most")
    model = values.get("model", "")
    return CommandFile(
        name=name.lower(),
        description=_description(document),
        path=path,
        origin=folder.origin,
        body=document.body,
        argument_hint=" ".join(values.get("argument-hint", "").split())[:80],
        allowed_tools=document.rules("allowed-tools"),
        rules_line=document.lines.get("allowed-tools", 0),
        model="" if model.lower() in _SAME_MODEL else model,
    )


def _description(document: Document) -> str:
    """Give the description, or the first line of the text."""
    said = document.values.get("description", "") or document.body.strip().split("\n", 1)[0].lstrip("# ")
    return " ".join(said.split())[:MAX_DESCRIPTION_CHARS]


def _unknown(document: Document) -> list[Fault]:
    return [
        Fault(document.path, line, f"the key {key!r} means nothing here")
        for key, line in document.lines.items()
        if key not in _KEYS
    ]
