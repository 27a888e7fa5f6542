"""A stored session of blocks of every kind, long enough to be left on disk."""

import random
from pathlib import Path

from agent_tui.protocol.messages import AssistantMessage, TextBlock, ThinkingBlock
from agent_tui.sessions.session import Session
from agent_tui.sessions.store import SessionStore
from tests.support.session_world import asks, call, outcome, results, user

WORDS = [
    "needle",
    "hay",
    "**bold**",
    "日本語",
    "`code`",
    "é",
    "a_long_word_without_any_break_in_it",
    "Needle",
]
SHAPES = ["{}", "- {}\n- {}", "```python\n{} = 1\n{}\n```", "> {}\n\n{}", "| a | b |\n|---|---|\n| {} | {} |"]


def prose(chance: random.Random, words: int) -> str:
    parts = [
        chance.choice(SHAPES).format(*(" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) for _ in "12"))
        for _ in range(words // 10 + 1)
    ]
    return "\n\n".join(parts)


async def write_turn(session: Session, chance: random.Random, number: int) -> None:
    """Write a turn with a prompt, reasoning, two replies, a call, and now and then more."""
    turn = f"t{number}"
    prompt = prose(chance, chance.choice([5, 120]))
    await session.user_message(user(prompt), turn_id=turn, text=prompt)
    asked = asks(f"c{number}", thinking=prose(chance, 80))
    said = TextBlock(text=prose(chance, 150))
    await session.assistant_message(
        asked.model_copy(update={"content": (*asked.content, said)}), turn_id=turn
    )
    await session.round_started([call(f"c{number}")], turn_id=turn)
    if number % 7 == 6:  # the program was killed before the answer
        return
    done = outcome(f"c{number}", prose(chance, chance.choice([3, 90, 3_000])))
    await session.outcome(done, turn_id=turn)
    words = prose(chance, 70) if number % 5 == 4 else ""
    await session.round_finished(results(done, words=words), turn_id=turn)
    content = (ThinkingBlock(text=prose(chance, 60), signature="s"), TextBlock(text=prose(chance, 200)))
    await session.assistant_message(AssistantMessage(content=content, provider="p", model="m"), turn_id=turn)
    if number % 9 == 8:
        await session.compacted([user("so far")], turn_id=turn, summary=prose(chance, 90))
    await session.turn_finished(turn_id=turn, stop_reason="end_turn" if number % 4 else "cancelled")


async def long_session(root: Path, *, turns: int, seed: int = 1) -> Session:
    session = SessionStore(root / "sessions").create(root)
    chance = random.Random(seed)
    for number in range(turns):
        await write_turn(session, chance, number)
    return session
