from typing import Any

import pytest

from agent_tui.protocol.messages import TokenUsage
from agent_tui.providers.base import ModelInfo
from agent_tui.providers.loopback import probe
from agent_tui.providers.models import cost_usd, load_table, server_effort, wrong_facts
from tests.support.fake_servers import (
    ChatServer,
    json_answer,
)


def test_every_row_of_the_table_names_its_source_and_date() -> None:
    table = load_table()

    assert len(table.rows) > 15
    assert all(row.source.startswith("https://") and row.checked is not None for row in table.rows)
    assert len({(row.provider, row.name) for row in table.rows}) == len(table.rows)


def test_an_unknown_model_is_unknown_and_not_guessed() -> None:
    assert load_table().facts("anthropic", "brand-new").info == ModelInfo(name="brand-new")


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-sonnet-9", "adaptive"),
        ("claude-opus-4-6-20260205", "adaptive"),
        ("claude-opus-4-20250514", "budget"),
        ("claude-sonnet-4-5-20250929", "budget"),
        ("claude-3-5-haiku-20241022", "none"),
        ("my-model", "none"),
    ],
)
def test_a_claude_models_name_tells_how_it_thinks(model: str, thinking: str) -> None:
    assert load_table().facts("anthropic", model).thinking == thinking


def test_a_dated_name_has_the_facts_of_its_model() -> None:
    info = load_table().facts("openai", "gpt-5.5-2026-04-23").info

    assert (info.name, info.context_tokens) == ("gpt-5.5-2026-04-23", 1_050_000)


def test_users_override_and_add_rows() -> None:
    table = load_table(
        {
            "claude-sonnet-5-5": {"input_usd_per_mtok": 1.0},
            "my-model": {"provider": "ollama", "context_tokens": 32_768, "input_usd_per_mtok": 0},
        }
    )

    assert table.facts("anthropic", "claude-sonnet-5-5").info.input_usd_per_mtok == 1.0
    assert table.facts("anthropic", "claude-sonnet-5-5").info.output_usd_per_mtok == 10.0
    assert table.facts("ollama", "my-model").info.context_tokens == 32_768


@pytest.mark.parametrize(
    ("fields", "wrong", "reason"),
    [
        ({"prise": 1, "context_tokens": 9}, "prise", "is no fact of a model"),
        ({"context_token": 3, "context_tokens": 9}, "context_token", "did you mean 'context_tokens'"),
        ({"input_usd_per_mtok": "cheap", "context_tokens": 9}, "input_usd_per_mtok", "got 'cheap'"),
        ({"long_prompt": {"from_tokens": "x"}, "context_tokens": 9}, "long_prompt", "got {'from_tokens'"),
    ],
)
def test_a_wrong_field_is_named_and_costs_only_itself(
    fields: dict[str, Any], wrong: str, reason: str
) -> None:
    facts = {"m1": fields}

    [(key, why)] = wrong_facts(facts)

    assert key == f"model.facts.m1.{wrong}"
    assert reason in why
    assert load_table(facts).facts("any", "m1").info.context_tokens == 9
    assert wrong_facts({"m1": {"context_tokens": 9}}) == []


def test_h81_a_price_counts_cache_and_long_prompts() -> None:
    info = load_table().facts("anthropic", "claude-haiku-5-5").info
    usage = TokenUsage(
        input_tokens=40_000, output_tokens=10_000, cache_read_tokens=50_000, cache_write_tokens=8_000
    )
    longer = usage + TokenUsage(cache_read_tokens=10_000)

    short = 40_000 * 0.1 + 50_000 * 0.01 + 8_000 * 0.125 + 10_000 * 0.5
    assert cost_usd(usage, info) == pytest.approx(short / 1e6)
    assert cost_usd(longer, info) == pytest.approx((short + 10_000 * 0.01) * 5 / 1e6)


def test_h81_an_unknown_price_is_no_price() -> None:
    assert cost_usd(TokenUsage(input_tokens=5), ModelInfo(name="m")) is None


@pytest.mark.parametrize(
    ("model", "effort", "word"),
    [
        ("gpt-6.2-sol", "max", "max"),
        ("gpt-5.5", "max", "xhigh"),
        ("claude-sonnet-4-6", "max", "high"),
        ("gpt-6.2-sol", "", ""),
    ],
)
def test_effort_is_said_in_the_models_own_words(model: str, effort: Any, word: str) -> None:
    provider = "anthropic" if model.startswith("claude") else "openai"

    assert server_effort(effort, load_table().facts(provider, model)) == word


async def test_a_probe_ignores_a_list_that_is_an_error() -> None:
    async with ChatServer() as server:
        server._answer = lambda request: json_answer({"data": []}, code=401)

        assert await probe([("vllm", server.url)]) == []


def test_rows_from_third_parties_are_marked_and_their_numbers_are_not_used() -> None:
    table = load_table()
    unconfirmed = [row for row in table.rows if not row.confirmed]

    assert {row.name for row in unconfirmed} == {"deepseek-v4-pro", "deepseek-v4-flash"}
    assert all("github.com" not in row.source for row in table.rows if row.confirmed)
    for row in unconfirmed:
        info = table.facts(row.provider, row.name).info
        assert (info.context_tokens, info.max_output_tokens, info.input_usd_per_mtok) == (None, None, None)


def test_a_row_the_user_writes_counts_and_brings_no_number_that_was_not_confirmed() -> None:
    table = load_table({"deepseek-v4-pro": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0}})

    info = table.facts("deepseek", "deepseek-v4-pro").info

    assert (info.input_usd_per_mtok, info.output_usd_per_mtok, info.context_tokens) == (1.0, 2.0, None)
