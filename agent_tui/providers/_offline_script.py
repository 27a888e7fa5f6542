"""Raw scripts for the offline model: the calls to make, one a line, round by round."""

import re
from dataclasses import dataclass

from agent_tui.protocol.data import JsonObject
from agent_tui.providers import _offline_say as say
from agent_tui.providers._offline_plans import Plan
from agent_tui.providers._offline_turn import Answered, Step, Turn

_CALL = re.compile(r"call\s+(?P<name>\S+)\s*(?P<arguments>.*)", re.DOTALL)
_SAY = re.compile(r"say\s+(?P<text>.+)")
_THINK = re.compile(r"think\s+(?P<text>.+)")


@dataclass(frozen=True)
class _ScriptRound:
    calls: tuple[tuple[str, JsonObject | str], ...]
    text: str = ""
    thinking: str = ""


def is_script(prompt: str) -> bool:
    """Whether the first line that says anything is a `call`."""
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    return bool(lines) and _CALL.fullmatch(lines[0]) is not None


def script(prompt: str) -> Plan:
    """Play a script: `call NAME JSON`, also `say TEXT` and `think TEXT`; the arguments are sent as they stand."""
    rounds, problem = _parse(prompt)

    def step(turn: Turn) -> Step:
        if problem:
            return Step(text=problem)
        index = len(turn.rounds)
        if index < len(rounds):
            here = rounds[index]
            return Step(
                thinking=here.thinking or f"Round {index + 1} of {len(rounds)} of the script.",
                text=here.text,
                calls=here.calls,
                is_script=True,
            )
        return Step(text=_report(turn))

    return step


def _parse(prompt: str) -> tuple[list[_ScriptRound], str]:
    rounds: list[_ScriptRound] = []
    calls: list[tuple[str, JsonObject | str]] = []
    said = thought = ""
    for number, line in enumerate([*prompt.splitlines(), "---"], start=1):
        line = line.strip()
        if line in {"", "---"}:
            if calls:
                rounds.append(_ScriptRound(tuple(calls), said, thought))
            calls, said, thought = [], "", ""
        elif found := _CALL.fullmatch(line):
            calls.append((found["name"], found["arguments"].strip() or "{}"))
        elif found := _SAY.fullmatch(line):
            said = found["text"]
        elif found := _THINK.fullmatch(line):
            thought = found["text"]
        else:
            return (
                [],
                f"Line {number} of the script is no `call NAME JSON`: {say.code(line)}. Nothing was run.",
            )
    return rounds, ""


def _report(turn: Turn) -> str:
    calls = say.count(sum(len(r) for r in turn.rounds), "call")
    lines = [f"The script is done: {calls} in {say.count(len(turn.rounds), 'round')}.\n"]
    lines.extend(_line(done) for round_ in turn.rounds for done in round_)
    return "\n".join(lines)


def _line(done: Answered) -> str:
    state = "ok" if done.ok else "not done"
    said = done.first_line if len(done.first_line) <= 120 else f"{done.first_line[:120]}..."
    return f"* {say.code(done.call.name)} {state}: {say.code(said)}"
