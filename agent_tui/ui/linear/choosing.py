"""Numbered choices: one question, one line with a number as its answer."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.protocol.numbers import whole_number
from agent_tui.ui.linear.lines import Lines


async def choose(lines: Lines, question: str, options: Sequence[str], *, known: bool = False) -> int | None:
    """Read out `options` with numbers and give the index of the chosen one; None when the answer is empty.

    With `known` they were read out just before: only `?` reads them out again.
    """
    numbered = [f"{number}. {option}" for number, option in enumerate(options, start=1)]
    lines.say("\n".join([question, *(["The same choices; ? reads them out."] if known else numbered)]))
    while True:
        answer = await lines.ask("Your choice:")
        if answer is None or not answer.strip():
            return None
        if answer.strip() == "?":
            lines.say("\n".join(numbered))
            continue
        found = _index(answer, options)
        if found is not None:
            return found
        lines.say(f"Write a number from 1 to {len(options)}, or nothing to leave.")


async def choose_several(lines: Lines, question: str, options: Sequence[str]) -> list[int] | None:
    """Like `choose`, for any number of options: numbers with blanks or commas between them."""
    numbered = [f"{number}. {option}" for number, option in enumerate(options, start=1)]
    lines.say("\n".join([question, *numbered]))
    while True:
        answer = await lines.ask("Your choices, such as 1 3:")
        if answer is None or not answer.strip():
            return None
        found = [_index(part, options) for part in answer.replace(",", " ").split()]
        if found and None not in found:
            return list(dict.fromkeys(one for one in found if one is not None))
        lines.say(f"Write numbers from 1 to {len(options)}, or nothing to leave.")


def _index(answer: str, options: Sequence[str]) -> int | None:
    word = answer.strip().rstrip(".")
    number = whole_number(word)
    if number is not None and 1 <= number <= len(options):
        return number - 1
    same = [index for index, option in enumerate(options) if option.lower() == word.lower()]
    return same[0] if len(same) == 1 else None
