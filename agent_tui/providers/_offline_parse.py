"""Which plan of the offline model a prompt asks for, found by fixed patterns."""

import re
from collections.abc import Callable
from dataclasses import replace

from agent_tui.providers import _offline_plans as plans
from agent_tui.providers import _offline_say as say
from agent_tui.providers._offline_explain import explain_file, explain_project
from agent_tui.providers._offline_plans import Plan
from agent_tui.providers._offline_script import is_script, script
from agent_tui.providers._offline_tour import tour
from agent_tui.providers._offline_turn import GO_ON, Step, Turn

_QUOTED = r'"[^"]*"|\'[^\']*\'|`[^`]*`'
_PATH = rf"@?(?:{_QUOTED}|\S+)"
_PROJECT = r"(?:project|repo|repository|codebase|code|workspace|program|app)"
_FLAGS = re.IGNORECASE | re.DOTALL

_Make = Callable[[re.Match[str]], Plan]


def plan_for(prompt: str) -> Plan:
    """Give the plan for a prompt; an unknown one gets the plan that says so."""
    text = prompt.strip()
    if is_script(text):
        return script(text)
    for candidate in (text, text.split("\n", 1)[0].strip()):
        plan = _match(_polite(candidate))
        if plan is not None:
            return plan
    return plans.unknown(text)


def _go_on(turn: Turn) -> Step:
    """Do the work of the last prompt that was cut again, from its start."""
    if not turn.cut:
        return Step(text="Nothing is open: the last request was brought to its end.")
    step = plan_for(turn.cut)(replace(turn, prompt=turn.cut))
    if turn.rounds:
        return step
    return replace(step, text=f"{say.cut(turn.cut)}\n\n{step.text}".rstrip())


def _match(text: str) -> Plan | None:
    for pattern, make in _PATTERNS:
        found = re.fullmatch(pattern, text, _FLAGS)
        if found is not None:
            return make(found)
    return None


def _polite(text: str) -> str:
    """Drop what people say around a request; a final dot only when it ends no name or command."""
    text = re.sub(r"^(?:please|could you|can you|would you|now)[,\s]+", "", text, flags=re.IGNORECASE)
    return re.sub(r"[,\s]+please[.!]?$", "", text, flags=re.IGNORECASE).strip()


def _bare(text: str | None) -> str:
    """Take the quotes off."""
    text = (text or "").strip()
    return text[1:-1] if re.fullmatch(_QUOTED, text) else text


def _path(text: str | None) -> str:
    """Take the quotes off, and the `@` of a mention."""
    return _bare((text or "").strip().removeprefix("@")) or _bare(text)


def _replace(found: re.Match[str]) -> Plan:
    every = bool(found["all"] or found["everywhere"])
    return plans.replace(_path(found["file"]), _bare(found["old"]), _bare(found["new"]), every=every)


def _create(found: re.Match[str]) -> Plan:
    return plans.create(_path(found["file"]), _bare(found["text"]).replace("\\n", "\n"))


def _find(found: re.Match[str]) -> Plan:
    return plans.find(_bare(found["what"]), path=_path(found["path"]))


def _read(found: re.Match[str]) -> Plan:
    first, last = found["first"], found["last"]
    return plans.read(_path(found["file"]), first=int(first or 0), last=int(last or 0))


_PATTERNS: tuple[tuple[str, _Make], ...] = (
    (r"(?:help|\?|hi|hello|hey|hallo|thanks|thank you|what can you do)[.!?]*", lambda _: plans.help_text),
    (GO_ON, lambda _: _go_on),
    (r"(?:the )?tour|show me around|demo", lambda _: tour),
    (
        rf"(?:explain|describe|summari[sz]e|what is|what's|what does|overview(?: of)?|tell me about)\s+"
        rf"(?:this|the|my)\s+{_PROJECT}(?:\s+do)?[.?!]*|overview[.?!]*|what is this[.?!]*",
        lambda _: explain_project,
    ),
    (r"summari[sz]e\b.*|.*\bsummary of (?:the|this) conversation\b.*", lambda _: plans.summarize),
    (r"explain\s+(?P<file>\S+)", lambda found: explain_file(_path(found["file"]))),
    (
        rf"replace\s+(?P<all>(?:all|every)\s+)?(?P<old>{_QUOTED}|.+?)\s+(?:with|by)\s+(?P<new>{_QUOTED}|.*?)\s+"
        rf"in\s+(?P<file>{_PATH})(?P<everywhere>\s+everywhere)?",
        _replace,
    ),
    (
        rf"(?:create|write|make)\s+(?:a\s+|the\s+)?(?:new\s+)?(?:file\s+)?(?P<file>{_PATH})\s+"
        rf"(?:with|containing|saying)\s+(?:the\s+)?(?:(?:text|content)\s+)?(?P<text>.+)",
        _create,
    ),
    (
        rf"(?:delete|remove)\s+(?:the\s+)?(?:file\s+)?(?P<file>{_PATH})",
        lambda m: plans.delete(_path(m["file"])),
    ),
    (
        r"(?:run|execute)(?:\s+the|\s+all|\s+its)*(?:\s+(?:project's\s+)?(?:own\s+)?tests?)?[.!]*",
        lambda _: plans.run_tests,
    ),
    (r"(?:run|execute|\$|!)\s*(?P<command>.+)", lambda m: plans.run(_bare(m["command"]))),
    (r"(?P<command>git\s+\S.*)", lambda m: plans.run(m["command"])),
    (r"what (?:has )?changed[.?!]*", lambda _: plans.run("git status --short")),
    (
        r"(?:fetch|get|download|open)?\s*(?P<url>https?://\S+)",
        lambda m: plans.fetch(m["url"]),
    ),
    (
        r"(?:search the web for|search the internet for|web ?search)\s+(?P<what>.+)",
        lambda m: plans.web_search(_bare(m["what"])),
    ),
    (
        rf"(?:find|list|show)\s+(?:all\s+|the\s+)?files\s+(?:named\s+|matching\s+|like\s+)?(?P<what>{_QUOTED}|\S*[*?.\[]\S*)"
        rf"|glob\s+(?P<glob>.+)",
        lambda m: plans.find_files(_bare(m["what"] or m["glob"])),
    ),
    (
        rf"(?:find|search(?:\s+for)?|grep(?:\s+for)?|look\s+for|where\s+is)\s+(?:all\s+)?(?P<what>{_QUOTED}|.+?)"
        rf"(?:\s+in\s+(?P<path>{_PATH}))?[?]?",
        _find,
    ),
    (
        r"(?:show|list|read)\s+(?:me\s+)?(?:the\s+|my\s+)?todos?(?:\s+list)?|todos\??",
        lambda _: plans.show_todos,
    ),
    (r"todo[:\s]\s*(?P<items>.+)", lambda m: plans.todo(m["items"])),
    (
        rf"(?:list|ls|dir|tree)(?:\s+(?:the\s+)?(?:files(?:\s+in)?|folder|directory))?(?:\s+(?P<path>{_PATH}))?",
        lambda m: plans.list_folder(_path(m["path"]) or "."),
    ),
    (
        rf"(?:read|show|open|cat|view|print|display)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?(?P<file>{_PATH})"
        rf"(?:[\s,]+lines?\s+(?P<first>\d+)(?:\s*(?:-|to)\s*(?P<last>\d+))?)?",
        _read,
    ),
)
