"""Appends to a session file from a thread of its own, so that a slow disk never holds up the screen."""

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from agent_tui.protocol.errors import SessionInUseError
from agent_tui.protocol.private_file import write_all
from agent_tui.sessions.lock import HEARTBEAT_S, SessionLock

T = TypeVar("T")


class SessionFile:
    """The file of a session, open for appending and locked. Used by one thread only.

    A disk that cannot be written does not end the session: lines are kept in memory, said once through `notify`, and
    written in order as soon as it works again. `lock` is one that is held already; without it the lock is taken with
    the first line.
    """

    def __init__(self, path: Path, notify: Callable[[str], None], lock: SessionLock | None = None) -> None:
        self.path = path
        self.unsaved: list[bytes] = []
        self._notify = notify
        self._lock = lock
        self._descriptor = -1
        self._is_failing = False
        self._given_up = False

    def append(self, line: bytes, *, sync: bool) -> None:
        """Write a whole line, and with `sync` wait until it is on disk. Never raises OSError."""
        self.unsaved.append(line)
        if not self._given_up:
            self.flush(sync=sync)

    def flush(self, *, sync: bool) -> bool:
        """Write what is kept in memory; tell whether nothing is left."""
        try:
            self._open()
            while self.unsaved:
                self._write(self.unsaved[0])
                del self.unsaved[0]
            if sync:
                _sync(self._descriptor)
        except SessionInUseError as error:
            self._given_up = True
            self._notify(f"This session is not saved: {error}")
            return False
        except OSError as error:
            if not self._is_failing:
                self._notify(
                    f"The session cannot be saved at {self.path.parent}: {error.strerror or error}. Work goes on, "
                    "kept in memory, and is saved once there is room; /export json PATH saves it elsewhere now."
                )
            self._is_failing = True
            return False
        if self._is_failing:
            self._is_failing = False
            self._notify("The session is saved again; nothing was lost.")
        return True

    def beat(self) -> None:
        """Keep a lock alive that needs it."""
        if self._lock is not None:
            self._lock.beat()

    @property
    def needs_heartbeat(self) -> bool:
        """Whether `beat` must be called every 10 seconds."""
        return self._lock is not None and self._lock.needs_heartbeat

    def close(self) -> None:
        """Write what is left and let the file and its lock go."""
        if self.unsaved and not self._given_up:
            self.flush(sync=True)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _open(self) -> None:
        if self._descriptor >= 0:
            return
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._lock is None:
            self._lock = SessionLock.acquire(self.path.with_suffix(".lock"))
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self.path, flags, 0o600)
        self._end_torn_line()

    def _end_torn_line(self) -> None:
        """Put a newline behind a line that was cut off, or the next one would be glued to it."""
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            write_all(self._descriptor, b"\n")

    def _write(self, line: bytes) -> None:
        start = os.fstat(self._descriptor).st_size
        try:
            write_all(self._descriptor, line)
        except OSError:
            with suppress(
                OSError
            ):  # works on a full disk; if not, the torn line is ended at the next opening
                os.ftruncate(self._descriptor, start)
            if os.fstat(self._descriptor).st_size != start:
                os.close(self._descriptor)
                self._descriptor = -1
            raise


def _sync(descriptor: int) -> None:
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:  # macOS
        os.fsync(descriptor)


class OwnedThread:
    """A daemon thread that runs jobs in order; quitting waits for it only as long as `close` says.

    Any thread may submit and close. A job that comes after `close` gets a new thread, which first waits for the old one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed: threading.Thread | None = None
        self.idle: Callable[[], None] | None = None

    def submit(self, work: Callable[[], T]) -> "Future[T]":
        """Run `work` after what was submitted before; give its future."""
        future: Future[T] = Future()

        def job() -> None:
            awaited = future.set_running_or_notify_cancel()  # whoever gave up waiting still wants it written
            try:
                result = work()
            except BaseException as error:  # the future carries it to whoever awaits the job
                if awaited:
                    future.set_exception(error)
            else:
                if awaited:
                    future.set_result(result)

        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, args=(self._closed,), name=self._name, daemon=True
                )
                self._thread.start()
            self._jobs.put(job)
        return future

    def close(self, *, timeout_s: float) -> bool:
        """Run what is left, at most `timeout_s` long; tell whether all was run."""
        with self._lock:
            if self._thread is not None:
                self._jobs.put(None)
                self._closed, self._thread = self._thread, None
            thread = self._closed
        if thread is None:
            return True
        thread.join(timeout_s)
        return not thread.is_alive()

    def _run(self, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        while True:
            try:
                job = self._jobs.get(timeout=HEARTBEAT_S if self.idle else None)
            except queue.Empty:
                if self.idle:
                    self.idle()
                continue
            if job is None:
                return
            job()
