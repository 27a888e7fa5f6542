import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from agent_tui.config.load import Layer, load
from agent_tui.extensions.plugged import process, wire
from agent_tui.extensions.plugged.feed import MAX_WAITING
from agent_tui.extensions.plugged.person import MAX_NOTICES
from agent_tui.extensions.plugged.plug import Pace
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.events import TurnFinished
from agent_tui.protocol.messages import TokenUsage
from tests.support.patience import until
from tests.support.plug_world import plug_world

PAGE = (Path(__file__).parents[2] / "docs" / "extensions.md").read_text()


def example(language: str, containing: str = "") -> str:
    found = [text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if containing in text]
    return found[0]


def has_perl() -> bool:
    perl = shutil.which("perl")
    return (
        perl is not None
        and subprocess.run([perl, "-MJSON::PP", "-e", "1"], capture_output=True).returncode == 0
    )


async def test_the_python_example_finds_tickets_and_begins_one(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "tickets.py").write_text(example("python"))
    (workspace / "TICKETS.md").write_text("#3 Rename the thing\n")

    async with plug_world(workspace, tmp_path / "e") as world:
        assert world.notices == []
        result = await world.call("find_ticket", number=3)
        shown = world.tools.show("find_ticket", "{}", result)
        assert (result.output, shown.content) == ("#3 Rename the thing", "**#3 Rename the thing**")
        assert await world.title("find_ticket", number=3) == "#3"
        with pytest.raises(ToolError, match="There is no ticket #4"):
            await world.call("find_ticket", number=4)
        await world.host.run_command("ticket", "3")
        assert world.person.submitted == ["Find ticket #3 and do what it asks for."]
        assert world.host.statuses() == ("#3",)
        world.person.answer = False
        await world.host.run_command("ticket", "3")
        assert world.person.notices == [("info", "tickets: Nothing was begun.")]


@pytest.mark.skipif(not has_perl(), reason="needs perl with JSON::PP")
async def test_the_perl_example_speaks_the_protocol(workspace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "e"
    folder.mkdir()
    (folder / "words.toml").write_text(example("toml", "words.pl"))
    (folder / "words.pl").write_text(example("perl"))

    async with plug_world(workspace, folder) as world:
        assert (await world.call("count_words", text="one two  three")).output == "3 words"
        assert await world.title("count_words", text="one two") == "one two"
        failed = await world.call("count_words", text=" ")
        assert (failed.output, failed.is_error) == ("There is no word in the text.", True)
        await world.host.run_command("count", "a b")
        assert world.person.notices == [("info", "words: 2 words")]
        world.host.hear(TurnFinished(turn_id="t", stop_reason="end_turn", usage=TokenUsage()))
        await until(lambda: world.host.statuses() == ("last turn: end_turn",))


def test_the_settings_and_the_entry_point_of_the_page_are_valid(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(example("toml", "[extensions]"))

    loaded = load([Layer("user", tmp_path / "config.toml")])

    assert not loaded.problems
    assert loaded.settings.extensions.disable == ("tickets",)
    assert "agent_tui.extensions" in tomllib.loads(example("toml", "entry-points"))["project"]["entry-points"]


def test_every_message_with_its_fields_is_on_the_page() -> None:
    kinds = [
        kind
        for kind in vars(wire).values()
        if isinstance(kind, type) and issubclass(kind, wire.BaseModel) and "type" in kind.model_fields
    ]
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \|(.*?)\|", PAGE, re.MULTILINE)}

    assert len(kinds) == 10
    for kind in kinds:
        name = kind.__name__.replace("SetStatus", "set_status")
        name = {"RegisterTool": "register_tool", "RegisterCommand": "register_command"}.get(
            name, name.lower()
        )
        for field, info in kind.model_fields.items():
            if field != "type":
                assert f"`{info.alias or field}`" in rows[name], f"{name}.{field}"


def test_figures_of_the_page_are_those_of_the_program() -> None:
    pace = Pace()

    assert f"handshake has {pace.handshake_s:g} seconds" in PAGE
    assert f"after {pace.shutdown_s:g} seconds in all" in PAGE
    assert f"It has {pace.detail_s:g} second" in PAGE
    assert f"a listener has {pace.event_s:g} s" in PAGE
    assert f"At most {MAX_NOTICES} in ten seconds" in PAGE
    assert f"At most {MAX_WAITING:,} wait" in PAGE
    assert f"More than {process.MAX_NOISE_LINES:,} lines" in PAGE
    assert process.MAX_FAILURES == 3
