"""Writes down what the program does, for --debug and --debug-file: one line a fact, without secrets."""

import logging
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

from agent_tui import __version__
from agent_tui.config.paths import user_paths
from agent_tui.protocol.errors import UsageError
from agent_tui.run.known_secrets import known_secrets
from agent_tui.run.options import EVERYTHING, RunOptions
from agent_tui.sessions.redact import Redactor

MAX_LINE_CHARS = 20_000
_PROGRAM = "agent_tui"


def begin_debug_log(options: RunOptions) -> None:
    """Write what the parts that were named say, from now on. Raises UsageError when the file cannot be written."""
    paths = user_paths()
    file = options.debug_file or paths.log
    logger = logging.getLogger(_PROGRAM)
    handler = _handler(file)
    handler.setFormatter(_Lines(Redactor(known_secrets(paths))))
    handler.addFilter(_Parts(options.debug or EVERYTHING))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logging.getLogger(f"{_PROGRAM}.start").info(
        "agent-tui %s, Python %s, %s, process %d, in %s",
        __version__,
        platform.python_version(),
        sys.platform,
        os.getpid(),
        Path.cwd(),
    )


def _handler(file: Path) -> logging.Handler:
    """Open the file for its owner only; a file that is there is made longer."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"--debug: {str(file)!r} cannot be written: {error.strerror}") from error
    return logging.StreamHandler(open(descriptor, "a", encoding="utf-8", errors="replace", buffering=1))


class _Parts(logging.Filter):
    """Lets pass what comes from the parts that are named, and nothing of those behind a "!"."""

    def __init__(self, words: str) -> None:
        super().__init__()
        named = [word.strip().lower() for word in words.split(",") if word.strip()]
        self._not = {word[1:] for word in named if word.startswith("!")}
        self._only = {word for word in named if not word.startswith("!")} - {EVERYTHING}

    def filter(self, record: logging.LogRecord) -> bool:
        parts = set(record.name.lower().split("."))
        return not parts & self._not and (not self._only or bool(parts & self._only))


class _Lines(logging.Formatter):
    """Gives a fact as one line: time in UTC, level, part, text; what looks like a secret is taken out."""

    converter: Callable[[float | None], time.struct_time] = staticmethod(time.gmtime)

    def __init__(self, redact: Redactor) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record).replace(f"{_PROGRAM}.", "", 1).replace("\n", "\n    ")
        return self._redact(text)[:MAX_LINE_CHARS]
