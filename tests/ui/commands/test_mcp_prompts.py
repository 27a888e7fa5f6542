from pathlib import Path

import pytest

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.mcp_prompts import prompt_values
from agent_tui.ui.servers import PromptView, ResourceView
from tests.support.fake_backend import FakeBackend
from tests.support.screens import Stage, stage

REVIEW = PromptView(
    "forge",
    "Review",
    "mcp__forge__Review",
    "review a change",
    (("language", "", True), ("style", "how strict", False)),
)
HELLO = PromptView("forge", "hello", "mcp__forge__hello", "say hello")


def backend(workspace: Path) -> FakeBackend:
    core = FakeBackend(workspace)
    core.mcp.offered = [REVIEW, HELLO]
    core.mcp.values = {"language": ("python", "perl", "plain english")}
    core.mcp.listed = [
        ResourceView("forge:doc://guide", "the guide"),
        ResourceView("forge:doc://issue/{id}", "an issue", is_template=True),
    ]
    return core


async def ready(here: Stage) -> None:
    await here.until(lambda: here.app.registry.find("mcp__forge__review") is not None)


def offers(here: Stage) -> list[str]:
    return [text.strip() for text in here.app.completion.texts]


@pytest.mark.parametrize(
    ("args", "values"),
    [
        ("python", {"language": "python"}),
        ("style=mild python", {"style": "mild", "language": "python"}),
        ('"plain english" very strict', {"language": "plain english", "style": "very strict"}),
        ("language=c++ 'no mercy'", {"language": "c++", "style": "no mercy"}),
        ("it's", {"language": "it's"}),
        ("x=1", {"language": "x=1"}),
    ],
)
def test_arguments_are_read_by_name_or_in_order(args: str, values: dict[str, str]) -> None:
    assert prompt_values(REVIEW, args) == values


def test_missing_and_needless_arguments_are_told() -> None:
    with pytest.raises(AgentTuiError, match=r"needs language: language \[style\]"):
        prompt_values(REVIEW, "style=mild")
    with pytest.raises(AgentTuiError, match="takes no arguments"):
        prompt_values(HELLO, "you")


async def test_a_prompt_of_a_server_is_a_command_that_begins_a_turn(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await ready(here)
        await here.send("/mcp__forge__review python style=mild")
        await here.until(lambda: here.backend.prompts)

        assert here.backend.mcp.calls[-1] == (
            "prompt",
            "Review",
            {"language": "python", "style": "mild"},
            "/mcp__forge__review python style=mild",
        )
        assert here.backend.prompts == ["the text of Review"]


async def test_a_prompt_without_what_it_needs_is_put_back(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await ready(here)
        await here.send("/mcp__forge__review style=mild")
        await here.until(lambda: any("needs language" in text for text in here.notices))

        assert here.app.prompt.text == "/mcp__forge__review style=mild "
        assert here.backend.prompts == []


async def test_prompts_follow_what_the_servers_offer(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await ready(here)
        here.backend.mcp.offered = [HELLO]
        here.backend.mcp.changed()

        await here.until(lambda: here.app.registry.find("mcp__forge__review") is None)
        assert here.app.registry.find("mcp__forge__hello") is not None


async def test_arguments_are_completed_by_the_server(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await ready(here)
        await here.type("/mcp__forge__review p")
        await here.until(lambda: len(offers(here)) == 3)
        assert set(offers(here)) == {"python", "perl", "'plain english'"}
        await here.type("y")
        await here.until(lambda: offers(here) == ["python"])
        await here.press("tab")
        await here.type(" ")
        await here.until(lambda: offers(here) == ["python style="])

        assert ("suggest", "style", "", {"language": "python"}) in here.backend.mcp.calls


async def test_named_arguments_are_completed_too(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await ready(here)
        await here.type("/mcp__forge__review style=mild language=pe")

        await here.until(lambda: offers(here) == ["style=mild language=perl"])


async def test_resources_stand_in_the_list_behind_at(workspace: Path) -> None:
    (workspace / "forge.txt").write_text("")
    async with stage(workspace, backend=backend(workspace)) as here:
        await ready(here)
        await here.type("look at @forge")
        await here.until(lambda: len(offers(here)) == 3)

        assert [text.split()[0] for text in offers(here)] == [
            "forge:doc://guide",
            "forge:doc://issue/{id}",
            "forge.txt",
        ]
        await here.press("tab")
        assert here.app.prompt.text == "look at @forge:doc://guide "


async def test_a_template_leaves_its_blank_to_the_person(workspace: Path) -> None:
    async with stage(workspace, backend=backend(workspace)) as here:
        await ready(here)
        await here.type("@forge:doc://iss")
        await here.until(lambda: len(offers(here)) == 1)
        await here.press("tab")

        assert here.app.prompt.text == "@forge:doc://issue/"


async def test_a_server_that_fails_is_told_at_once_without_a_prompt(workspace: Path) -> None:
    core = backend(workspace)
    async with stage(workspace, backend=core) as here:
        await ready(here)
        core.mcp.failed = ["The MCP server 'forge' is not available: it exited."]
        core.mcp.changed()

        await here.until(lambda: "! The MCP server 'forge' is not available: it exited." in here.notices)
