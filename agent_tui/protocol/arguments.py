"""A parser of plain subcommands that says what may be meant by a word it refuses."""

import argparse
import re
from typing import NoReturn

from agent_tui.protocol.near_names import did_you_mean

_CHOICE = re.compile(r"(?P<where>.*)invalid choice: '(?P<word>[^']*)' \(choose from (?P<known>.*)\)")


class ArgumentParser(argparse.ArgumentParser):
    """argparse's parser; its subparsers are of this class too."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit with 2."""
        refused = _CHOICE.fullmatch(message)
        if refused is None:
            super().error(message)
        known = [word.strip(" '") for word in refused["known"].split(",")]
        word = refused["word"]
        super().error(f"{refused['where']}there is no {word!r}{did_you_mean(word, known)}")


class LineParser(ArgumentParser):
    """Parses a line that was typed inside the program: prints nothing and never exits, but raises ValueError."""

    def print_usage(self, file: object = None) -> None:
        """Print nothing."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Raise what would have been printed."""
        raise ValueError((message or "").strip().removeprefix(f"{self.prog}: error: "))
