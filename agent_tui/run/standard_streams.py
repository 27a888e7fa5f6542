"""The three standard streams as a program can rely on them: open, and able to take every character."""

import os
import select
import sys
from io import TextIOWrapper
from typing import Literal, TextIO


def make_usable() -> None:
    """Open onto nothing what is closed, and let standard output escape what its encoding does not have.

    Before any file is opened: the first would get the number of a closed stream, and whatever prints would
    write into it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(
                os.open(os.devnull, os.O_RDWR), True
            )  # it gets the lowest free number: this one
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # where the descriptor was closed
            setattr(sys, name, _stream(number, "w" if number else "r"))
    out: object = sys.stdout
    if isinstance(out, TextIOWrapper) and out.errors == "strict":
        out.reconfigure(errors="backslashreplace")  # in JSON, too, \u2028 is that character


def _stream(number: int, mode: Literal["r", "w"]) -> TextIO:
    return open(number, mode, encoding="utf-8", closefd=False)


def refusal(stream: TextIO) -> OSError | None:
    """Write out what `stream` holds back. Give why it does not take it, None if it does.

    A stream that refuses is pointed at nothing, so that the interpreter's last flush is silent.
    """
    try:
        stream.flush()
    except OSError as error:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
        return error
    return None


def reader_left(stream: TextIO) -> bool:
    """Tell whether `stream` is a pipe that nobody reads any more, whatever it holds back."""
    try:
        watched = select.poll()
        watched.register(stream.fileno(), 0)
        return any(state & (select.POLLERR | select.POLLHUP) for _, state in watched.poll(0))
    except (OSError, ValueError):  # no descriptor: a test's, or closed
        return False
