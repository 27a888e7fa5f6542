"""The built-in model that needs no key: deterministic, not a language model, and it always says so."""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

from agent_tui.protocol.messages import (
    AssistantBlock,
    AssistantMessage,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from agent_tui.providers import _offline_say as say
from agent_tui.providers._offline_parse import plan_for
from agent_tui.providers._offline_turn import Step, read_turn
from agent_tui.providers.base import (
    Completed,
    Delta,
    ModelInfo,
    ProviderRequest,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
)
from agent_tui.providers.models import OFFLINE_MODEL


class OfflineProvider:
    """Understands a small set of plain requests and raw tool scripts.

    Stateless: each step is derived from the messages of the request, so it works across resumed sessions. What it
    says of files and commands comes from the results in the history, never from itself. `pace_s` is waited after
    each streamed word; 0 streams as fast as it is read. `clock` (unix seconds) names the scratch files of a tour.
    """

    def __init__(self, *, pace_s: float = 0.0, clock: Callable[[], float] = time.time) -> None:
        self._pace_s = pace_s
        self._clock = clock
        self.name = "offline"
        self.model = OFFLINE_MODEL
        self.context_tokens = 0
        self.info = ModelInfo(
            name=OFFLINE_MODEL,
            input_usd_per_mtok=0.0,
            output_usd_per_mtok=0.0,
            cache_read_usd_per_mtok=0.0,
            cache_write_usd_per_mtok=0.0,
        )

    @asynccontextmanager
    async def stream(self, request: ProviderRequest) -> AsyncGenerator[AsyncIterator[Delta]]:
        """Answer from the messages; never fails."""
        async with aclosing(self._deltas(self._reply(request))) as deltas:
            yield deltas

    async def models(self) -> Sequence[str]:
        """List the one model there is."""
        return [OFFLINE_MODEL]

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _reply(self, request: ProviderRequest) -> AssistantMessage:
        stamp = time.strftime("%H%M%S", time.localtime(self._clock()))
        turn = read_turn(request.messages, stamp=stamp)
        step = plan_for(turn.prompt)(turn)
        missing = {name for name, _ in step.calls} - {tool.name for tool in request.tools}
        if missing and not step.is_script:
            step = Step(text=_without_tools(sorted(missing)))
        blocks: list[AssistantBlock] = []
        if step.thinking:
            blocks.append(ThinkingBlock(text=step.thinking))
        words = step.text if step.calls else f"{step.text}\n\n{say.NOTICE}"
        if words:
            blocks.append(TextBlock(text=words))
        blocks.extend(_calls(step, _seed(request)))
        return AssistantMessage(
            content=tuple(blocks),
            provider=self.name,
            model=self.model,
            stop_reason="tool_use" if step.calls else "end_turn",
        )

    async def _deltas(self, message: AssistantMessage) -> AsyncGenerator[Delta]:
        for block in message.content:
            for delta in _pieces(block):
                await asyncio.sleep(self._pace_s)
                yield delta
        yield Completed(message)


def _without_tools(names: list[str]) -> str:
    shown = ", ".join(say.code(name) for name in names)
    return f"This needs {shown}, which is not among the tools I may use here. Nothing was run."


def _calls(step: Step, seed: str) -> list[ToolUseBlock]:
    return [
        ToolUseBlock(
            id=f"offline_{seed}_{index}",
            name=name,
            arguments_json=arguments
            if isinstance(arguments, str)
            else json.dumps(arguments, ensure_ascii=False),
        )
        for index, (name, arguments) in enumerate(step.calls)
    ]


def _seed(request: ProviderRequest) -> str:
    """Make call ids unique within a session and the same for the same history."""
    digest = hashlib.sha256(str(len(request.messages)).encode())
    for message in request.messages[:1] + request.messages[-3:]:
        digest.update(message.model_dump_json().encode())
    return digest.hexdigest()[:10]


def _pieces(block: AssistantBlock) -> list[Delta]:
    match block:
        case TextBlock():
            return [TextPiece(word) for word in _words(block.text)]
        case ThinkingBlock():
            return [ThinkingPiece(word) for word in _words(block.text)]
        case ToolUseBlock():
            return [ToolCallPiece(block.id, block.name, block.arguments_json)]
        case _:
            return []


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*$|\s*\S+", text)
