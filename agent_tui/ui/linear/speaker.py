"""Tells what happens in a turn as labelled lines, in the order it happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.events import (
    ApprovalDecided,
    ApprovalRequested,
    AssistantFinished,
    Compacted,
    Event,
    Notice,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    TurnCancelled,
    TurnFailed,
    TurnFinished,
    TurnStarted,
)
from agent_tui.protocol.messages import TextBlock
from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.commands.reports import money, tokens
from agent_tui.ui.decisions import decision_line
from agent_tui.ui.linear.lines import Lines
from agent_tui.ui.turn import turn_end

SHOWN_LINES = 12


class Speaker:
    """An event sink. Replies are written line by line as they are complete, so that none is read twice.

    Tool calls are numbered through the session; `calls` maps a number to the id of its call. `verbose` says thoughts
    and whole results too; `give_back` takes what was typed and not sent.
    """

    def __init__(self, lines: Lines, give_back: Callable[[str], None], *, verbose: bool = False) -> None:
        self._lines = lines
        self._returned = give_back
        self._verbose = verbose
        self._typed = ""
        self._part = ""
        self._speaking = ""
        self._spoke = False
        self._requests: dict[str, PermissionRequest] = {}
        self._numbers: dict[str, int] = {}

    def typed(self, text: str) -> None:
        """Know what the person just typed: it stands on the screen already."""
        self._typed = text

    def call_id(self, number: int) -> str:
        """Give the id of a numbered call, "" when there is none."""
        return next((call_id for call_id, one in self._numbers.items() if one == number), "")

    def forget(self) -> None:
        """Start anew, for another session."""
        self._numbers, self._requests = {}, {}

    async def __call__(self, event: Event) -> None:
        """Take one event; of sub-agents only what they call is told."""
        if getattr(event, "origin", ""):
            if isinstance(event, ToolStarted):
                self._lines.say(f"Sub-agent: {_call(event.display_name, event.title)}")
            return
        match event:
            case TextDelta():
                self._delta("Assistant", event.text)
            case ThinkingDelta():
                self._thinking(event.text)
            case AssistantFinished():
                self._finished(event)
            case ToolStarted() | ToolFinished() | ToolDenied():
                self._tool(event)
            case ApprovalRequested():
                self._requests.update({request.call_id: request for request in event.requests})
            case ApprovalDecided():
                for verdict in event.verdicts:
                    if line := decision_line(self._requests.pop(verdict.call_id, None), verdict):
                        self._lines.say(f"Decision: {line}")
            case _:
                self._turn(event)

    def _turn(self, event: Event) -> None:
        match event:
            case TurnStarted():
                if event.prompt != self._typed:
                    self._lines.say(f"You: {event.prompt}")
                self._typed = ""
                self._say_images(event.images)
                self._lines.say("Working.")
            case Retrying():
                self._lines.say(
                    f"Retrying in {event.wait_s:.0f} seconds, attempt {event.attempt} of {event.max_attempts}: {event.reason}"
                )
            case Compacted():
                sizes = f"{tokens(event.tokens_before)} to {tokens(event.tokens_after)} tokens"
                self._lines.say(f"Note: the context was compacted from {sizes}.")
            case Notice():
                self._lines.say(f"{_LEVELS[event.level]}: {event.text}")
                self._give_back(event.returned)
            case TurnFinished() | TurnFailed() | TurnCancelled():
                self._turn_ended(event)
            case _:
                pass  # what remains is shown by other events, or by /status

    def _turn_ended(self, event: TurnFinished | TurnFailed | TurnCancelled) -> None:
        self._end_part()
        self._requests.clear()
        match event:
            case TurnFailed():
                self._lines.say(f"Error: {event.error}")
                self._give_back(event.returned)
            case TurnCancelled():
                self._lines.say("Stopped.")
                self._give_back(event.returned)
            case TurnFinished():
                if (end := turn_end(event.stop_reason)) is not None:
                    self._lines.say(f"{_LEVELS[end[0]]}: {end[1]}")
                cost = money(event.cost_usd)
                used = f"{tokens(event.usage.output_tokens)} tokens written" + (f", {cost}" if cost else "")
                self._lines.say(f"Done in {event.elapsed_s:.0f} seconds, {used}.")
        self._lines.bell()

    def _give_back(self, typed: str) -> None:
        if typed:
            self._returned(typed)

    # Text

    def _delta(self, label: str, text: str) -> None:
        if not text:
            return
        if self._speaking != label:
            self._end_part()
            self._lines.say(f"{label}:")
            self._speaking = label
        self._spoke = True
        *whole, self._part = (self._part + text).split("\n")
        for line in whole:
            self._lines.say(line)

    def _thinking(self, text: str) -> None:
        if self._verbose:
            spoke = self._spoke
            self._delta("Thinking", text)
            self._spoke = spoke  # a thought is no reply
        elif self._speaking != "Thinking":
            self._end_part()
            self._lines.say("Thinking.")
            self._speaking = "Thinking"

    def _end_part(self) -> None:
        if self._part:
            self._lines.say(self._part)
        self._part = self._speaking = ""

    def _finished(self, event: AssistantFinished) -> None:
        self._end_part()
        if not self._spoke:
            text = "".join(block.text for block in event.message.content if isinstance(block, TextBlock))
            if text.strip():
                self._lines.say(f"Assistant:\n{text}")
        self._spoke = False

    # Tools

    def _tool(self, event: ToolStarted | ToolFinished | ToolDenied) -> None:
        self._end_part()
        number = self._numbers.setdefault(event.call_id, len(self._numbers) + 1)
        name = f"Tool {number}, {_call(event.display_name or event.tool, event.title)}"
        match event:
            case ToolStarted():
                self._lines.say(name)
            case ToolDenied():
                why = event.reason.split("\n")[0].split(". ")[0].rstrip(".")
                self._lines.say(f"{name}: not run. {why}.")
            case ToolFinished():
                word = "Failed" if event.is_error else "Result"
                summary = f" {event.summary or event.display.summary}".rstrip()
                self._lines.say(f"{word} of tool {number}:{summary}")
                if shown := shown_lines(event.display, number, whole=self._verbose):
                    self._lines.say(shown)
                self._say_images(event.display.images)

    def _say_images(self, images: Sequence[str]) -> None:
        for image in images:
            self._lines.say(f"Image: {image}")


_LEVELS = {"info": "Note", "warning": "Warning", "error": "Error"}


def _call(name: str, title: str) -> str:
    return f"{name}: {title}" if title else name


def shown_lines(display: DisplayResult, number: int, *, whole: bool = False) -> str:
    """Give the beginning of a result, or the `whole` of what is shown, and how to read all of it."""
    lines = display.content.rstrip("\n").split("\n") if display.content.strip() else []
    shown = lines if whole else lines[:SHOWN_LINES]
    total = max(display.full_lines, len(lines))
    if total > len(shown):
        shown.append(f"{total - len(shown)} more lines. /output {number} shows all.")
    elif display.is_truncated:
        shown.append(f"Cut here. /output {number} shows all.")
    return "\n".join(shown)


def block_text(block: ReplayBlock) -> str:
    """Write a block of an earlier conversation with its label."""
    match block.kind:
        case "user":
            return "\n".join([f"You: {block.text}", *(f"Image: {image}" for image in block.images)])
        case "assistant":
            return f"Assistant:\n{block.text}"
        case "thinking":
            return ""
        case "tool":
            state = "" if block.state == "done" else f" ({block.state})"
            return f"Tool, {_call(block.display_name or block.tool, block.title)}{state}"
        case "notice":
            return f"Note: {block.text}"
        case "decision":
            return f"Decision: {block.text}"
