"""What the offline model knows of a turn: the prompt and what its calls really returned, read from the messages."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.messages import (
    AssistantMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

_DENIALS = ("Denied by ", "Denied: ", "Not allowed: ", "Blocked by a hook: ")
GO_ON = r"(?:continue|go on|carry on|keep going|proceed|resume)[.!]*"
_GOES_ON = re.compile(rf"(?:please,?\s+)?{GO_ON}", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*\d+\t(.*)$")


@dataclass(frozen=True)
class Answered:
    """One call of this turn with its result; `result` is None when the history lost it."""

    call: ToolUseBlock
    result: ToolResultBlock | None

    @property
    def ok(self) -> bool:
        """Whether the tool ran and did not fail."""
        return self.result is not None and not self.result.is_error

    @property
    def denied(self) -> bool:
        """Whether a person, a rule or a hook said no."""
        return not self.ok and self.output.startswith(_DENIALS)

    @property
    def by_person(self) -> bool:
        """Whether a person denied the call."""
        return not self.ok and self.output.startswith("Denied by the user.")

    @property
    def persons_words(self) -> str:
        """What the person said with a denial; "" when nothing."""
        return self.output.partition("\nThe user says: ")[2].strip() if self.by_person else ""

    @property
    def output(self) -> str:
        """The text the tool returned."""
        return self.result.content if self.result is not None else "(no result in the history)"

    @property
    def first_line(self) -> str:
        """The first line of the result that says anything."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[0] if lines else "(nothing)"

    @property
    def arguments(self) -> JsonObject:
        """The arguments as a dict; empty when they are no JSON object."""
        try:
            parsed: object = parse_json(self.call.arguments_json)
        except ValueError:
            return {}
        return cast(JsonObject, parsed) if isinstance(parsed, dict) else {}

    def argument(self, name: str) -> str:
        """One argument as text; "" when there is none."""
        value = self.arguments.get(name, "")
        return value if isinstance(value, str) else json.dumps(value)

    @property
    def file_text(self) -> str:
        """The result of a read without its line numbers and notes."""
        found = [match.group(1) for line in self.output.split("\n") if (match := _NUMBERED.match(line))]
        return "\n".join(found) if found else self.output


Round = tuple[Answered, ...]


@dataclass(frozen=True)
class Turn:
    """The newest prompt and the rounds since. `earlier` are the prompts before it, `history` all rounds ever.

    `cut` is the prompt before a "continue" whose work was not brought to its end, "" when nothing is open. `stamp`
    names new scratch files, so that a later tour finds its names free.
    """

    prompt: str
    rounds: tuple[Round, ...] = ()
    earlier: tuple[str, ...] = ()
    history: tuple[Round, ...] = ()
    cut: str = ""
    stamp: str = "1"


@dataclass(frozen=True)
class Step:
    """What the offline model does next: with calls a round, without them the end of the turn.

    `is_script` marks calls that the person wrote: they are sent as they stand, also to tools that do not exist.
    """

    thinking: str = ""
    text: str = ""
    calls: tuple[tuple[str, JsonObject | str], ...] = ()
    is_script: bool = False


def read_turn(messages: Sequence[UserMessage | AssistantMessage], *, stamp: str) -> Turn:
    """Derive the turn from the messages alone, so that a resumed session goes on where it stood."""
    prompts: list[str] = []
    rounds: list[Round] = []
    history: list[Round] = []
    cut = ""
    results = _results(messages)
    for message in messages:
        if isinstance(message, UserMessage):
            typed = _typed(message)
            if typed:
                prompts.append(typed[-1])
                rounds = []
            cut = next((text for text in reversed(typed) if not _GOES_ON.fullmatch(text)), cut)
            continue
        uses = [block for block in message.content if isinstance(block, ToolUseBlock)]
        if not uses:
            cut = ""
        if uses:
            done = tuple(Answered(block, results.get(block.id)) for block in uses)
            rounds.append(done)
            history.append(done)
    return Turn(
        prompt=prompts[-1] if prompts else "",
        rounds=tuple(rounds),
        earlier=tuple(prompts[:-1]),
        history=tuple(history),
        cut=cut,
        stamp=stamp,
    )


def _results(messages: Sequence[UserMessage | AssistantMessage]) -> dict[str, ToolResultBlock]:
    return {
        block.tool_use_id: block
        for message in messages
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    }


def _typed(message: UserMessage) -> list[str]:
    """List what the person typed: the texts that are no tagged notes such as the environment."""
    texts = [block.text.strip() for block in message.content if isinstance(block, TextBlock)]
    return [text for text in texts if text and not text.startswith("<")]
