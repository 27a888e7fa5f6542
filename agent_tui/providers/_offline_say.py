"""How the offline model words its answers: quotes of results, refusals, and what it is."""

import re

from agent_tui.providers._offline_turn import Answered

NOTICE = (
    "*Offline model: built in, not a language model. To connect one: set `ANTHROPIC_API_KEY`, or "
    "`OPENAI_API_KEY` (with `OPENAI_BASE_URL` for another server), or start with `--base-url URL --model NAME`.*"
)

EXAMPLES = """\
* `explain this project`, `explain FILE`
* `find TODO`, `find TODO in src`, `find files *.py`
* `read pyproject.toml`, `list src`
* `replace X with Y in FILE`, `replace all X with Y in FILE`
* `create FILE with TEXT`, `delete FILE`
* `run pytest -q`, `run the tests`, `git status`
* `fetch https://example.com`, `search the web for WORDS`
* `todo first thing; second thing`, `show todos`, `summarize`
* `continue`: do what was cut again
* `tour`: one round of six calls that shows the approval screen, in the scratch folder `.agent-tour/`
* raw calls, one a line (`call read {"file_path": "README.md"}`); lines together are one round, a blank line or
  `---` starts the next"""

HELP = f"I understand a small set of plain requests:\n\n{EXAMPLES}"


def unknown(prompt: str) -> str:
    """Answer a prompt that is none of the known requests."""
    return f"I cannot work on {code(_short(prompt))}: I match fixed requests and do not understand language. I can do:\n\n{EXAMPLES}"


def cut(prompt: str) -> str:
    """Say that a request was cut and is done again."""
    return f"The work on {code(_short(prompt))} was cut, so I do it again from its start."


def _short(prompt: str) -> str:
    line = " ".join(prompt.split())
    return line if len(line) <= 60 else f"{line[:60]}..."


def code(text: str) -> str:
    """Give `text` as inline code, whatever backticks it holds."""
    if not text:
        return "`(nothing)`"
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fenced(text: str, *, max_lines: int = 20, language: str = "", tail: bool = False) -> str:
    """Quote a result in a code block: its first (or last) lines and how many were left out."""
    lines = text.rstrip("\n").split("\n")
    left_out = max(0, len(lines) - max_lines)
    shown = (lines[-max_lines:] if tail else lines[:max_lines]) if left_out else lines
    ticks = "`" * max(3, _longest_run(text) + 1)
    where = "before" if tail else "more"
    note = f"\n\n({left_out:,} lines {where})" if left_out else ""
    return f"{ticks}{language}\n" + "\n".join(shown) + f"\n{ticks}{note}"


def refused(answer: Answered, *, what: str) -> str:
    """Say that a call was denied or failed, in the words that came back."""
    said = "was not allowed" if answer.denied else "did not work out"
    return f"{what} {said}. The answer was:\n\n{fenced(answer.output)}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def count(number: int, noun: str) -> str:
    """Give "1 line" or "3 lines"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
