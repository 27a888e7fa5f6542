import re
from pathlib import Path

import pytest

from agent_tui.providers.scripted import calls, text, use
from tests.support.core_world import config_folder, configure, open_core
from tests.support.hook_world import say

PAGE = (Path(__file__).parents[2] / "docs" / "extensions.md").read_text()


def extension(source: str, name: str = "mine") -> None:
    folder = config_folder() / "extensions"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(source)


def answering(event: str, body: str) -> None:
    extension(
        f"def extend(extension):\n    def hook(facts):\n        {body}\n    extension.hook({event!r}, hook)\n"
    )


async def test_x13_the_hook_of_the_page_keeps_a_push_back(workspace: Path) -> None:
    found = re.search(r"```python\n(def extend[^`]*\.hook\([^`]*)```", PAGE)
    assert found is not None
    extension(found[1])
    script = [calls(use("bash", {"command": "git push"})), text("done")]
    async with open_core(workspace, *script) as world:
        await world.core.run_turn("go")

        assert world.denials == ["Blocked by a hook: pushing is for people"]
        listing = await world.core.house.hooks()
        assert ("extension", "extension mine") in listing.rows


async def test_python_comes_after_the_settings_and_rewrites_what_they_made(workspace: Path) -> None:
    rewrite = say('{"arguments": {"file_path": "b.txt"}}').replace('"', '\\"')
    configure(f'[[hooks.PreToolUse]]\ncommand = "{rewrite}"\ntimeout_s = 60\n')
    (workspace / "b.txt2").write_text("at last\n")
    answering("pre_tool", 'return {"arguments": {"file_path": facts["tool_input"]["file_path"] + "2"}}')
    read = calls(use("read", {"file_path": "a.txt"}))
    async with open_core(workspace, read, text("done")) as world:
        await world.core.run_turn("go")

        assert "at last" in world.results[0]


async def test_an_async_hook_adds_to_a_prompt(workspace: Path) -> None:
    extension(
        "async def hook(facts):\n    return {'context': 'heard ' + facts['prompt']}\n\n"
        "def extend(extension):\n    extension.hook('UserPromptSubmit', hook)\n"
    )
    async with open_core(workspace, text("done")) as world:
        await world.core.run_turn("hello")

        assert "<system-note>heard hello</system-note>" in world.words()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('x')", "KeyError"),
        ("return {'decison': 'deny'}", "decison"),
        ("return 'no'", "not usable"),
        ("return {'decision': object()}", "no JSON object"),
        ("return {'output': 'x'}", "does not take"),
    ],
)
async def test_x31_a_python_guard_that_fails_lets_nothing_run(workspace: Path, body: str, words: str) -> None:
    answering("pre_tool", body)
    async with open_core(workspace, calls(use("list", {"path": "."})), text("done")) as world:
        await world.core.run_turn("go")

        assert world.results == []
        assert words in world.denials[0]


async def test_a_hook_that_there_is_not_leaves_the_extension_out_and_says_so(workspace: Path) -> None:
    answering("pre_tol", "return None")
    async with open_core(workspace, text("done")) as world:
        assert any("there is no hook 'pre_tol'" in text for text in world.core.notices())
