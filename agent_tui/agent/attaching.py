"""What goes to the model with a prompt because the prompt points at it."""

from collections.abc import Awaitable, Callable, Sequence

from agent_tui.protocol.messages import UserBlock

Attach = Callable[[str], Awaitable[Sequence[UserBlock]]]
"""Give the blocks that go before a prompt. Never raises for what a person may have written."""


async def nothing_attached(_text: str) -> Sequence[UserBlock]:
    """Attach nothing."""
    return ()
