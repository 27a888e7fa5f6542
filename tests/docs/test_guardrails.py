import re
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.guardrail_files import load_guardrails
from agent_tui.agent.guardrails import Guardrail, GuardrailChain, GuardrailHooks
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.events import Notice
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.providers.scripted import calls, text, use
from agent_tui.toolkit.testing import make_context
from tests.support.agent_world import world

PAGE = (Path(__file__).parents[2] / "docs" / "guardrails.md").read_text()
CARD = "4111 1111 1111 1111"


@pytest.fixture
def written(tmp_path: Path) -> tuple[Guardrail, ...]:
    found = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "cards.py").write_text(found[1])
    return load_guardrails(tmp_path)


async def test_h73_the_example_keeps_card_numbers_from_the_model(written: tuple[Guardrail, ...]) -> None:
    w = world(text("fine"), text("never"))
    agent = w.agent(guardrails=written)

    assert (await agent.run("hello")).stop_reason == "end_turn"
    result = await agent.run(f"my card is {CARD}")

    assert result.error == "Stopped by a guardrail: your message holds a card number"
    assert len(w.provider.requests) == 1


async def test_h73_the_example_warns_denies_and_rewrites(
    written: tuple[Guardrail, ...], tmp_path: Path
) -> None:
    w = world(calls(*[use("read", {"n": n}) for n in range(21)]), text("done"))
    await w.agent(guardrails=written).run("go")
    hooks = GuardrailHooks(GuardrailChain(written))
    ctx: Any = make_context(tmp_path)
    push = ToolCall(call_id="c", name="bash", arguments_json='{"command": "git push"}')

    assert any("more than 20 calls" in event.text for event in w.sink.of(Notice))
    assert (await hooks.before(push, ctx)).block == "pushing is for people"
    assert (
        await hooks.after(push, ToolResult.success(f"pay {CARD} now"), ctx)
    ).output == "pay (card number) now"


def test_a_missing_folder_gives_no_guardrails(tmp_path: Path) -> None:
    assert load_guardrails(tmp_path / "nowhere") == ()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("1 / 0", "division by zero"),
        ("def broken(", "cannot be loaded"),
        ("x = 1", "no guardrail"),
        (
            "from agent_tui.agent.guardrails import OpenGuardrail\n\n\nclass G(OpenGuardrail):\n"
            "    def __init__(self, x): ...\n",
            "missing 1 required",
        ),
    ],
)
def test_a_guardrail_that_cannot_be_loaded_is_an_error(tmp_path: Path, source: str, words: str) -> None:
    (tmp_path / "g.py").write_text(source)

    with pytest.raises(AgentTuiError, match=words):
        load_guardrails(tmp_path)


def test_guardrails_run_in_the_order_of_files_and_lines(tmp_path: Path) -> None:
    head = "from agent_tui.agent.guardrails import OpenGuardrail\n"
    (tmp_path / "b.py").write_text(head + "class Z(OpenGuardrail): ...\nclass A(OpenGuardrail): ...\n")
    (tmp_path / "a.py").write_text(head + "class M(OpenGuardrail): ...\n")
    (tmp_path / "_skipped.py").write_text("1 / 0")

    assert [type(one).__name__ for one in load_guardrails(tmp_path)] == ["M", "Z", "A"]
