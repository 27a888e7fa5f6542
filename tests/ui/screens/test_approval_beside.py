import asyncio
from pathlib import Path

from agent_tui.protocol.permissions import PermissionKind, Risk
from agent_tui.ui.screens.approval.filed import file_lines
from tests.support.approval_requests import (
    bash_request,
    edit_request,
    fetch_request,
    permission,
    settled_request,
)
from tests.support.fake_backend import FakeBackend, approve, wait_for
from tests.support.screens import stage

DENIED = settled_request("d1", "secrets.env", rule="deny Read(*.env)", denied=True)
READ = settled_request("r1", "README.md", rule="built-in: reads the project")


def round_with_settled(workspace: Path) -> FakeBackend:
    step = approve(
        edit_request("c1"), bash_request("c2"), settled=[READ, DENIED], order=["r1", "c1", "d1", "c2"]
    )
    return FakeBackend(workspace, script=[[step]])


async def test_calls_that_rules_settled_stand_in_model_order_with_their_rule(workspace: Path) -> None:
    async with stage(workspace, backend=round_with_settled(workspace), size=(150, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        texts = screen.round.listed()
        picture = here.picture()

        assert [row.call_id for row in texts] == ["r1", "c1", "d1", "c2"]
        assert "Approve 2 calls" in picture
        assert "2 by rule" in picture
        assert "✓ Read  README.md  runs: built-in: reads the project" in picture
        assert "✗ Read  secrets.env  denied: deny Read(*.env)" in picture


async def test_no_key_decides_what_a_rule_settled(workspace: Path) -> None:
    async with stage(workspace, backend=round_with_settled(workspace), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        await here.press("home")
        for key in ("y", "a", "n", "p", "N", "c", "e", "h", "space"):
            await here.press(key)
            assert screen.note.startswith("Nothing to decide here: this call runs"), key
        await here.press("Y", "n", "Y", "enter")
        await here.idle()

        [verdicts] = here.backend.verdicts
        assert set(verdicts) == {"c1", "c2"}


async def test_the_cursor_begins_at_the_first_call_that_asks(workspace: Path) -> None:
    async with stage(workspace, backend=round_with_settled(workspace), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()

        assert screen.row is not None
        assert screen.row.call_id == "c1"


async def test_a_single_call_lists_what_rules_settled_under_its_preview(workspace: Path) -> None:
    step = approve(bash_request("c1"), settled=[READ, DENIED], order=["r1", "d1", "c1"])
    async with stage(workspace, backend=FakeBackend(workspace, script=[[step]])) as here:
        await here.send("go")
        screen = await here.approval()
        assert "+2 by rule" in here.picture()

        await here.press("f")

        assert "denied: deny Read(*.env)" in here.picture()
        await here.until(lambda: screen.row is not None and screen.row.read)
        await here.press("y")
        await here.idle()
        assert here.backend.ran == ["c1"]


async def test_what_was_settled_leaves_with_its_own_caller(workspace: Path) -> None:
    gate, first_shown = asyncio.Event(), asyncio.Event()

    async def both(backend: FakeBackend) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(backend.round([edit_request("c1")], settled=[READ], order=["r1", "c1"]))
            await first_shown.wait()
            group.create_task(backend.round([bash_request("c2")], settled=[DENIED], order=["d1", "c2"]))

    backend = FakeBackend(workspace, script=[[both, wait_for(gate)]])
    async with stage(workspace, backend=backend, size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        first_shown.set()
        await here.until(lambda: len(screen.round.rows) == 2)
        assert [row.call_id for row in screen.round.listed()] == ["r1", "c1", "d1", "c2"]

        await here.press("y", "enter")
        await here.until(lambda: len(screen.round.rows) == 1)

        assert [row.call_id for row in screen.round.listed()] == ["d1", "c2"]
        await here.press("n")
        gate.set()
        await here.idle()


ONE = "diff --git a/src/app.py b/src/app.py\n--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-one\n+first\n"
TWO = "diff --git a/src/app.py b/src/app.py\n--- a/src/app.py\n+++ b/src/app.py\n@@ -9 +9 @@\n-two\n+second\n"


async def test_edits_of_one_file_are_one_diff_in_order_with_the_share_of_each(workspace: Path) -> None:
    requests = [
        edit_request("c1", diff=ONE, hunks=1),
        bash_request("c2"),
        edit_request("c3", diff=TWO, hunks=1),
        edit_request("c4", "src/other.py", diff=ONE, hunks=1),
    ]
    backend = FakeBackend(workspace, script=[[approve(*requests)]])
    async with stage(workspace, backend=backend, size=(110, 40)) as here:
        await here.send("go")
        await here.approval()

        picture = here.picture()
        assert "Edit 1 of 2" in picture
        assert "Edit 2 of 2" in picture
        assert picture.index("first") < picture.index("Edit 2 of 2") < picture.index("second")
        await here.press("y", "down")

        lines = here.picture().splitlines()
        assert any("Edit 1 of 2" in line and "allowed" in line for line in lines)
        assert any("Edit 2 of 2" in line and "← this call" in line for line in lines)
        await here.press("end")
        assert "Edit 1 of" not in here.picture()


async def test_the_label_of_a_match_that_was_not_exact_stands_over_the_diff(workspace: Path) -> None:
    note = "matched with other indentation"
    backend = FakeBackend(workspace, script=[[approve(edit_request("c1", note=note))]])
    async with stage(workspace, backend=backend, size=(110, 40)) as here:
        await here.send("go")
        await here.approval()

        assert note in here.picture()


def test_a_diff_says_which_files_it_makes_moves_and_what_is_lost() -> None:
    diff = (
        "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+a\n+b\n"
        "diff --git a/old.py b/old.py\ndeleted file mode 100644\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-deleted file mode\n"
        "diff --git a/x.py b/y.py\nrename from x.py\nrename to y.py\n"
    )

    assert [line.plain for line in file_lines(diff)] == [
        "New file new.py: 2 lines",
        "Deletes old.py: 1 line is lost",
        "Moves x.py → y.py: +0 -0",
    ]
    assert file_lines(ONE) == []
    assert [line.plain for line in file_lines(ONE + TWO.replace("app", "b"))] == [
        "Changes src/app.py: +1 -1",
        "Changes src/b.py: +1 -1",
    ]


async def test_item_27_targets_with_markup_and_control_characters_are_shown_as_text(workspace: Path) -> None:
    target = "/proj/[bold]x[/bold]\x1b[31m\u202egnp.sh"
    request = edit_request("c1").model_copy(
        update={
            "title": target,
            "permissions": (permission(PermissionKind.WRITE, target, risk=Risk.HIGH),),
            "preview": None,
        }
    )
    backend = FakeBackend(workspace, script=[[approve(request, fetch_request("c2", "https://x.example"))]])
    async with stage(workspace, backend=backend, size=(150, 40)) as here:
        await here.send("go")
        await here.approval()

        picture = here.picture()
        assert "[bold]x[/bold]⟦1b⟧[31m⟦202e⟧gnp.sh" in picture
        assert "\x1b" not in picture
        assert "\u202e" not in picture
