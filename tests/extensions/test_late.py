import logging
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.late import LateTools
from agent_tui.extensions.loader import load_tools
from agent_tui.protocol.errors import ToolLoadError
from agent_tui.providers.scripted import text
from agent_tui.run.ahead import load_ahead
from tests.support.agent_world import world

TOOL = """
from pydantic import BaseModel
from agent_tui.toolkit.api import Tool, ToolResult

class Params(BaseModel):
    word: str

class {cls}(Tool[Params]):
    name = "{name}"
    description = "says a word"
    params_type = Params
    readable = True

    def run(self, params, ctx):
        return ToolResult.success(params.word)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "alpha.py").write_text(TOOL.format(cls="Alpha", name="alpha"))
    (tmp_path / "beta.py").write_text(TOOL.format(cls="Beta", name="beta"))
    return tmp_path


def composite(late: LateTools) -> CompositeSource:
    tools = CompositeSource()
    tools.add("bundled", late, late=late)
    return tools


def test_the_names_of_late_tools_are_known_without_loading_one(folder: Path) -> None:
    tools = composite(LateTools(folder)).without(["beta"])

    assert (tools.names(), tools.owns("alpha"), tools.owns("beta"), tools.owns("gamma")) == (
        ["alpha"],
        True,
        False,
        False,
    )
    assert tools.warnings() == []
    assert not tools.is_ready


@pytest.mark.parametrize(
    "need",
    [
        lambda late: late.specs(),
        lambda late: late.readable("alpha"),
        lambda late: late.validate("alpha", '{"word": "x"}'),
        lambda late: late.title("alpha", "{}"),
        lambda late: late.get_ready(),
    ],
)
def test_late_tools_are_loaded_by_the_first_who_needs_one(
    folder: Path, need: Callable[[LateTools], object]
) -> None:
    late = LateTools(folder)

    need(late)

    assert late.is_ready
    assert [spec.name for spec in late.specs()] == ["alpha", "beta"]


def test_whoever_needs_a_late_tool_while_it_is_loaded_waits_and_it_is_loaded_once(folder: Path) -> None:
    entered, go_on = threading.Event(), threading.Event()
    vars(threading)["late_test"] = (entered, go_on, [])
    (folder / "alpha.py").write_text(
        "import threading\nentered, go_on, times = threading.late_test\ntimes.append(1)\nentered.set()\n"
        "go_on.wait(30)\n" + TOOL.format(cls="Alpha", name="alpha")
    )
    late, names = LateTools(folder), list[list[str]]()
    threads = [
        threading.Thread(target=lambda: names.append([spec.name for spec in late.specs()])) for _ in range(2)
    ]
    try:
        for thread in threads:
            thread.start()
        assert entered.wait(30)
        assert not late.is_ready
        go_on.set()
        for thread in threads:
            thread.join(30)

        assert names == [["alpha", "beta"]] * 2
        assert vars(threading)["late_test"][2] == [1]
    finally:
        del vars(threading)["late_test"]


def test_every_bundled_tool_is_called_as_its_file() -> None:
    loaded = load_tools(tools_dir(), source="bundled")

    assert [tool.name for tool in loaded.tools] == list(LateTools(tools_dir()).names())


def test_a_late_tool_that_is_called_otherwise_than_its_file_is_refused(folder: Path) -> None:
    (folder / "alpha.py").write_text(TOOL.format(cls="Alpha", name="omega"))

    with pytest.raises(ToolLoadError, match="'omega' must be called as its file"):
        LateTools(folder).get_ready()


async def test_a_turn_waits_for_late_tools_and_only_then_counts_what_they_take(folder: Path) -> None:
    tools = composite(LateTools(folder))
    agent = world(text("hello")).agent(tools=tools, late=tools)
    assert agent.context_tokens == 0

    result = await agent.run("hello")

    assert result.stop_reason == "end_turn"
    assert tools.is_ready
    assert agent.context_tokens > 0


async def test_a_broken_late_tool_fails_the_turn_with_a_sentence(folder: Path) -> None:
    (folder / "alpha.py").write_text("import nothing_of_this_name")
    tools = composite(LateTools(folder))

    result = await world(text("hello")).agent(tools=tools, late=tools).run("hello")

    assert result.stop_reason == "failed"
    assert "alpha.py" in result.error
    assert "nothing_of_this_name" in result.error


def test_loading_ahead_logs_a_broken_tool_and_goes_on(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "alpha.py").write_text("1 / 0")

    with caplog.at_level(logging.ERROR):
        load_ahead("offline", LateTools(folder).get_ready)

    assert "the bundled tools cannot be loaded" in caplog.text
