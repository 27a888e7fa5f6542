import hashlib
from pathlib import Path

import pytest

from agent_tui.protocol.errors import BaseChanged, ToolError
from agent_tui.toolkit.ranges import LineRanges
from agent_tui.toolkit.tracker import FileTracker, Stamp

PATH = Path("/ws/a.txt")


def stamp(text: str = "x", *, mtime_ns: int = 1) -> Stamp:
    return Stamp(1, 2, len(text), mtime_ns, mtime_ns, hashlib.sha256(text.encode()).hexdigest())


def seen(
    tracker: FileTracker, *spans: tuple[int, int], total: int | None = 10, of: Stamp | None = None
) -> None:
    tracker.saw(PATH, of or stamp(), LineRanges.of(spans), total_lines=total)


def test_item_32_guard_refuses_what_was_never_read() -> None:
    with pytest.raises(ToolError, match=r"a\.txt has not been read yet"):
        FileTracker().guard(PATH, stamp(), call_id="c", shown="a.txt")


def test_h56_guard_refuses_what_changed_and_allows_own_writes() -> None:
    tracker = FileTracker()
    seen(tracker, (1, 10))

    with pytest.raises(ToolError, match="modified since it was read"):
        tracker.guard(PATH, stamp("y"), call_id="c", shown="a.txt")
    tracker.wrote(PATH, stamp("y"), LineRanges.of([(1, 3)]), total_lines=3)
    tracker.guard(PATH, stamp("y"), call_id="c", shown="a.txt")


def test_item_34_large_files_are_compared_by_identity_and_times() -> None:
    tracker = FileTracker()
    seen(tracker, (1, 1), of=Stamp(1, 2, 3, 4, 5))

    tracker.guard(PATH, Stamp(1, 2, 3, 4, 5, "a" * 64), call_id="c", shown="a.txt")
    for other in (Stamp(1, 9, 3, 4, 5), Stamp(1, 2, 9, 4, 5), Stamp(1, 2, 3, 9, 5), Stamp(1, 2, 3, 4, 9)):
        with pytest.raises(ToolError):
            tracker.guard(PATH, other, call_id="c", shown="a.txt")


def test_read_of_the_round_counts_for_edit_but_not_for_write() -> None:
    tracker = FileTracker()
    tracker.start_round()
    seen(tracker, (1, 10))

    tracker.guard(PATH, stamp(), call_id="c", shown="a.txt")
    with pytest.raises(ToolError, match="same round"):
        tracker.guard_whole(PATH, stamp(), shown="a.txt")
    tracker.start_round()
    tracker.guard_whole(PATH, stamp(), shown="a.txt")


def test_lines_shown_of_an_older_content_do_not_count() -> None:
    tracker = FileTracker()
    seen(tracker, (1, 5))
    seen(tracker, (6, 10), of=stamp("other"))
    tracker.start_round()

    with pytest.raises(ToolError, match="lines 1-5 not seen"):
        tracker.guard_whole(PATH, stamp("other"), shown="a.txt")


def test_unknown_end_of_a_file_counts_as_not_seen() -> None:
    tracker = FileTracker()
    seen(tracker, (1, 5), total=None)
    tracker.start_round()

    with pytest.raises(ToolError, match="lines from 6 on not seen"):
        tracker.guard_whole(PATH, stamp(), shown="a.txt")


def test_announced_read_counts_for_previews_of_the_same_round_only() -> None:
    tracker = FileTracker()
    tracker.announce_read(PATH)

    tracker.guard(PATH, stamp(), call_id="c", shown="a.txt", planning=True)
    with pytest.raises(ToolError):
        tracker.guard(PATH, stamp(), call_id="c", shown="a.txt")
    tracker.start_round()
    with pytest.raises(ToolError):
        tracker.guard(PATH, stamp(), call_id="c", shown="a.txt", planning=True)


def test_person_at_the_keyboard_has_read_everything() -> None:
    tracker = FileTracker(trusting=True)

    tracker.guard(PATH, stamp(), call_id="c", shown="a.txt")
    tracker.guard_whole(PATH, stamp(), shown="a.txt")
    tracker.guard_absent(PATH, shown="a.txt")


def test_base_that_moved_is_told_by_its_path() -> None:
    tracker = FileTracker()
    tracker.expect("c", {str(PATH): stamp().sha256})

    tracker.check_base("c", PATH, stamp().sha256)
    tracker.check_base("other call", PATH, "whatever")
    with pytest.raises(BaseChanged) as caught:
        tracker.check_base("c", PATH, stamp("y").sha256)
    assert caught.value.path == PATH


def test_moved_base_drops_the_plans() -> None:
    tracker = FileTracker()
    tracker.plan("a", {PATH: b"planned"})
    tracker.expect("b", {str(PATH): "one"})

    with pytest.raises(BaseChanged):
        tracker.check_base("b", PATH, "two")

    assert not tracker.is_planned("b", PATH)


def test_plan_counts_for_later_calls_and_the_last_one_wins() -> None:
    tracker = FileTracker()
    tracker.plan("a", {PATH: b"1"})
    tracker.plan("b", {PATH: b"2"})

    assert not tracker.is_planned("a", PATH)
    assert tracker.planned("b", PATH) == b"1"
    assert tracker.planned("c", PATH) == b"2"
    tracker.plan("a", {PATH: b"new"})
    assert tracker.planned("b", PATH) == b"new"


def test_second_review_lets_the_person_judge_the_new_content() -> None:
    tracker = FileTracker()
    seen(tracker, (1, 1))
    tracker.expect("c", {str(PATH): stamp().sha256})
    tracker.expect("c", {})

    tracker.guard(PATH, stamp("y"), call_id="c", shown="a.txt", planning=True)
    with pytest.raises(ToolError):
        tracker.guard(PATH, stamp("y"), call_id="c", shown="a.txt")
    tracker.expect("c", {str(PATH): stamp("y").sha256})
    tracker.guard(PATH, stamp("y"), call_id="c", shown="a.txt")
    with pytest.raises(ToolError):
        tracker.guard(PATH, stamp("z"), call_id="c", shown="a.txt")


def test_file_deleted_by_somebody_else_is_not_made_anew() -> None:
    tracker = FileTracker()
    seen(tracker, (1, 1))

    with pytest.raises(ToolError, match="was deleted since it was read"):
        tracker.guard_absent(PATH, shown="a.txt")
    tracker.forget(PATH)
    tracker.guard_absent(PATH, shown="a.txt")


@pytest.mark.parametrize(
    ("spans", "total", "missing"),
    [
        ([], 0, ""),
        ([], 3, "lines 1-3"),
        ([(1, 3)], 3, ""),
        ([(3, 4), (1, 2)], 5, "line 5"),
        ([(2, 2), (4, 4)], 5, "line 1, line 3, line 5"),
        ([(n, n) for n in range(2, 40, 2)], 40, "line 1, line 3, line 5, line 7, line 9 and 15 more gaps"),
    ],
)
def test_missing_lines_are_named(spans: list[tuple[int, int]], total: int, missing: str) -> None:
    assert LineRanges.of(spans).missing(total) == missing
