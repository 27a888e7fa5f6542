import re
from pathlib import Path

from agent_tui.agent.turn_hooks import MAX_GO_ONS
from agent_tui.conversation.session_hooks import END_LIMIT_S
from agent_tui.extensions.hooks.events import ANSWERS, CONTEXT_LIMIT_BYTES, GUARDING, OTHER_NAMES, EventName
from agent_tui.extensions.hooks.settings import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S
from agent_tui.providers.scripted import calls, text, use
from tests.support.core_world import configure, open_core

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| [^|]*\|([^|]*)\|$", PAGE, re.MULTILINE))


async def test_x13_the_example_blocks_a_push_and_reminds_of_the_tests(workspace: Path) -> None:
    found = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    configure(
        found[1]
        .replace("[[hooks.", "[permissions]\nallow = ['Edit(**)']\n[[hooks.", 1)
        .replace("command", "timeout_s = 60\ncommand")
    )
    script = [
        calls(use("bash", {"command": "git push origin main"})),
        calls(
            use("write", {"file_path": "a.py", "content": "x = 1\n"}),
            use("write", {"file_path": "a.md", "content": "x\n"}),
        ),
        text("done"),
    ]
    async with open_core(workspace, *script) as world:
        await world.core.run_turn("go")

        assert world.core.notices() == [text for text in world.core.notices() if "hook" not in text]
        assert world.denials == ["Blocked by a hook: pushing is for people"]
        assert [result.endswith("Run the tests before you say it is done.") for result in world.results] == [
            True,
            False,
        ]


def test_the_table_says_what_each_event_takes() -> None:
    assert set(ROWS) >= set(EventName)
    for name in EventName:
        said = set(
            re.findall(
                r"\b(deny|allow|ask|arguments|context|output|stop)\b", ROWS[name].split("(")[0].split(":")[0]
            )
        )
        assert said == ANSWERS[name], name


def test_figures_and_names_of_the_page_are_those_of_the_program() -> None:
    assert f"| {DEFAULT_TIMEOUT_S:g} without it, at most {MAX_TIMEOUT_S:g}." in PAGE
    assert f"{END_LIMIT_S:g} s" in PAGE
    assert f"at most {CONTEXT_LIMIT_BYTES // 1024} KiB" in PAGE
    assert f"at most {MAX_GO_ONS} times" in PAGE
    closed = re.search(r"True at (.*?) without it", PAGE)
    assert closed is not None
    assert set(re.findall(r"`(\w+)`", closed[1])) == GUARDING
    assert {name for name in OTHER_NAMES if name in PAGE} >= {"PreToolUse", "PostToolUse", "PreCompact"}
