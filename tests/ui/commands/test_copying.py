from pathlib import Path

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.commands.copying import CodeBlock, code_blocks
from agent_tui.ui.screens.picker import Picker
from tests.support.fake_backend import FakeBackend
from tests.support.screens import stage

REPLY = """Do this:

```python
def f():
    return 1
```

and

~~~
plain ``` inside
~~~

1. in a list:
   ```sh
   make
     indented
   ```
"""


def test_fenced_blocks_are_found_with_language_and_without_their_indent() -> None:
    assert code_blocks(REPLY) == [
        CodeBlock("python", "def f():\n    return 1"),
        CodeBlock("", "plain ``` inside"),
        CodeBlock("sh", "make\n  indented"),
    ]


def test_a_fence_that_is_not_closed_goes_to_the_end() -> None:
    assert code_blocks("x\n````js\na\n```\nb") == [CodeBlock("js", "a\n```\nb")]
    assert code_blocks("no `code` here") == []


async def test_copy_lets_one_of_the_code_blocks_be_picked(workspace: Path) -> None:
    backend = FakeBackend(workspace, blocks=[ReplayBlock(kind="assistant", text=REPLY)])
    async with stage(workspace, backend=backend) as here:
        await here.send("/copy")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        picture = here.picture()
        assert "The whole reply" in picture
        assert "python: def f():" in picture
        await here.press(*"make", "enter")
        await here.until(lambda: here.app.clipboard == "make\n  indented")

        await here.send("/copy")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("enter")
        await here.until(lambda: here.app.clipboard == REPLY)
