import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.diffing import changes, hunks, take_hunks
from agent_tui.toolkit.editing import Replacement, apply_edits
from agent_tui.toolkit.encoding import decode, detect, encode
from agent_tui.toolkit.line_keeping import keep_ends
from agent_tui.toolkit.lines import split_lines
from agent_tui.toolkit.text_matching import find
from tests.support.file_world import load_file_tools, make_file_world

EXAMPLES = int(os.environ.get("AGENT_TUI_TEST_EXAMPLES", "60"))
SETTINGS = settings(
    max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES == 60, suppress_health_check=list(HealthCheck)
)
TOOLS = load_file_tools()

WORDS = {
    "utf-8": [
        "a",
        "b = 1",
        "  indented",
        "\ttab",
        "ü",
        "日本語",
        "“q”",
        "x ",
        "",
        "\x0c",
        "\u2028",
        "e\u0301",
    ],
    "latin-1": ["a", "b = 1", "  indented", "caf\xe9 cr\xe8me", "na\xefve", "x ", ""],
    "shift_jis": ["age=3", "名前=太郎", "住所=東京都", "これはテストです", ""],
    "gbk": ["age=3", "名字=我们的中国", "住所=北京市人民", "这是一个测试", ""],
    "utf-16-le": ["a", "b = 1", "ünïcode", "line"],
}
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r"])


@st.composite
def encoded(draw: st.DrawFn) -> tuple[bytes, str, str]:
    codec = draw(st.sampled_from(sorted(WORDS)))
    words = st.sampled_from(WORDS[codec])
    lines = draw(st.lists(st.tuples(words, ENDS), min_size=3, max_size=20))
    text = "".join(line + end for line, end in lines)
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    bom = {"utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe"}.get(codec, b"") if draw(st.booleans()) else b""
    return bom + text.encode(codec), codec, text


@SETTINGS
@given(encoded(), st.data())
def test_exact_edit_changes_only_the_bytes_it_names(
    made: tuple[bytes, str, str], data: st.DataObject
) -> None:
    raw, _codec, _text = made
    found = detect(raw)
    assume(found is not None)
    assert found is not None
    text, encoding = decode(raw, shown="f")
    assume(text)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, min(len(text), start + 12)))
    old, new = text[start:end], data.draw(st.sampled_from(["", "X", "XY Z", "$1 \\1"]))
    assume(old != new)

    try:
        edited = apply_edits(text, [Replacement(old, new)], shown="f")
    except ToolError:
        return
    (place,) = edited.places
    assume(not edited.note)

    after = encode(edited.text, encoding, shown="f")
    head = encode(text[: place[0]], encoding, shown="f")
    tail = text[place[0] + len(old) :].encode(encoding.codec, encoding.errors)
    assert after.startswith(head)
    assert after.endswith(tail)
    assert len(after) == len(head) + len(new.encode(encoding.codec)) + len(tail)
    assert raw.startswith(head)
    assert raw.endswith(tail)


@SETTINGS
@given(encoded(), st.data())
def test_tolerant_match_covers_the_same_words(made: tuple[bytes, str, str], data: st.DataObject) -> None:
    raw, _codec, _text = made
    assume(detect(raw) is not None)
    text, _encoding = decode(raw, shown="f")
    lines = split_lines(text.replace("\r\n", "\n").replace("\r", "\n"))
    assume(lines)
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first + 1, min(len(lines), first + 4)))
    old = "".join(line.rstrip() + "\n" for line in lines[first:last])
    assume(old.strip())

    for match in find(text, old, "NEW\n").matches:
        replaced = text[match.start : match.end]
        assert replaced.split() == old.split()
        assert match.new.rstrip("\r\n").strip() == "NEW"
        before, after = text[match.start - 1 : match.start], text[match.end : match.end + 1]
        assert not (before == "\r" and replaced[:1] == "\n")
        assert not (replaced[-1:] == "\r" and after == "\n")


@SETTINGS
@given(encoded(), st.data())
def test_error_changes_nothing_and_success_only_what_was_addressed(
    made: tuple[bytes, str, str], data: st.DataObject
) -> None:
    raw, _codec, text = made
    words = [word for word in text.split() if word]
    assume(words)
    old = data.draw(st.sampled_from([*words, "not in the file"]))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "ws"
        root.mkdir()
        files = make_file_world(root, TOOLS)
        path = files.put("f.txt", raw)
        assume(not files.run("read", file_path="f.txt").is_error)

        result = files.run("edit", file_path="f.txt", old_string=old, new_string="NEW")

        after = path.read_bytes()
        assert [entry.name for entry in root.iterdir()] == ["f.txt"]
    if result.is_error:
        assert after == raw
        return
    same = next((at for at, (a, b) in enumerate(zip(raw, after, strict=False)) if a != b), len(after))
    rest = after[same:].split("NEW".encode("utf-16-le") if b"N\0" in after else b"NEW", 1)[-1]
    assert raw.endswith(rest)


@SETTINGS
@given(
    st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30), st.data()
)
def test_hunks_lead_from_the_old_lines_to_the_new(
    old: list[str], new: list[str], data: st.DataObject
) -> None:
    groups = hunks(changes(old, new))
    everything = range(len(groups))

    assert take_hunks(old, new, groups, list(everything)) == new
    assert take_hunks(old, new, groups, []) == old
    some = data.draw(st.lists(st.sampled_from(everything), unique=True)) if groups else []
    taken = take_hunks(old, new, groups, some)
    rest = [block for number, group in enumerate(groups) if number not in some for block in group]
    grown = sum((block.new_end - block.new_start) - (block.old_end - block.old_start) for block in rest)
    assert len(taken) == len(new) - grown


@SETTINGS
@given(st.text("ab\r\n", max_size=30), st.text("ab\n", max_size=30))
def test_whole_new_text_keeps_its_words(old: str, new: str) -> None:
    kept = keep_ends(old, new)

    assert kept.replace("\r\n", "\n").replace("\r", "\n") == new
    assert keep_ends(old, old) == old


def test_large_files_are_compared_by_their_unique_lines() -> None:
    old = [f"line {number}\n" for number in range(20_000)]
    new = ["first\n", *old[:9_000], "changed\n", *old[9_001:15_000], *old[15_100:], "last\n"]

    blocks = changes(old, new)

    assert [(b.old_end - b.old_start, b.new_end - b.new_start) for b in blocks] == [
        (0, 1),
        (1, 1),
        (100, 0),
        (0, 1),
    ]


@pytest.mark.parametrize("size", [0, 1, 5_000])
def test_equal_texts_do_not_differ(size: int) -> None:
    assert changes(["x\n"] * size, ["x\n"] * size) == []
