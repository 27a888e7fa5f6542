from collections.abc import Callable, Iterable

import pytest

from agent_tui.ui.typed_run import BURST_S, JOIN_S, MAX_CHARS, RunReader, TypedRun

LINES = "".join(f"line {number} of a text\r" for number in range(5))
LINE = "explain what this project does and where its tests are, in few words"


class Input:
    """What comes after the first read, each part some seconds after the one before."""

    def __init__(self, *parts: tuple[float, str]) -> None:
        self.parts = list(parts)
        self.now = 100.0

    def more(self, wait_s: float) -> str | None:
        if not self.parts or self.parts[0][0] > wait_s:
            self.now += wait_s
            return None
        after_s, text = self.parts.pop(0)
        self.now += after_s
        return text

    def clock(self) -> float:
        return self.now


def split(text: str, *later: tuple[float, str]) -> list[str]:
    """Give runs in brackets; the empty one that begins a run is left out."""
    source = Input(*later)
    reader = RunReader(source.more, clock=source.clock)
    return told(reader.split, text)


def told(split: Callable[[str], Iterable[TypedRun | str]], text: str) -> list[str]:
    shown = [f"<{part.text}>" if isinstance(part, TypedRun) else part for part in split(text)]
    return [part for part in shown if part not in ("", "<>")]


@pytest.mark.parametrize(
    "keys", ["", "y", "y\ry\r", "x" * 64, "\x1b[A" * 40, "\x03" + LINES, f"\x1b[200~{LINES}"]
)
def test_few_keys_and_sequences_stay_keys(keys: str) -> None:
    assert split(keys) == [keys] * bool(keys)


def test_lines_that_come_in_parts_are_one_run() -> None:
    assert split(LINES, (0.0, "and\tmore\r"), (JOIN_S, "and the end")) == [f"<{LINES}and\tmore\rand the end>"]
    assert split(LINES, (JOIN_S * 2, "late")) == [f"<{LINES}>"]


def test_a_control_character_ends_a_run() -> None:
    assert split(f"{LINES}\x03y") == [f"<{LINES}>", "\x03y"]
    assert split(LINES, (0.0, "more\x1b[A"), (0.0, "not read yet")) == [f"<{LINES}more>", "\x1b[A"]


def test_the_enter_behind_one_line_is_a_key_and_one_behind_lines_is_part_of_them() -> None:
    assert split(f"{LINE}\r") == [f"<{LINE}>", "\r"]
    assert split(LINE, (0.0, "\r")) == [f"<{LINE}>", "\r"]
    assert split(f"one\r{LINE}", (0.0, "\r")) == [f"<one\r{LINE}\r>"]


def test_an_enter_that_comes_alone_and_later_sends_what_a_script_has_typed() -> None:
    later = BURST_S * 2
    assert split(f"one\r{LINE}", (later, "\r")) == [f"<one\r{LINE}>", "\r"]
    assert split(f"one\r{LINE}", (later, "\r"), (0.0, "on")) == [f"<one\r{LINE}\ron>"]


def test_a_run_says_at_once_that_it_begins_and_when_its_last_part_came() -> None:
    source = Input((0.05, "more"))
    begun, run, _ = RunReader(source.more, clock=source.clock).split(LINES)

    assert isinstance(begun, TypedRun)
    assert isinstance(run, TypedRun)
    assert (begun.text, begun.time, begun.ended_at) == ("", 100.0, 100.0)
    assert (run.time, run.ended_at) == (100.0, 100.05)


def test_a_stream_without_an_end_is_handed_over_in_parts() -> None:
    source = Input(*[(0.0, "x" * 4096)] * 300)
    reader = RunReader(source.more, clock=source.clock)

    run = [part for part in reader.split(LINES) if isinstance(part, TypedRun)][-1]

    assert MAX_CHARS <= len(run.text) < MAX_CHARS + 4096


def test_what_stands_between_the_marks_of_a_paste_or_in_a_sequence_is_no_run() -> None:
    source = Input()
    reader = RunReader(source.more, clock=source.clock)

    assert told(reader.split, "\x1b[20") == ["\x1b[20"]
    assert told(reader.split, "0~begins") == ["0~begins"]
    assert told(reader.split, LINES) == [LINES]
    assert told(reader.split, "ends\x1b[2") == ["ends\x1b[2"]
    assert told(reader.split, "01~") == ["01~"]
    assert told(reader.split, LINES) == [f"<{LINES}>"]
    assert told(reader.split, "\x1b[<0;1") == ["\x1b[<0;1"]
    assert told(reader.split, f";1M{LINES}") == [f";1M{LINES}"]
