from pathlib import Path

import pytest
from acp.exceptions import RequestError
from acp.schema import (
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    ImageContentBlock,
)

from agent_tui.headless.acp import calls
from agent_tui.headless.acp.content import mention, read_prompt
from agent_tui.headless.acp.conversation import ContextUse
from agent_tui.headless.acp.diffs import Hunk, read_hunks
from agent_tui.headless.acp.replay import replayed
from agent_tui.headless.acp.updates import SessionUpdates, plan, usage
from agent_tui.protocol.display import DisplayResult, ResultContentType
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.toolkit.diffing import changes
from agent_tui.toolkit.git_diff import Side, file_diff
from tests.support.acp_schema import check

WORKSPACE = Path("/ws/proj")


def printed(name: str, old: list[str] | None, new: list[str] | None) -> str:
    sides = (
        Side(name, old or [], 0o644 if old is not None else None),
        Side(name, new or [], 0o644 if new is not None else None),
    )
    return file_diff(*sides, changes(old or [], new or [])).text


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def test_a_hunk_has_the_text_on_both_sides_and_the_line_it_begins_at() -> None:
    old = [f"{n}\n" for n in range(40)]
    new = [*old[:10], "ten\n", *old[11:30], *old[31:]]

    first, second = read_hunks(printed("a.txt", old, new))

    assert (first.path, first.line) == ("a.txt", 8)
    assert first.old == "7\n8\n9\n10\n11\n12\n13\n"
    assert first.new == "7\n8\n9\nten\n11\n12\n13\n"
    assert second.old == "27\n28\n29\n30\n31\n32\n33\n"
    assert second.new == "27\n28\n29\n31\n32\n33\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, "a\nb", Hunk("x", 1, None, "a\nb")),
        ("a\nb\n", None, Hunk("x", 1, "a\nb\n", "")),
        ("a\nb", "a\nb\n", Hunk("x", 1, "a\nb", "a\nb\n")),
        ("a\nb\n", "a\nb", Hunk("x", 1, "a\nb\n", "a\nb")),
        ("-- x\n", "++ y\n", Hunk("x", 1, "-- x\n", "++ y\n")),
    ],
)
def test_new_deleted_and_unended_files_are_read(old: str | None, new: str | None, expected: Hunk) -> None:
    text = printed("x", None if old is None else lines(old), None if new is None else lines(new))

    assert read_hunks(text) == [expected]


def test_several_files_are_told_apart() -> None:
    text = printed("one", ["a\n"], ["b\n"]) + printed("two/three", ["c\n"], ["d\n"])

    assert [(hunk.path, hunk.old, hunk.new) for hunk in read_hunks(text)] == [
        ("one", "a\n", "b\n"),
        ("two/three", "c\n", "d\n"),
    ]


def test_a_cut_hunk_and_what_is_no_diff_give_none() -> None:
    whole = printed("x", [f"{n}\n" for n in range(9)], [f"{n}!\n" for n in range(9)])

    assert read_hunks(whole[: len(whole) // 2]) == []
    assert read_hunks("no diff at all\n@@ -1 +1 @@\nbroken") == []
    assert read_hunks(printed('quo"ted\n', ["a\n"], ["b\n"])) == []


def test_a_cut_diff_says_so_and_a_diff_without_hunks_is_text() -> None:
    text = printed("x", ["a\n"], ["b\n"])
    cut = DisplayResult(content=text, content_type=ResultContentType.DIFF, is_truncated=True)
    contents, places = calls.contents_of(cut, WORKSPACE)

    assert contents[0] == FileEditToolCallContent(
        type="diff", path="/ws/proj/x", old_text="a\n", new_text="b\n"
    )
    assert "longer than what is shown" in str(contents[1])
    assert [(place.path, place.line) for place in places] == [("/ws/proj/x", 1)]
    renamed = DisplayResult(content="rename from a\nrename to b\n", content_type=ResultContentType.DIFF)
    [shown] = calls.contents_of(renamed, WORKSPACE)[0]
    assert shown.content.text == "```diff\nrename from a\nrename to b\n```"


def test_text_cannot_leave_its_fence_nor_control_a_terminal() -> None:
    [shown] = calls.text_contents("a\n```\nb\n````\nc\x1b[31m red")

    assert shown.content.text == "`````\na\n```\nb\n````\nc red\n`````"
    assert calls.text_contents(" \n ") == []


def test_locations_come_from_the_arguments() -> None:
    def where(arguments: object) -> list[tuple[str, int | None]]:
        return [(place.path, place.line) for place in calls.places_of(arguments, WORKSPACE)]

    assert where({"file_path": "a.py", "offset": 7}) == [("/ws/proj/a.py", 7)]
    assert where({"path": "/etc/hosts", "offset": True}) == [("/etc/hosts", None)]
    assert where({"command": "ls"}) == where("no object") == where({"path": 3}) == []
    assert calls.raw_input("{broken") == "{broken"


@pytest.mark.parametrize(
    ("uri", "name", "expected"),
    [
        ("file:///ws/proj/src/a.py", "", "@src/a.py"),
        ("file:///ws/proj/src/a.py#L3", "", "@src/a.py#3"),
        ("file:///ws/proj/a%20b.py#L3-L9", "", '@"a b.py"#3-9'),
        ("file:///etc/hosts", "hosts", "@/etc/hosts"),
        ("https://example.invalid/x", "x", "[x](https://example.invalid/x)"),
        ("zed:///thread/1", "", "zed:///thread/1"),
        ("src/a.py", "", "@src/a.py"),
    ],
)
def test_resources_are_named_as_the_model_can_use_them(uri: str, name: str, expected: str) -> None:
    assert mention(uri, name, WORKSPACE) == expected


def test_an_embedded_image_is_an_image_and_another_binary_is_refused() -> None:
    def block(media_type: str) -> EmbeddedResourceContentBlock:
        blob = BlobResourceContents(uri="file:///ws/proj/a.bin", blob="AAAA", mime_type=media_type)
        return EmbeddedResourceContentBlock(type="resource", resource=blob)

    prompt = read_prompt([block("image/png")], WORKSPACE)

    assert (prompt.text, [image.data for image in prompt.images]) == ("a.bin", ["AAAA"])
    with pytest.raises(
        RequestError, match="Block 1 of the prompt: a application/zip file cannot be attached"
    ):
        read_prompt([block("application/zip")], WORKSPACE)
    with pytest.raises(RequestError, match="not base64"):
        read_prompt([ImageContentBlock(type="image", data="no!", mime_type="image/png")], WORKSPACE)
    with pytest.raises(RequestError, match="image/tiff"):
        read_prompt([ImageContentBlock(type="image", data="AAAA", mime_type="image/tiff")], WORKSPACE)


def test_every_kind_of_stored_block_is_told_and_valid() -> None:
    blocks = [
        ReplayBlock("user", "hello"),
        ReplayBlock("thinking", "hm"),
        ReplayBlock(
            "tool", "out", call_id="c1", tool="bash", display_name="Bash", title="ls", state="denied"
        ),
        ReplayBlock("tool", "cut", tool="nobody_knows", display_name="X", state="interrupted"),
        ReplayBlock("decision", "Bash: denied"),
        ReplayBlock("notice", "Stopped."),
        ReplayBlock("assistant", "bye"),
    ]

    told = list(replayed(blocks, WORKSPACE))

    assert [update.session_update for update in told] == [
        "user_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call",
        "agent_message_chunk",
        "agent_message_chunk",
    ]
    for update in [*told, plan(()), usage(ContextUse(5, 10, None)), usage(ContextUse(5, 10, 0.5))]:
        check(type(update), update.model_dump(mode="json", by_alias=True, exclude_none=True))


async def test_live_output_is_told_as_a_tail_and_not_too_often() -> None:
    from agent_tui.protocol.events import Notice, Retrying, ToolOutput, ToolStarted, Usage
    from agent_tui.protocol.messages import TokenUsage

    sent: list[object] = []

    async def send(update: object) -> None:
        sent.append(update)

    updates = SessionUpdates(_Still(), send)
    await updates(ToolStarted(turn_id="t", call_id="c", tool="bash", display_name="Bash", title="seq"))
    sent.clear()
    for number in range(200):
        await updates(ToolOutput(turn_id="t", call_id="c", text=f"{number}\n"))
    few = len(sent)
    sent.clear()
    await updates(Usage(turn_id="t", usage=TokenUsage()))
    await updates(Retrying(turn_id="t", attempt=2, max_attempts=5, wait_s=3.0, reason="busy"))
    await updates(Notice(turn_id="t", text="look\nhere"))

    assert 1 <= few < 20
    assert "'used': 12" in str([update.model_dump() for update in sent])
    assert "attempt 2 of 5 in 3 s" in str(sent)
    assert "> look\\n> here" in str(sent)


class _Still:
    """A conversation in which nothing changes."""

    workspace = WORKSPACE
    mode = "default"

    def context_use(self) -> ContextUse:
        return ContextUse(used=12, size=100, cost_usd=None)


def test_half_an_address_is_refused() -> None:
    with pytest.raises(RequestError, match="no address"):
        mention("file://[a", "", WORKSPACE)


@pytest.mark.parametrize("path", ["~$Report.docx", "~nobody-of-that-name/x"])
def test_a_name_that_begins_like_a_home_folder_is_a_name(path: str) -> None:
    assert calls.absolute(path, WORKSPACE) == f"{WORKSPACE}/{path}"
