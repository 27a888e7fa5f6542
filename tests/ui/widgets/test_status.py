import pytest

from agent_tui.ui.backend import StatusView
from agent_tui.ui.widgets.segments import Facts, context_tier, sides
from agent_tui.ui.widgets.status import lay_out


@pytest.mark.parametrize(
    ("used", "limit", "tier"),
    [
        (0.79, 200_000, 0),
        (0.80, 200_000, 1),
        (0.90, 200_000, 2),
        (0.95, 200_000, 3),
        (0.69, 400_000, 0),
        (0.70, 400_000, 1),
        (0.80, 400_000, 2),
        (0.90, 400_000, 3),
        (0.19, 900_000, 0),
        (0.20, 1_000_000, 1),
        (0.80, 1_000_000, 2),
        (0.90, 1_000_000, 3),
        (0.99, 0, 0),
    ],
)
def test_x26_the_context_has_three_tiers_by_the_size_of_the_window(
    used: float, limit: int, tier: int
) -> None:
    assert context_tier(round(used * (limit or 1)), limit) == tier


FULL = StatusView(
    provider="anthropic",
    model="model-x",
    context_tokens=50_000,
    context_limit_tokens=200_000,
    input_tokens=12_300,
    output_tokens=950,
    cache_read_tokens=1_200_000,
    cost_usd=0.4217,
    session_name="parser",
    sandbox="strong",
    branch="main",
)


def line(width: int) -> str:
    return lay_out(*sides(Facts(FULL)), width).plain


def test_x26_tokens_are_shown_with_suffixes_cached_and_total() -> None:
    assert line(160).split() == [
        "ask",
        "·",
        "model-x",
        "·",
        "context",
        "25",
        "%",
        "12k",
        "in",
        "950",
        "out",
        "1.2M",
        "cached",
        "Σ1.2M",
        "·",
        "$0.42",
        "·",
        "sandbox",
        "strong",
        "·",
        "git",
        "main",
        "·",
        "parser",
    ]


@pytest.mark.parametrize("width", [1, 5, 10, 20, 40, 60, 80, 100, 160])
def test_the_line_never_is_wider_than_its_place_and_keeps_the_mode(width: int) -> None:
    assert len(line(width)) <= width
    assert line(width).startswith("ask"[:width])


def test_what_matters_less_goes_first() -> None:
    assert "model-x" in line(30)
    assert "parser" not in line(60)
    assert "$0.42" in line(60)
