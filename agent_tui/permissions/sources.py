"""Reads the rules of settings files, each with its file and line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agent_tui.permissions.grammar import Layer, Origin, Rule, RuleError, parse_rule
from agent_tui.permissions.rules import RuleBook, RuleProblem
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.permissions import Decision
from agent_tui.protocol.small_file import read_small
from agent_tui.protocol.toml_text import TomlFault, parse_toml

_EFFECTS = (Decision.DENY, Decision.ASK, Decision.ALLOW)
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A settings file that may hold rules. `base` is what `/x` in its patterns is relative to.

    The allow rules of one that `tightens_only` do not count.
    """

    path: Path
    layer: Layer
    base: Path
    tightens_only: bool = False


def project_files(project: Path) -> list[RuleFile]:
    """Give the settings files of a project, the private one last. `/x` in them is relative to the project."""
    folder = project / ".agent-tui"
    return [RuleFile(folder / name, Layer.PROJECT, project) for name in ("config.toml", "config.local.toml")]


def user_file(config_dir: Path) -> RuleFile:
    """Give the user's settings file. `/x` in it is relative to its folder."""
    return RuleFile(config_dir / "config.toml", Layer.USER, config_dir)


def load_book(
    files: Sequence[RuleFile], *, extra: Sequence[Rule] = (), trusted: bool = False, profile: str = ""
) -> RuleBook:
    """Read all files; what cannot be read becomes a problem, and with one nothing is allowed without a person.

    A rule that is wrong is a problem as well: a denial that was meant must not be lost in silence. The lists of a
    `profile` count besides those of its file.
    """
    rules: list[Rule] = list(extra)
    problems: list[RuleProblem] = []
    for file in files:
        for item in read_rules(file, profile=profile):
            if isinstance(item, Rule):
                if item.effect is not Decision.ALLOW or not file.tightens_only:
                    rules.append(item)
            else:
                problems.append(item)
    return RuleBook(rules, problems=problems, trusted=trusted)


def read_rules(file: RuleFile, *, profile: str = "") -> Iterator[Rule | RuleProblem]:
    """Give the rules and problems of one file, those of a profile of it last; nothing when there is no such file."""
    try:
        text = read_small(file.path)
    except FileNotFoundError:
        return
    except ValueError as error:
        yield RuleProblem(str(error), str(file.path))
        return
    try:
        table = _parse(text, is_json=file.path.suffix == ".json")
    except TomlFault as error:
        yield RuleProblem(f"not valid TOML: {error.reason}", str(file.path), error.line)
        return
    except ValueError as error:
        yield RuleProblem(f"not valid JSON: {error}", str(file.path), _line_in(str(error)))
        return
    lines = _Lines(text)
    yield from _from_table(table, lines, file)
    if profile:
        yield from _from_table(_inner(_inner(table, "profiles"), profile), lines, file)


def _inner(table: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Give a table in a table, an empty one when it is none: the reader of settings says what is wrong."""
    found = table.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, dict) else {}


def _parse(text: str, *, is_json: bool) -> Mapping[str, object]:
    """Parse TOML or JSON. Raises ValueError that names line and column."""
    if not is_json:
        return parse_toml(text)
    value: object = parse_json(text) if text.strip() else {}
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return cast("Mapping[str, object]", value)


def _line_in(message: str) -> int:
    match = re.search(r"line (\d+)", message)
    return int(match[1]) if match else 0


def _from_table(table: Mapping[str, object], lines: "_Lines", file: RuleFile) -> Iterator[Rule | RuleProblem]:
    section = table.get("permissions", {})
    if not isinstance(section, dict):
        yield RuleProblem("[permissions] is not a table", str(file.path))
        return
    for effect in _EFFECTS:
        listed = cast("Mapping[str, object]", section).get(effect.value, [])
        if not isinstance(listed, list):
            yield RuleProblem(
                f"permissions.{effect} is not a list of rules", str(file.path), lines.of_key(effect)
            )
            continue
        for entry in cast("list[object]", listed):
            yield _rule(entry, effect, lines, file)


def _rule(entry: object, effect: Decision, lines: "_Lines", file: RuleFile) -> Rule | RuleProblem:
    if not isinstance(entry, str):
        return RuleProblem(
            f"{entry!r} in permissions.{effect} is not a rule", str(file.path), lines.of_key(effect)
        )
    line = lines.of_rule(effect, entry)
    try:
        return parse_rule(entry, effect, Origin(file.layer, file.base, str(file.path), line))
    except RuleError as error:
        return RuleProblem(str(error), str(file.path), line)


class _Lines:
    """Finds the 1-based line on which a rule stands."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._taken: set[tuple[int, str]] = set()

    def of_key(self, effect: Decision) -> int:
        """Give the line of `deny =` or `"deny":`; 0 when it is not found."""
        pattern = re.compile(rf"""\s*["']?{effect}["']?\s*[=:]""")
        return next((number for number, line in enumerate(self._lines, 1) if pattern.match(line)), 0)

    def of_rule(self, effect: Decision, rule: str) -> int:
        """Give the first line from the list's key on that holds the rule as a string and is not taken yet."""
        start = self.of_key(effect)
        for number, line in enumerate(self._lines, 1):
            if number >= start and (number, rule) not in self._taken and rule in _strings(line):
                self._taken.add((number, rule))
                return number
        return start


def _strings(line: str) -> Iterator[str]:
    for match in _STRING.finditer(line):
        raw = match[0]
        try:
            yield raw[1:-1] if raw[0] == "'" else str(parse_json(raw))
        except ValueError:
            yield raw[1:-1]


def claude_files(project: Path, home: Path) -> list[RuleFile]:
    """Give the settings files of Claude Code whose permission lists can be imported, those that exist."""
    places = [
        RuleFile(home / ".claude/settings.json", Layer.USER, home),
        RuleFile(project / ".claude/settings.json", Layer.PROJECT, project),
        RuleFile(project / ".claude/settings.local.json", Layer.PROJECT, project),
    ]
    return [file for file in places if file.path.is_file()]
