"""Sends what the package logs to the program's own log, so that no traceback reaches the terminal."""

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path


@contextmanager
def logging_to(log: Path) -> Generator[None]:
    """Log to `log` meanwhile. The file (0600) is made when there is a line for it; a disk that refuses stays unsaid."""
    handler = _LogFile(log, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    handler.setLevel(logging.WARNING)  # what --debug asks for besides has a file of its own
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


class _LogFile(logging.FileHandler):
    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        return open(os.open(path, flags, 0o600), "a", encoding=self.encoding)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line. A log that cannot be written ends nothing: whoever called has work to do."""
        with suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing: there is no place left to say it."""
