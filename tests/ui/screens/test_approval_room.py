from itertools import pairwise
from pathlib import Path

import pytest
from textual.content import Content
from textual.geometry import Region

from agent_tui.protocol.permissions import PermissionKind
from agent_tui.ui.screens.approval.pane import Pane, wrapped
from agent_tui.ui.screens.approval.screen import ApprovalScreen
from agent_tui.ui.settings import AppSettings
from agent_tui.ui.widgets.editor import Field
from agent_tui.ui.widgets.rows import Rows
from tests.support.approval_requests import bash_request, edit_request, fetch_request, mixed_round, permission
from tests.support.approval_stage import asking, read
from tests.support.screens import Stage, stage

SIZES = [(20, 5), (20, 3), (30, 8), (40, 12), (76, 11), (60, 20)]
LONG = "git commit --all --message 'a long message that fills more than a row of any small screen' --no-edit"


def lines(here: Stage) -> list[str]:
    return here.picture().split("\n")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("key", "caption"), [("c", "Say to the model"), ("e", "Edit the command"), ("p", "Always")]
)
async def test_what_is_written_is_on_screen_with_what_it_is_for(
    workspace: Path, key: str, caption: str, size: tuple[int, int]
) -> None:
    requests = (bash_request("c1", LONG, pattern="Bash(git *)"), bash_request("c2"))
    async with stage(workspace, backend=asking(workspace, *requests), size=size) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press("G")
        await read(here, screen)
        await here.press(key)
        await here.type("zyx")

        field = screen.query_one(Field).region
        assert field.height > 0
        assert Region(0, 0, *size).contains_region(field)
        assert any("zyx" in line for line in lines(here)[field.y : field.bottom])
        assert caption in here.picture()

        await here.press("escape")
        await here.until(lambda: "zyx" not in here.picture())
        assert screen.query_one(".title").display


@pytest.mark.parametrize("size", [(20, 5), (30, 8), (40, 12)])
async def test_why_shows_the_reasons_where_there_is_hardly_any_room(
    workspace: Path, size: tuple[int, int]
) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=size) as here:
        await here.send("go")
        await here.approval()

        await here.press("?")
        await here.until(lambda: "Why this asks" in here.picture())
        await here.press("escape")
        await here.until(lambda: "Why this asks" not in here.picture() and "Edit" in here.picture())


async def test_a_lasting_answer_names_the_file_it_is_written_to(workspace: Path) -> None:
    settings = AppSettings(grace_s=0.0, typing_s=0.0, grants_file=Path.home() / ".state" / "grants.jsonl")
    backend = asking(workspace, bash_request("c1"), bash_request("c2", "rm x"))
    async with stage(workspace, backend=backend, settings=settings) as here:
        await here.send("go")
        screen = await here.approval()
        await read(here, screen)

        await here.press("p")
        assert "for this project, in ~/.state/grants.jsonl" in screen.note
        await here.press("tab")
        assert "for every project, in ~/.state/grants.jsonl" in screen.note
        await here.press("enter")
        assert "for every project, in ~/.state/grants.jsonl: Enter again stores it" in screen.note
        await here.press("tab")
        assert "for this session" in screen.note
        assert "grants.jsonl" not in screen.note

        await here.pilot.resize_terminal(40, 12)
        await here.press("tab", "enter")
        assert screen.note == "This project, in ~/.state/grants.jsonl: Enter again stores it"


@pytest.mark.parametrize(
    ("presses", "order", "headings"),
    [
        (
            1,
            ["c1", "c2", "c3", "c4", "c5", "c6", "c7"],
            ["Edit(/src/**)  ×2", "execute, once only  ×1", "Bash(ruff check *)  ×1"],
        ),
        (
            2,
            ["c1", "c2", "c7", "c3", "c4", "c5", "c6"],
            ["Edit  ×3", "Bash  ×2", "Fetch  ×1", "mcp__db__query  ×1"],
        ),
        (
            3,
            ["c1", "c2", "c3", "c4", "c5", "c6", "c7"],
            ["/proj/src/app.py  ×1", "/proj/src/cli.py  ×1", "no file  ×4", "/proj/../outside.txt  ×1"],
        ),
        (4, ["c1", "c2", "c3", "c4", "c5", "c6", "c7"], ["main agent  ×6", "reviewer  ×1"]),
        (5, ["c1", "c2", "c3", "c4", "c5", "c6", "c7"], []),
    ],
)
@pytest.mark.parametrize("size", [(80, 50), (120, 50)])
async def test_each_grouping_puts_its_calls_below_a_heading(
    workspace: Path, presses: int, order: list[str], headings: list[str], size: tuple[int, int]
) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=size) as here:
        await here.send("go")
        screen = await here.approval()
        calls = screen.query_one(".calls", Rows)

        await here.press(*["g"] * presses)

        assert calls.headings[: len(headings)] == headings
        left = [line[: calls.region.right] for line in lines(here)]
        at = [
            next(n for n, line in enumerate(left) if line[1:].strip(" │") == heading) for heading in headings
        ]
        assert at == sorted(at)
        await here.press("home")
        walked: list[str] = []
        for _ in order:
            assert screen.row is not None
            walked.append(screen.row.call_id)
            await here.press("down")
        assert walked == order


async def test_a_file_heading_names_the_file_within_the_project_and_a_click_on_it_does_nothing(
    workspace: Path,
) -> None:
    inside = bash_request("c1", extra=(permission(PermissionKind.WRITE, f"{workspace}/out.txt", id="p1"),))
    async with stage(workspace, backend=asking(workspace, inside, edit_request("c2")), size=(80, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press("g", "g", "g", "down")
        assert screen.query_one(".calls", Rows).headings[0] == "out.txt  ×1"

        await here.pilot.click(".calls", offset=(3, 0))
        assert screen.row is not None
        assert screen.row.call_id == "c2"
        await here.pilot.click(".calls", offset=(3, 1))
        assert screen.row.call_id == "c1"


async def test_what_is_special_about_a_call_outlasts_its_target(workspace: Path) -> None:
    requests = [
        edit_request(f"c{n}", "src/a_long_folder_name/another_folder/app.py", origin="reviewer")
        for n in (1, 2)
    ]
    async with stage(workspace, backend=asking(workspace, *requests), size=(80, 24)) as here:
        await here.send("go")
        await here.approval()
        await here.press("c")
        await here.type("ok")
        await here.press("enter", "a")
        await here.settle()

        row = next(line for line in lines(here) if "✓ Edit" in line)
        left = row.split("│")[1]
        assert "↳ " in left
        assert "“…”" in left
        assert "session" in left
        assert "…" in left.split("↳")[0]


async def test_a_network_without_a_proxy_and_a_denial_are_said_in_words(workspace: Path) -> None:
    raw = permission(PermissionKind.NETWORK, "raw:*", id="p1", reason="git uses the network")
    meant = permission(PermissionKind.NETWORK, "raw:db.local", id="p1")
    requests = (
        bash_request("c1", "git push", extra=(raw,)),
        bash_request("c2", "psql", extra=(meant,)),
        fetch_request("c3", "docs.example.com", pattern=""),
    )
    async with stage(workspace, backend=asking(workspace, *requests), size=(100, 40)) as here:
        await here.send("go")
        await here.approval()

        assert "○ network: any host  ×1  !" in here.picture()
        assert "○ network: any host (db.local is meant)  ×1  !" in here.picture()
        assert "○ network: docs.example.com  ×1  !" in here.picture()
        assert "○ ! network any host" in here.picture()
        assert "raw:" not in here.picture()

        await here.press("n")
        assert "✗ network: any host  ×1  !  denied" in here.picture()


def marked(screen: ApprovalScreen) -> list[str]:
    rows, style = (
        screen.query_one(".calls", Rows),
        screen.query_one(".calls", Rows).get_visual_style("rows--marked"),
    )
    behind = style.rich_style.bgcolor
    drawn = [list(rows.render_line(y)) for y in range(rows.count)]
    ids = [row.call_id for row in screen.round.rows]
    return [
        one
        for one, line in zip(ids, drawn, strict=True)
        if line[-1].style and line[-1].style.bgcolor == behind
    ]


async def test_the_calls_of_the_focused_permission_are_marked(workspace: Path) -> None:
    async with stage(workspace, backend=asking(workspace, *mixed_round()), size=(120, 40)) as here:
        await here.send("go")
        screen = await here.approval()
        await here.press("down", "down")
        assert marked(screen) == []

        await here.press("tab")
        assert marked(screen) == ["c1", "c2", "c3"]  # the cursor, which has lost the keys, looks the same
        await here.press("down", "down")
        assert marked(screen) == ["c3", "c4"]
        await here.press("escape")
        assert marked(screen) == []


@pytest.mark.parametrize("width", [8, 11, 19, 40])
@pytest.mark.parametrize(
    "text",
    [
        LONG,
        "    indented words that go on and on",
        "a" + " " * 30 + "b",
        "averyverylongwordthatfillsmorethanonerow and more",
        "宽字 mixed 宽字宽字宽字宽字 with words",
    ],
)
def test_a_line_is_broken_after_blanks_and_nothing_of_it_is_lost(text: str, width: int) -> None:
    rows = [row.plain for row in wrapped(Content(text), width)]

    assert "".join(rows) == text
    assert all(row.cell_length <= width for row in wrapped(Content(text), width))
    for row, after in pairwise(rows):
        within_a_word = not row.endswith(" ") and not after.startswith(" ")
        if within_a_word:
            assert " " not in row.lstrip(" ")
            assert Content(row).cell_length >= width - 1


async def test_the_preview_breaks_no_word_that_fits_a_row(workspace: Path) -> None:
    async with stage(
        workspace, backend=asking(workspace, bash_request("c1", LONG), bash_request("c2")), size=(80, 24)
    ) as here:
        await here.send("go")
        screen = await here.approval()
        pane = screen.query_one(Pane)
        seen = " ".join("".join(s.text for s in pane.render_line(y)) for y in range(8)).split()

        assert [word for word in LONG.split() if word not in seen] == []
