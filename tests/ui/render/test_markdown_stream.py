import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_tui.ui.palette import Palette
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.markdown import render
from agent_tui.ui.render.markdown_stream import MarkdownStream
from agent_tui.ui.render.safe import clean

INKS = Inks(Palette.DARK)
PIECES = [
    "# Head",
    "## Two",
    "#",
    "text with *emphasis* and `code`",
    "a | b",
    "--|--",
    "|-|-|",
    "| x | y |",
    "- item",
    "-",
    "* other",
    "+ plus",
    "1. one",
    "2. two",
    "7) seven",
    "   continued",
    "  - nested",
    "    - deeper",
    "    code by indent",
    "> quote",
    ">",
    "> > inner",
    "> - item in quote",
    "```",
    "```python",
    "  ```",
    "~~~ | x",
    "~~~",
    '"""open',
    "def f(x): return 'a' # c",
    "/* never closed",
    "---",
    "===",
    "***",
    "<div>",
    "<!-- comment",
    "[ref]: https://example.com",
    "[ref]: /other 'title",
    "title goes on'",
    "see [ref] and [text][ref]",
    "- [ ] task",
    "- [x] done",
    "",
    "",
    "",
    "日本語のテキスト 👩‍👩‍👧 e\u0301",
    "\tcode by tab",
    "a\\",
    "word " * 30,
    "https://example.com/" + "x" * 90,
    "&#27;[31m &amp; &lt;b&gt;",
    "\x1b[31mred\x1b[0m",
    "cr\r",
]


def streamed(text: str, cuts: list[int], width: int) -> None:
    stream = MarkdownStream(INKS, width)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        stream.append(text[start:end])
        before = list(stream.rows)
        first = stream.flush()
        shown = text[:end].removesuffix("\r") if text[:end].endswith("\r") else text[:end]
        assert stream.rows == render(clean(shown), width, INKS)
        assert stream.rows[:first] == before[:first]


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    lines=st.lists(st.sampled_from(PIECES), max_size=24),
    seed=st.integers(0, 1 << 30),
    width=st.sampled_from([1, 7, 20, 60]),
)
def test_streamed_rows_equal_one_shot_rows_at_any_cut(lines: list[str], seed: int, width: int) -> None:
    text = "\n".join(lines)
    chance = random.Random(seed)
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(min(len(text), 25)))

    streamed(text, cuts, width)


@pytest.mark.parametrize("end", ["\n", "\n```\n\nafter", "\n```\n- a\n- b\n"])
def test_a_long_fence_streams_line_by_line_like_one_shot(end: str) -> None:
    code = "\n".join(f'x{n} = """a {n}' if n % 17 == 0 else f"def f{n}(): return {n}" for n in range(150))
    text = f"Look:\n\n```python\n{code}{end}"

    streamed(text, list(range(0, len(text), 37)), 50)


def test_a_long_list_streams_like_one_shot() -> None:
    text = "".join(f"{n}. item {n} with `code`\n{'' if n % 5 else chr(10)}   more\n" for n in range(1, 120))

    streamed(text, list(range(0, len(text), 61)), 40)


def test_a_target_defined_late_changes_the_rows_above() -> None:
    text = "See [ref].\n\npara\n\npara\n\n[ref]: https://example.com/x\n\nend\n\nend2\n"

    streamed(text, list(range(len(text))), 40)
