"""What is piped in beside a prompt."""

import io
import os
import threading
from collections.abc import Iterator
from typing import TextIO

import pytest

from agent_tui.protocol.errors import UsageError
from agent_tui.run.piped import MAX_PIPED_BYTES, piped_text
from tests.support.patience import RUN_S


@pytest.fixture
def pipe() -> Iterator[tuple[TextIO, int]]:
    reading, writing = os.pipe()
    with open(reading) as stream:
        yield stream, writing


@pytest.mark.parametrize("text", ["", "ü\n"])
def test_text_that_is_there_is_read_without_a_word(
    text: str, pipe: tuple[TextIO, int], capsys: pytest.CaptureFixture[str]
) -> None:
    stream, writing = pipe
    os.write(writing, text.encode())
    os.close(writing)

    assert piped_text(stream) == text
    assert capsys.readouterr().err == ""


def test_slow_writer_is_waited_for_and_the_wait_is_explained(
    pipe: tuple[TextIO, int], capsys: pytest.CaptureFixture[str]
) -> None:
    stream, writing = pipe
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(piped_text(stream, patience_s=0)))
    reader.start()
    said = ""
    for _ in range(int(RUN_S * 100)):
        said += capsys.readouterr().err
        if said:
            break
        reader.join(0.01)

    os.write(writing, b"late")
    os.close(writing)
    reader.join(RUN_S)

    assert "waiting for the end of standard input" in said
    assert "< /dev/null" in said
    assert got == ["late"]


def test_nothing_connected_is_no_text() -> None:
    closed = io.StringIO()
    closed.close()

    assert (piped_text(None), piped_text(closed)) == ("", "")


def test_too_much_is_refused_with_what_to_do() -> None:
    stream = io.TextIOWrapper(io.BytesIO(b"x" * (MAX_PIPED_BYTES + 1)))

    with pytest.raises(UsageError, match="put them in a file"):
        piped_text(stream)
