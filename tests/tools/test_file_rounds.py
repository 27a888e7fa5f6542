import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.display import ChangePreview
from agent_tui.protocol.permissions import PermissionRequest, Verdict
from agent_tui.protocol.tools import ToolCall
from agent_tui.toolkit.tool import Tool
from tests.support.round_world import Approver, RoundWorld, effects, make_world, output

World = Callable[..., RoundWorld]


@pytest.fixture
def world(workspace: Path, file_tools: dict[str, Tool[Any]]) -> World:
    tools = CompositeSource()
    tools.add("bundled", ToolFileSource(list(file_tools.values())))

    def make(*reviews: Mapping[str, Verdict | None], **options: Any) -> RoundWorld:
        return make_world(workspace, approver=Approver(*reviews, **options), tools=tools)

    return make


def use(call_id: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(call_id=call_id, name=name, arguments_json=json.dumps(arguments))


def read(call_id: str, path: str = "a.txt") -> ToolCall:
    return use(call_id, "read", file_path=path)


def edit(call_id: str, old: str, new: str, path: str = "a.txt") -> ToolCall:
    return use(call_id, "edit", file_path=path, old_string=old, new_string=new)


def previews(world: RoundWorld) -> list[str]:
    shown = [request.preview for request in world.approver.requests]
    assert all(isinstance(preview, ChangePreview) for preview in shown)
    return [preview.content for preview in shown if preview is not None]


async def test_read_and_edit_of_one_round(world: World, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    made = world()

    batch = await made.run(read("r"), edit("e", "one", "1"))

    assert effects(batch) == {"r": "ran", "e": "ran"}
    assert (workspace / "a.txt").read_text() == "1\ntwo\n"
    assert made.approver.asked == [["e"]]


async def test_edit_behind_a_denied_write_is_asked_again_with_what_is_there(
    world: World, workspace: Path
) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    made = world(deny=["w"])
    await made.run(read("r"))

    batch = await made.run(use("w", "write", file_path="a.txt", content="ONE\ntwo\n"), edit("e", "two", "2"))

    assert made.approver.asked == [["w", "e"], ["e"]]
    assert " ONE" in previews(made)[1]
    assert " one" in previews(made)[2]
    assert effects(batch) == {"w": "denied", "e": "ran"}
    assert (workspace / "a.txt").read_text() == "one\n2\n"


async def test_two_edits_of_one_file_need_one_review(world: World, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    made = world()
    await made.run(read("r"))

    batch = await made.run(edit("e", "one", "1"), edit("f", "two", "2"))

    assert made.approver.asked == [["e", "f"]]
    assert set(effects(batch).values()) == {"ran"}
    assert (workspace / "a.txt").read_text() == "1\n2\n"


async def test_h_f3_file_that_changes_during_the_review_is_shown_again(world: World, workspace: Path) -> None:
    path = workspace / "a.txt"
    path.write_text("one\ntwo\n")
    changes = iter(["one\nTWO\n"])

    def change(_requests: Sequence[PermissionRequest]) -> None:
        if (text := next(changes, None)) is not None:
            path.write_text(text)

    made = world(before=change)
    await made.run(read("r"))

    batch = await made.run(edit("e", "one", "1"))

    assert made.approver.asked == [["e"], ["e"]]
    assert " TWO" in previews(made)[1]
    assert effects(batch) == {"e": "ran"}
    assert path.read_text() == "1\nTWO\n"


async def test_write_over_a_file_that_changed_during_the_review_is_refused(
    world: World, workspace: Path
) -> None:
    path = workspace / "a.txt"
    path.write_text("one\n")
    made = world(before=lambda _requests: path.write_text("user\n") and None)
    await made.run(read("r"))

    batch = await made.run(use("w", "write", file_path="a.txt", content="new\n"))

    assert "modified since it was read" in output(batch, "w")
    assert path.read_text() == "user\n"


async def test_chosen_hunks_only(world: World, workspace: Path) -> None:
    path = workspace / "a.txt"
    text = "".join(f"line {n}\n" for n in range(1, 41))
    path.write_text(text)
    made = world({"w": Verdict(call_id="w", accepted_hunks=(1,))})
    await made.run(read("r"))
    new = text.replace("line 2\n", "two\n").replace("line 39\n", "thirty-nine\n")
    batch = await made.run(use("w", "write", file_path="a.txt", content=new))

    assert path.read_text() == text.replace("line 39\n", "thirty-nine\n")
    assert "left out" in output(batch, "w")


async def test_impossible_edit_is_not_asked(world: World, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\n")
    made = world()
    await made.run(read("r"))

    batch = await made.run(edit("e", "nothing like it", "x"))

    assert made.approver.asked == []
    assert "0 matches" in output(batch, "e")


async def test_edit_whose_read_failed_does_not_run(world: World, workspace: Path) -> None:
    (workspace / "a.txt").write_text("x" * 300_000)
    made = world()

    batch = await made.run(read("r"), edit("e", "x" * 300_000, "y"))

    assert "has not been read yet" in output(batch, "e")
