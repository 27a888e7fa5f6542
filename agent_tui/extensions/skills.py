"""Finds skills, lists them, and gives the text of one when it is asked for."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.extensions.front_matter import Document, Fault, Unreadable, read_document
from agent_tui.extensions.places import Folder
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.toolkit.context import SkillInfo

SKILL_FILE = "SKILL.md"
MAX_BODY_CHARS = 256_000
MAX_SIBLINGS = 50
MAX_DESCRIPTION_CHARS = 1_024
MAX_NAME_CHARS = 64
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ARGUMENTS = "$ARGUMENTS"


@dataclass(frozen=True)
class Skill:
    """One skill. `for_model` is False when only the person may call it; `origin` is "project" or "user".

    `allowed_tools` are allow rules for the turn that the person begins with it.
    """

    name: str
    description: str
    path: Path
    origin: str
    argument_hint: str = ""
    for_model: bool = True
    allowed_tools: tuple[str, ...] = ()
    rules_line: int = 0


@dataclass(frozen=True)
class FoundSkills:
    """What the folders hold: the skills, nearest first and one of each name, and what is wrong with the others."""

    skills: tuple[Skill, ...]
    faults: tuple[Fault, ...]


class SkillLibrary:
    """The skills of some folders, looked up anew at each call. Implements `toolkit.context.Skills`.

    Nothing of a skill is run: its body is text, and its scripts are run by tools that ask like for any other.
    """

    def __init__(self, folders: Sequence[Folder]) -> None:
        self._folders = tuple(folders)
        self._read: dict[Path, tuple[tuple[int, int], Document | Fault]] = {}

    @property
    def user_folders(self) -> tuple[Path, ...]:
        """The user's own folders: what lies beside a skill there may be read although it is outside the project."""
        return tuple(folder.path.resolve() for folder in self._folders if folder.origin == "user")

    def find(self) -> FoundSkills:
        """Look through the folders. A skill that cannot be used costs only itself."""
        skills: dict[str, Skill] = {}
        faults: list[Fault] = []
        for folder in self._folders:
            for path in _skill_files(folder.path):
                try:
                    document = self._document(path, folder)
                    skill = _skill(document, folder)
                except Unreadable as error:
                    faults.append(error.fault)
                    continue
                faults.extend(document.faults)
                skills.setdefault(skill.name, skill)
        return FoundSkills(tuple(skills.values()), tuple(faults))

    def all(self) -> Sequence[SkillInfo]:
        """List what the model may load, nearest folder first."""
        return [
            SkillInfo(name=skill.name, description=skill.description, path=str(skill.path))
            for skill in self.find().skills
            if skill.for_model
        ]

    def load(self, name: str, arguments: str) -> str:
        """Give a skill's body with its folder and its other files. Raises ToolError that lists the names there are."""
        skill, document = self._named(name)
        return _text(skill, document.body, arguments.strip())

    def _named(self, name: str) -> tuple[Skill, Document]:
        """Find one. Raises ToolError that lists the names there are."""
        found = self.find().skills
        skill = next((skill for skill in found if skill.name == name), None)
        if skill is None:
            names = [skill.name for skill in found]
            raise ToolError(f"No skill named {name!r}{did_you_mean(name, names, end='.')}")
        document = self._read[skill.path][1]
        if isinstance(document, Fault):
            raise ToolError(str(document))
        return skill, document

    def describe(self, name: str) -> str:
        """Give all there is to know of a skill, as markdown with its text last. Raises ToolError as `load` does."""
        skill, document = self._named(name)
        who = "the model and you" if skill.for_model else "only you, as /" + skill.name
        facts = [
            ("Description", skill.description),
            ("File", f"`{skill.path}` ({skill.origin})"),
            ("Called by", who),
            ("Arguments", skill.argument_hint),
            ("Rules when you call it", ", ".join(f"`{rule}`" for rule in skill.allowed_tools)),
            ("Other files", ", ".join(f"`{file}`" for file in _siblings(skill.path.parent)[0])),
            ("To look at", "; ".join(str(fault) for fault in document.faults)),
        ]
        lines = [f"* {label}: {text}" for label, text in facts if text]
        return "\n".join([f"# {skill.name}", "", *lines, "", "---", "", document.body.strip()])

    def _document(self, path: Path, folder: Folder) -> Document:
        """Read a skill's file, or take what was read when it has not changed. Raises Unreadable."""
        real = checked_place(path, folder)
        status = real.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._read.get(path)
        if known is None or known[0] != stamp:
            try:
                known = (stamp, read_document(path))
            except Unreadable as error:
                known = (stamp, error.fault)
            self._read[path] = known
        if isinstance(known[1], Fault):
            raise Unreadable(known[1].path, known[1].line, known[1].reason)
        return known[1]


def _skill_files(folder: Path) -> Iterator[Path]:
    """Give the SKILL.md of every direct subfolder, by name."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = folder / name / SKILL_FILE
        if not name.startswith(".") and os.path.lexists(path):
            yield path


def checked_place(path: Path, folder: Folder) -> Path:
    """Give where a file really is: a project's must not lead out of it. Raises Unreadable."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise Unreadable(path, 0, "leads nowhere") from error
    if folder.root is not None and not real.is_relative_to(folder.root.resolve()):
        raise Unreadable(path, 0, "leads out of the project")
    return real


def _skill(document: Document, folder: Folder) -> Skill:
    """Check what a skill must have. Raises Unreadable."""
    path = document.path
    name = document.values.get("name") or path.parent.name
    line = document.lines.get("name", 1)
    if len(name) > MAX_NAME_CHARS or not NAME.fullmatch(name):
        raise Unreadable(
            path,
            line,
            f"the name {name[:MAX_NAME_CHARS]!r} must be lower-case words joined by -, 64 characters at most",
        )
    description = " ".join(document.values.get("description", "").split())
    if not description:
        raise Unreadable(path, document.lines.get("description", 1), "the description is missing")
    if len(document.body) > MAX_BODY_CHARS:
        raise Unreadable(path, 0, f"the text is longer than {MAX_BODY_CHARS:,} characters")
    return Skill(
        name=name,
        description=description[:MAX_DESCRIPTION_CHARS],
        path=path,
        origin=folder.origin,
        argument_hint=document.values.get("argument-hint", ""),
        for_model=document.values.get("disable-model-invocation", "").lower() != "true",
        allowed_tools=document.rules("allowed-tools"),
        rules_line=document.lines.get("allowed-tools", 0),
    )


def _text(skill: Skill, body: str, arguments: str) -> str:
    text = body.replace(_ARGUMENTS, arguments)
    parts = [f"# Skill: {skill.name}", text]
    if arguments and _ARGUMENTS not in body:
        parts.append(f"Arguments: {arguments}")
    siblings, more = _siblings(skill.path.parent)
    if siblings:
        listed = "\n".join(f"- {name}" for name in siblings) + ("\n- ..." if more else "")
        parts.append(f"Other files in {skill.path.parent}:\n{listed}")
    return "\n\n".join(part for part in parts if part.strip())


def _siblings(folder: Path) -> tuple[list[str], bool]:
    """List the files beside a SKILL.md, by name, and tell whether there are more than are listed."""
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        found += [
            str((Path(place) / name).relative_to(folder))
            for name in sorted(files)
            if not name.startswith(".") and Path(place, name) != folder / SKILL_FILE
        ]
        if len(found) > MAX_SIBLINGS:
            return found[:MAX_SIBLINGS], True
    return found, False
