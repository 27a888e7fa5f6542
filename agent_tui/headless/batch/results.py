"""The results of a batch on disk: one JSON object a line, appended as tasks end; the last line of an id counts."""

import fcntl
import json
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from agent_tui.headless.batch.worker import TaskResult
from agent_tui.protocol.errors import AgentTuiError, UsageError
from agent_tui.protocol.plain_reasons import first_misfit

_BEGINS = b'{"id": '
"""How each line begins that `append` writes."""


class ResultsInUse(UsageError):
    """Another program writes these results."""


class Results:
    """A file of results, held by one program at a time. `known` are those of earlier runs, by id."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.known: dict[str, TaskResult] = {}
        self._fd = -1

    def __enter__(self) -> Self:
        """Open, lock and read the file. Raises UsageError."""
        try:
            self._fd = os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"cannot write {str(self.file)!r}: {error.strerror}") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            raise ResultsInUse(f"{self.file}: another batch is writing these results") from error
        try:
            self._read()
        except BaseException:
            os.close(self._fd)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def append(self, result: TaskResult) -> None:
        """Write one result; it is on disk when this returns. Raises AgentTuiError."""
        line = (
            json.dumps(result.model_dump(mode="json"), ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        )
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
            os.fsync(self._fd)
        except OSError as error:
            raise AgentTuiError(
                f"cannot write {str(self.file)!r}: {error.strerror}; run it again when that is mended: tasks whose "
                "results are there do not run anew"
            ) from error
        self.known[result.id] = result

    def _read(self) -> None:
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            return  # a device keeps no results, and may have no end
        data = self.file.read_bytes()
        *lines, rest = data.split(b"\n")
        if rest and not rest.startswith(_BEGINS[: len(rest)]):
            raise UsageError(f"{self.file}: is no file of results; name another file with --output")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                result = TaskResult.model_validate_json(line)
            except ValidationError as error:
                reason = first_misfit(error, whole="an object is expected")
                raise UsageError(
                    f"{self.file}:{number}: is no result of a batch ({reason}); name another file with --output"
                ) from error
            self.known[result.id] = result
        if rest:  # a line that a killed program began: its task runs again
            os.ftruncate(self._fd, len(data) - len(rest))
