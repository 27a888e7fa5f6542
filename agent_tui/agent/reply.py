"""Receives one reply: shows it as it comes and, when the stream was cut, joins the rest without a repetition."""

from dataclasses import dataclass, field

from agent_tui.protocol.data import without_half_pairs
from agent_tui.protocol.errors import StreamCut
from agent_tui.protocol.events import EventSink, TextDelta, ThinkingDelta
from agent_tui.protocol.messages import AssistantBlock, AssistantMessage, TextBlock, TokenUsage, ToolUseBlock
from agent_tui.providers.base import (
    Completed,
    Counted,
    Provider,
    ProviderRequest,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
)

_MIN_OVERLAP_CHARS = 16
_TAIL_CHARS = 400


class Joint:
    """Drops what a continued reply repeats of the text that was shown before the cut.

    Two kinds of repetition are known: the reply starts again from its beginning, or with the last words before
    the cut. Text is held back only while it could still turn out to be one of them.
    """

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._held = ""
        self._open = bool(shown)
        self.dropped = 0

    def feed(self, text: str) -> str:
        """Take more text; give what is new."""
        if not self._open:
            return text
        self._held += text
        if self._shown.startswith(self._held) or self._held in self._shown[-_TAIL_CHARS:]:
            return ""
        return self._release(self._repeated())

    def finish(self) -> str:
        """Give what is still held: the reply ended while it looked like a repetition."""
        if not self._open:
            return ""
        repeats = self._held == self._shown or (
            len(self._held) >= _MIN_OVERLAP_CHARS
            and (self._shown.startswith(self._held) or self._shown.endswith(self._held))
        )
        return self._release(len(self._held) if repeats else 0)

    def _repeated(self) -> int:
        """Count the characters at the start of what is held that were shown before."""
        if self._held.startswith(self._shown):
            return len(self._shown)
        longest = min(len(self._held), len(self._shown), _TAIL_CHARS)
        for size in range(longest, _MIN_OVERLAP_CHARS - 1, -1):
            if self._shown.endswith(self._held[:size]):
                return size
        return 0

    def _release(self, dropped: int) -> str:
        self._open = False
        self.dropped = dropped
        return self._held[dropped:]


@dataclass
class Received:
    """What one request brought so far. `text` is what was shown of it; `began` says that anything came.

    `lost` are the tokens of attempts that failed, `counted` those of the one that runs.
    """

    shown_before: str = ""
    parts: list[str] = field(default_factory=list[str])
    began: bool = False
    message: AssistantMessage | None = None
    lost: TokenUsage = TokenUsage()
    counted: TokenUsage = TokenUsage()
    joint: Joint = field(init=False)

    def __post_init__(self) -> None:
        self.joint = Joint(self.shown_before)

    @property
    def text(self) -> str:
        """What was shown."""
        return "".join(self.parts)

    def count(self, counted: Counted) -> None:
        """Take a count over."""
        if counted.is_lost:
            self.lost, self.counted = self.lost + counted.usage, TokenUsage()
        else:
            self.counted = counted.usage

    @property
    def unanswered(self) -> TokenUsage:
        """The tokens that brought no whole reply."""
        return self.lost if self.message is not None else self.lost + self.counted


async def receive(
    provider: Provider,
    request: ProviderRequest,
    received: Received,
    *,
    sink: EventSink,
    turn_id: str,
    origin: str,
) -> AssistantMessage:
    """Stream `request` once into `received`; give the whole message.

    Raises the provider's errors; StreamCut also when the stream ends without a whole message.
    """

    async def show(text: str) -> None:
        if text:
            received.parts.append(text)
            await sink(TextDelta(turn_id=turn_id, origin=origin, text=text))

    async with provider.stream(request) as deltas:
        async for delta in deltas:
            received.began = received.began or not isinstance(delta, Counted)
            match delta:
                case Counted():
                    received.count(delta)
                case TextPiece():
                    await show(received.joint.feed(delta.text))
                case ThinkingPiece():
                    await sink(ThinkingDelta(turn_id=turn_id, origin=origin, text=delta.text))
                case ToolCallPiece():
                    pass
                case Completed():
                    await show(received.joint.finish())
                    received.message = _readable(_without_start(delta.message, received.joint.dropped))
    if received.message is None:
        raise StreamCut("the reply ended in the middle")
    return received.message


def _readable(message: AssistantMessage) -> AssistantMessage:
    """Replace half surrogate pairs in the arguments of calls: they are no text that a path or a request could hold."""
    if not any(
        isinstance(block, ToolUseBlock) and "\\u" in block.arguments_json for block in message.content
    ):
        return message
    content = [
        block.model_copy(update={"arguments_json": without_half_pairs(block.arguments_json)})
        if isinstance(block, ToolUseBlock)
        else block
        for block in message.content
    ]
    return message.model_copy(update={"content": tuple(content)})


def _without_start(message: AssistantMessage, dropped: int) -> AssistantMessage:
    """Cut `dropped` characters off the start of the message's text."""
    if not dropped:
        return message
    content: list[AssistantBlock] = []
    for block in message.content:
        if dropped and isinstance(block, TextBlock):
            cut = min(dropped, len(block.text))
            dropped -= cut
            block = TextBlock(text=block.text[cut:])
            if not block.text:
                continue
        content.append(block)
    return message.model_copy(update={"content": tuple(content)})
