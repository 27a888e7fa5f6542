import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.display import ChangePreview
from agent_tui.protocol.permissions import Verdict
from agent_tui.protocol.tools import ToolCall
from agent_tui.toolkit.tool import Tool
from tests.support.round_world import Approver, FakePolicy, RoundWorld, effects, make_world, output


@pytest.fixture(scope="module")
def bundled() -> Sequence[Tool[Any]]:
    loaded = load_tools(tools_dir(), source="bundled")
    assert loaded.failures == []
    return loaded.tools


def use(call_id: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(call_id=call_id, name=name, arguments_json=json.dumps(arguments))


def edit(call_id: str, old: str, new: str) -> ToolCall:
    return use(call_id, "edit", file_path="notes.txt", old_string=old, new_string=new)


@pytest.fixture
def notes(workspace: Path) -> Path:
    file = workspace / "notes.txt"
    file.write_text("one\ntwo\nthree\n")
    return file


def world_of(bundled: Sequence[Tool[Any]], workspace: Path, approver: Approver, **options: Any) -> RoundWorld:
    return make_world(
        workspace, tools=ToolFileSource(bundled), approver=approver, policy=FakePolicy(), **options
    )


def previews(approver: Approver) -> dict[str, ChangePreview]:
    return {r.call_id: r.preview for r in approver.requests if isinstance(r.preview, ChangePreview)}


async def test_a_read_and_two_edits_of_one_file_pass_in_one_round(
    bundled: Sequence[Tool[Any]], workspace: Path, notes: Path
) -> None:
    approver = Approver()
    world = world_of(bundled, workspace, approver)

    batch = await world.run(
        use("r", "read", file_path="notes.txt"), edit("e0", "one", "1"), edit("e1", "two", "2")
    )

    assert effects(batch) == {"r": "ran", "e0": "ran", "e1": "ran"}
    assert approver.asked == [["e0", "e1"]]
    assert "-two" in previews(approver)["e1"].content
    assert notes.read_text() == "1\n2\nthree\n"


async def test_an_edit_behind_a_denied_one_is_reviewed_again_on_what_is_there(
    bundled: Sequence[Tool[Any]], workspace: Path, notes: Path
) -> None:
    approver = Approver(deny=["e0"])
    world = world_of(bundled, workspace, approver)

    batch = await world.run(
        use("r", "read", file_path="notes.txt"), edit("e0", "one", "1"), edit("e1", "two", "2")
    )

    assert approver.asked == [["e0", "e1"], ["e1"]]
    assert effects(batch) == {"r": "ran", "e0": "denied", "e1": "ran"}
    assert notes.read_text() == "one\n2\nthree\n"


async def test_an_edit_of_what_a_denied_edit_would_have_made_is_told_so(
    bundled: Sequence[Tool[Any]], workspace: Path, notes: Path
) -> None:
    approver = Approver(deny=["e0"])
    world = world_of(bundled, workspace, approver)

    batch = await world.run(
        use("r", "read", file_path="notes.txt"), edit("e0", "one", "zero"), edit("e1", "zero", "2")
    )

    assert effects(batch)["e1"] == "invalid"
    assert notes.read_text() == "one\ntwo\nthree\n"


async def test_an_edit_whose_file_changed_while_the_screen_was_open_shows_the_new_diff(
    bundled: Sequence[Tool[Any]], workspace: Path, notes: Path
) -> None:
    def meddle(requests: Sequence[Any]) -> None:
        if not requests[0].second_review:
            notes.write_text("one\ntwo\nthree\nfour\n")

    approver = Approver(before=meddle)
    world = world_of(bundled, workspace, approver)

    await world.run(use("r", "read", file_path="notes.txt"))
    batch = await world.run(edit("e0", "one", "1"))

    assert approver.asked == [["e0"], ["e0"]]
    assert effects(batch) == {"e0": "ran"}
    assert notes.read_text().endswith("three\nfour\n")


async def test_only_the_accepted_hunks_of_an_edit_are_written(
    bundled: Sequence[Tool[Any]], workspace: Path
) -> None:
    file = workspace / "notes.txt"
    file.write_text("".join(f"line {n}\n" for n in range(60)))
    approver = Approver({"e0": Verdict(call_id="e0", accepted_hunks=(1,))})
    world = world_of(bundled, workspace, approver)
    edits = [
        {"old_string": "line 3\n", "new_string": "three\n"},
        {"old_string": "line 50\n", "new_string": "fifty\n"},
    ]

    await world.run(use("r", "read", file_path="notes.txt"))
    batch = await world.run(use("e0", "edit", file_path="notes.txt", edits=edits))

    assert previews(approver)["e0"].hunks == 2
    assert effects(batch) == {"e0": "ran"}
    assert "line 3\n" in file.read_text()
    assert "fifty\n" in file.read_text()
    assert "left out: 1" in output(batch, "e0")


async def test_edits_that_a_rule_allows_follow_one_another(
    bundled: Sequence[Tool[Any]], workspace: Path, notes: Path
) -> None:
    approver = Approver()
    world = world_of(bundled, workspace, approver)

    await world.run(use("r", "read", file_path="notes.txt"))
    world.rounds.policy = FakePolicy(allow=["edit"])
    batch = await world.run(edit("e0", "one", "1"), edit("e1", "two", "2"), edit("e2", "three", "3"))

    assert effects(batch) == {"e0": "ran", "e1": "ran", "e2": "ran"}
    assert notes.read_text() == "1\n2\n3\n"


def test_every_bundled_tool_has_a_clean_schema_and_a_display(bundled: Sequence[Tool[Any]]) -> None:
    source = ToolFileSource(bundled)

    for spec in source.specs():
        assert spec.input_schema["type"] == "object"
        assert '"title"' not in json.dumps({k: v for k, v in spec.input_schema.items() if k != "properties"})
        assert source.display_name(spec.name)
        assert spec.description
