from collections.abc import Iterator

from agent_tui.protocol.replay import ReplayBlock

REPLY = """## Step {n}

The function reads the file, keeps **every line** and gives them back in order. See `src/module_{n}.py`
and the notes below; nothing else in the project depends on it.

- first the arguments are checked, then the file is opened
- lines are split at newlines only
- an empty file gives no lines

```python
def lines_{n}(path: Path) -> list[str]:
    \"\"\"Give the lines of a file.\"\"\"
    with path.open(encoding="utf-8") as file:
        return file.read().split("\\n")
```

| Name | Meaning |
|------|---------|
| path | the file to read |
| mode | how it is opened, {n} |

That is all there is to it; the tests of step {n} pass and the next one can begin.
"""
OUTPUT = "\n".join(f"tests/test_{name}.py::test_{name}_works PASSED [{name * 3}%]" for name in range(24))
TOKENS = ["The ", "value ", "of ", "`x` ", "is ", "checked ", "before ", "it ", "is ", "used", ". ", "Then "]


def blocks(count: int) -> list[ReplayBlock]:
    result: list[ReplayBlock] = []
    for n in range(count):
        match n % 10:
            case 0 | 5:
                result.append(ReplayBlock("user", f"Please look at step {n} and tell me what it does."))
            case 1 | 4 | 8:
                result.append(ReplayBlock("assistant", REPLY.replace("{n}", str(n))))
            case _:
                result.append(
                    ReplayBlock(
                        "tool",
                        OUTPUT,
                        call_id=f"call_{n}",
                        tool="bash",
                        display_name="Bash",
                        title=f"pytest -q tests/test_{n}.py",
                        elapsed_s=0.4,
                        summary="24 lines",
                    )
                )
    return result


def tokens(count: int) -> Iterator[str]:
    made = 0
    while True:
        for number in range(1 << 30):
            for piece in _section(number):
                if made == count:
                    return
                made += 1
                yield piece


def _section(number: int) -> Iterator[str]:
    if number % 3 == 0:
        yield from ["\n\n", "## ", "Part ", f"{number}", "\n\n"]
    for _ in range(4):
        yield from TOKENS
    yield "\n\n"
    if number % 4 == 1:
        yield from ["```", "python", "\n"]
        for line in range(12):
            yield from ["x", f"{line}", " = ", "compute", "(", f"{line}", ", ", '"text"', ")", "\n"]
        yield from ["```", "\n\n"]
    if number % 4 == 3:
        for line in range(5):
            yield from ["- ", "item ", f"{line} ", "of ", "the ", "**list**", "\n"]
        yield "\n"
