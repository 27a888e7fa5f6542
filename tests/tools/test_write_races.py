import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.errors import BaseChanged
from agent_tui.protocol.permissions import Risk
from tests.support.file_world import FileWorld, mode_of
from tests.support.write_world import write


def test_h_f5_link_to_the_own_settings_is_refused(files: FileWorld) -> None:
    settings = Path.home() / ".config/agent-tui"
    settings.mkdir(parents=True)
    (files.root / "docs").mkdir()
    (files.root / "docs/link").symlink_to(settings / "config.toml")

    said = write(files, "docs/link", "x")

    assert "agent-tui's own folders" in said
    assert list(settings.iterdir()) == []


def test_approved_file_that_changes_before_the_write_asks_again(files: FileWorld) -> None:
    path = files.put("a.txt", "one\ntwo\n")
    files.read_all("a.txt")
    shown = files.preview("edit", call_id="x", file_path="a.txt", old_string="one", new_string="1")
    files.ctx.files.expect("x", shown.bases)
    path.write_text("one\nTWO\n")

    with pytest.raises(BaseChanged):
        files.only_run("edit", call_id="x", file_path="a.txt", old_string="one", new_string="1")
    assert path.read_text() == "one\nTWO\n"


def test_h_f3_second_review_shows_the_new_content_and_may_be_approved(files: FileWorld) -> None:
    path = files.put("a.txt", "one\ntwo\n")
    files.read_all("a.txt")
    arguments = {"file_path": "a.txt", "old_string": "one", "new_string": "1"}
    files.ctx.files.expect("x", files.preview("edit", call_id="x", **arguments).bases)
    path.write_text("one\nTWO\n")
    files.ctx.files.expect("x", {})

    again = files.preview("edit", call_id="x", **arguments)
    files.ctx.files.expect("x", again.bases)
    result = files.only_run("edit", call_id="x", **arguments)

    assert " TWO" in again.content
    assert not result.is_error, result.output
    assert path.read_text() == "1\nTWO\n"


def test_write_is_not_let_through_by_a_second_review(files: FileWorld) -> None:
    path = files.put("a.txt", "one\n")
    files.read_all("a.txt")
    arguments = {"file_path": "a.txt", "content": "new\n"}
    files.ctx.files.expect("x", files.preview("write", call_id="x", **arguments).bases)
    path.write_text("user\n")
    files.ctx.files.expect("x", {})

    with pytest.raises(Exception, match="modified since it was read"):
        files.preview("write", call_id="x", **arguments)


def test_file_that_appears_before_the_write_is_not_replaced(files: FileWorld) -> None:
    files.next_round()
    files.ctx.files.expect("x", files.preview("write", call_id="x", file_path="a.txt", content="x").bases)
    files.put("a.txt", "theirs\n")

    with pytest.raises(BaseChanged):
        files.only_run("write", call_id="x", file_path="a.txt", content="x")
    assert files.files() == {"a.txt": b"theirs\n"}


def test_preview_of_the_second_call_starts_where_the_first_ends(files: FileWorld) -> None:
    files.put("a.txt", "one\ntwo\n")
    files.read_all("a.txt")
    first = {"file_path": "a.txt", "old_string": "one", "new_string": "1"}
    second = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}
    shown_first = files.preview("edit", call_id="x", **first)
    shown_second = files.preview("edit", call_id="y", **second)
    files.ctx.files.expect("x", shown_first.bases)
    files.ctx.files.expect("y", shown_second.bases)

    assert " 1\n-two\n+2\n" in shown_second.content
    assert not files.only_run("edit", call_id="x", **first).is_error
    assert not files.only_run("edit", call_id="y", **second).is_error
    assert files.files() == {"a.txt": b"1\n2\n"}


def test_second_call_does_not_run_when_the_first_was_denied(files: FileWorld) -> None:
    files.put("a.txt", "one\ntwo\n")
    files.read_all("a.txt")
    files.preview("edit", call_id="x", file_path="a.txt", old_string="one", new_string="1")
    second = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}
    files.ctx.files.expect("y", files.preview("edit", call_id="y", **second).bases)

    with pytest.raises(BaseChanged):
        files.only_run("edit", call_id="y", **second)

    again = files.preview("edit", call_id="y", **second)
    assert " one\n-two\n+2\n" in again.content


def test_file_of_an_earlier_call_can_be_edited_in_the_same_round(files: FileWorld) -> None:
    files.next_round()
    create = {"file_path": "new.txt", "content": "a\n"}
    change = {"file_path": "new.txt", "old_string": "a", "new_string": "b"}
    files.ctx.files.expect("x", files.preview("write", call_id="x", **create).bases)
    files.ctx.files.expect("y", files.preview("edit", call_id="y", **change).bases)

    files.only_run("write", call_id="x", **create)
    result = files.only_run("edit", call_id="y", **change)

    assert not result.is_error, result.output
    assert files.files() == {"new.txt": b"b\n"}


def many_hunks() -> tuple[str, str]:
    old = "".join(f"line {n}\n" for n in range(1, 61))
    return old, old.replace("line 5\n", "five\n").replace("line 30\n", "thirty\n").replace("line 55\n", "")


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [((0,), ["five"]), ((1, 2), ["thirty", "no 55"]), ((0, 1, 2), ["five", "thirty", "no 55"]), ((), [])],
)
def test_only_accepted_hunks_are_made(
    accepted: tuple[int, ...], expected: list[str], files: FileWorld
) -> None:
    old, new = many_hunks()
    path = files.put("a.txt", old)
    files.read_all("a.txt")
    shown = files.preview("write", call_id="x", file_path="a.txt", content=new)
    files.ctx.files.expect("x", shown.bases)
    files.ctx.files.accept_hunks("x", accepted)

    result = files.only_run("write", call_id="x", file_path="a.txt", content=new)

    text = path.read_text()
    found = [word for word in ("five", "thirty") if word in text] + ([] if "line 55" in text else ["no 55"])
    assert shown.hunks == 3
    assert found == expected
    assert ("left out" in result.output) == (len(accepted) < 3)


def test_hunks_are_numbered_through_all_files_of_a_patch(files: FileWorld) -> None:
    files.put("a.txt", "a\n")
    files.put("b.txt", "b\n")
    files.read_all("a.txt", "b.txt")
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-b\n+B\n"
    files.ctx.files.expect("x", files.preview("patch", call_id="x", patch=patch).bases)
    files.ctx.files.accept_hunks("x", (1,))

    files.only_run("patch", call_id="x", patch=patch)

    assert files.files() == {"a.txt": b"a\n", "b.txt": b"B\n"}


@pytest.mark.parametrize(
    "name", [".git/config", ".claude/x", ".mcp.json", ".vscode/tasks.json", "a/.envrc", ".BASHRC"]
)
def test_protected_place_is_high_and_offers_no_lasting_answer(name: str, files: FileWorld) -> None:
    tool = files.tools["write"]

    (need,) = tool.permissions(tool.params_type(file_path=name, content="x"), files.call_context())

    assert need.risk is Risk.HIGH
    assert need.pattern == ""


def test_a_neighbour_with_the_same_start_is_outside(files: FileWorld, tmp_path: Path) -> None:
    (tmp_path / "project2").mkdir()
    tool = files.tools["write"]

    (need,) = tool.permissions(tool.params_type(file_path="../project2/x", content="x"), files.call_context())

    assert need.risk is Risk.HIGH


def test_display_of_a_new_file_is_its_code_and_of_a_change_its_diff(files: FileWorld) -> None:
    arguments: dict[str, Any] = {"file_path": "a.py", "content": "x = 1\n"}
    created = files.shown("write", files.run("write", **arguments), **arguments)
    arguments["content"] = "x = 2\n"
    changed = files.shown("write", files.run("write", **arguments), **arguments)

    assert (created.content, created.content_type) == ("x = 1\n", ResultContentType.CODE)
    assert changed.content_type is ResultContentType.DIFF
    assert "-x = 1\n+x = 2\n" in changed.content
    assert changed.summary == "+1 -1"


def test_new_file_gets_the_usual_mode(files: FileWorld) -> None:
    write(files, "a.txt", "x")
    (files.root / "b.txt").write_text("x")

    assert mode_of(files.root / "a.txt") == mode_of(files.root / "b.txt")


def test_item_38_bom_of_a_replaced_file_stays(files: FileWorld) -> None:
    path = files.put("a.txt", b"\xef\xbb\xbfold\n")
    files.read_all("a.txt")

    write(files, "a.txt", "new\n")

    assert path.read_bytes() == b"\xef\xbb\xbfnew\n"


def test_mixed_line_ends_of_lines_that_stay_are_kept(files: FileWorld) -> None:
    path = files.put("a.txt", b"one\r\ntwo\nthree\r\nfour\n")
    files.read_all("a.txt")

    write(files, "a.txt", "one\ntwo\nTHREE\nfour\nfive\n")

    assert path.read_bytes().startswith(b"one\r\ntwo\nTHREE\nfour\n")


def test_preview_does_not_block_the_loop(files: FileWorld) -> None:
    tool = files.tools["write"]
    params = tool.params_type(file_path="a.txt", content="x\n" * 200_000)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            ticking = group.create_task(tick())
            await tool.preview(params, files.call_context())
            ticking.cancel()

    asyncio.run(both())

    assert ticks > 1
