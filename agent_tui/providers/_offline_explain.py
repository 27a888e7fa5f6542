"""How the offline model explains a project or a file: it reads what describes it and reports what stands there."""

import re
import tomllib
from typing import cast

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.toml_text import parse_toml
from agent_tui.providers import _offline_say as say
from agent_tui.providers._offline_plans import Plan, entry_names, last
from agent_tui.providers._offline_turn import Answered, Step, Turn

_READMES = ("README.md", "README.rst", "README.txt", "README", "readme.md")
_MANIFESTS = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile", "AGENTS.md", "CLAUDE.md")
_MAX_MANIFESTS = 4
_OUTLINE = re.compile(
    r"^\s*(?:(?:export|pub|async|static|public|default)\s+)*(?:def|class|fn|func|function|struct|trait|interface)\s+\w+"
)


def explain_project(turn: Turn) -> Step:
    """List the project, read what describes it, report what the tools returned."""
    if not turn.rounds:
        return Step(
            thinking=(
                "The person wants to know what this project is. I am no language model, so I do not guess: I list "
                "the folder, read the files that describe it and report what stands there."
            ),
            text="I look at the folder first.",
            calls=(("list", {"path": ".", "depth": 2}),),
        )
    listing = turn.rounds[0][0]
    if not listing.ok:
        return Step(text=say.refused(listing, what="Listing the project"))
    names = entry_names(listing.output)
    wanted = _describing(names)
    if len(turn.rounds) == 1 and wanted:
        return Step(
            thinking=f"These describe the project: {', '.join(wanted)}. I read them in one round.",
            text=f"I read {', '.join(say.code(name) for name in wanted)}.",
            calls=tuple(("read", {"file_path": name}) for name in wanted),
        )
    return Step(text=_report(listing, turn.rounds[1] if len(turn.rounds) > 1 else ()))


def _describing(names: set[str]) -> list[str]:
    readme = [name for name in _READMES if name in names][:1]
    return readme + [name for name in _MANIFESTS if name in names][:_MAX_MANIFESTS]


def _report(listing: Answered, reads: tuple[Answered, ...]) -> str:
    parts = [_about(done) for done in reads]
    if not reads:
        parts.append("I found no README and no project file, so all I can show is the folder itself.")
    parts.append(f"**The folder**\n\n{say.fenced(listing.output, max_lines=40)}")
    return "\n\n".join(parts)


def _about(done: Answered) -> str:
    path = done.argument("file_path")
    if not done.ok:
        return say.refused(done, what=f"Reading {say.code(path)}")
    text = done.file_text
    match path.rsplit(".", 1)[-1].lower():
        case "toml":
            facts = _toml_facts(text)
        case "json":
            facts = _json_facts(text)
        case "md" | "rst" | "txt" | "readme":
            return f"**{path}** says:\n\n{_quoted(_first_words(text))}"
        case _ if path == "Makefile":
            targets = re.findall(r"^([A-Za-z][\w.-]*):(?!=)", text, re.MULTILINE)
            facts = (
                [f"targets: {', '.join(say.code(name) for name in dict.fromkeys(targets))}"]
                if targets
                else []
            )
        case _:
            facts = []
    if not facts:
        return f"**{path}** begins:\n\n{say.fenced(text, max_lines=12)}"
    return f"**{path}**\n\n" + "\n".join(f"* {fact}" for fact in facts)


def _first_words(text: str) -> str:
    """The title and the first paragraph of a README, without badges."""
    paragraphs = [block.strip() for block in re.split(r"\n\s*\n", text) if block.strip()]
    words = [block for block in paragraphs if not re.match(r"[!\[]+.*badge|<|```", block, re.IGNORECASE)]
    return "\n\n".join(words[:2]) or "(nothing)"


def _quoted(text: str) -> str:
    return "\n".join(
        f"> {line.lstrip('#').strip() if line.startswith('#') else line}" for line in text.split("\n")
    )


def _toml_facts(text: str) -> list[str]:
    try:
        data = cast(JsonObject, parse_toml(text))
    except tomllib.TOMLDecodeError:
        return []
    about = _table(data, "project") or _table(data, "package") or _table(_table(data, "tool"), "poetry")
    facts = _fields(about, ("name", "version", "description", "requires-python", "edition", "license"))
    for key, label in (("scripts", "commands"), ("dependencies", "needs")):
        facts.extend(_names(about.get(key), label))
    if not about.get("dependencies"):
        facts.extend(_names(data.get("dependencies"), "needs"))
    return facts


def _json_facts(text: str) -> list[str]:
    try:
        parsed: object = parse_json(text)
    except ValueError:
        return []
    data = cast(JsonObject, parsed) if isinstance(parsed, dict) else {}
    facts = _fields(data, ("name", "version", "description", "license", "main"))
    return facts + _names(data.get("scripts"), "scripts") + _names(data.get("dependencies"), "needs")


def _table(data: JsonObject, key: str) -> JsonObject:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _fields(data: JsonObject, keys: tuple[str, ...]) -> list[str]:
    return [f"{key}: {data[key]}" for key in keys if isinstance(data.get(key), str | int | float)]


def _names(value: object, label: str) -> list[str]:
    """Name what a list or table of dependencies or scripts holds, at most twelve."""
    if isinstance(value, dict):
        names = [str(key) for key in cast("dict[object, object]", value)]
    elif isinstance(value, list):
        names = [re.split(r"[\s<>=!~;\[(]", str(item), maxsplit=1)[0] for item in cast("list[object]", value)]
    else:
        return []
    shown = ", ".join(say.code(name) for name in names[:12])
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return [f"{label}: {shown}{more}"] if names else []


def explain_file(path: str) -> Plan:
    """Read one file and show how it begins and what it defines."""

    def step(turn: Turn) -> Step:
        if not turn.rounds:
            return Step(
                thinking=f"I read {path!r} and show its outline; what it means I cannot tell.",
                text=f"I read {say.code(path)}.",
                calls=(("read", {"file_path": path}),),
            )
        done = last(turn)
        if not done.ok:
            return Step(text=say.refused(done, what=f"Reading {say.code(path)}"))
        text = done.file_text
        outline = [line.rstrip() for line in text.split("\n") if _OUTLINE.match(line)]
        body = f"{say.code(path)}, {say.count(text.count(chr(10)) + 1, 'line')} read, begins:\n\n{say.fenced(text, max_lines=12)}"
        if outline:
            body += f"\n\nIt defines:\n\n{say.fenced(chr(10).join(outline), max_lines=40)}"
        return Step(text=body)

    return step
