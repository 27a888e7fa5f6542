"""Runs one command for a parent process and ends all it started; executed as a file, imports nothing of ours.

Descriptors: 0 carries the order and later words of the parent, 1 is what the command prints to, 2 takes reports.

Order: a decimal byte count and a newline, then that many bytes of NUL-terminated fields: the directory, the
descriptor to hand on as 9 ("-1": none), the other descriptors to hand on separated by blanks, the number of
arguments, the arguments, the variables as NAME=VALUE.
Words: `end SECONDS` asks every process to end and kills what is left after that time. The end of descriptor 0
means that the parent is gone: everything is killed at once.
Reports, one a line: `pid N`, `failed TEXT`, `exit N` (negative: a signal), `left TEXT` for each process that
outlived the command and was ended, `done`.

Written for start-up time (`-I -S`, about 15 ms): no json, no re, no subprocess.
"""

import ctypes
import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SETTLE_S = 0.15
LEFT_GRACE_S = 0.3
KILL_PATIENCE_S = 3.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
WRAPPERS = (b"bwrap", b"nsenter")
IS_LINUX = sys.platform.startswith("linux")


class Order:
    """What to run."""

    def __init__(self, payload: bytes) -> None:
        fields = payload.split(b"\0")[:-1]
        self.cwd = fields[0]
        self.report_fd = int(fields[1])
        self.pass_fds = [int(number) for number in fields[2].split()]
        count = int(fields[3])
        self.argv = fields[4 : 4 + count]
        self.env = {name: value for name, _, value in (f.partition(b"=") for f in fields[4 + count :])}


class Supervisor:
    """One command and everything that descends from it."""

    def __init__(self, words: bytes) -> None:
        self.report_to = os.dup(2)
        self.libc = ctypes.CDLL(None) if IS_LINUX else None
        self.wake_r, wake_w = os.pipe()
        os.set_blocking(self.wake_r, False)
        os.set_blocking(wake_w, False)
        signal.set_wakeup_fd(wake_w)
        self.shell = 0
        self.status: int | None = None
        self.orphaned = False
        self.end_after: float | None = None
        self.words = b""
        self._take(words)

    def report(self, text: str) -> None:
        try:
            os.write(self.report_to, text.encode("utf-8", "replace") + b"\n")
        except OSError:
            self.orphaned = True

    def start(self, order: Order) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, self._told_to_stop)
        signal.signal(signal.SIGCHLD, self._child_changed)
        if self.libc is not None:
            self.libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        failed_r, failed_w = os.pipe()
        self.shell = os.fork()
        if self.shell == 0:
            self._become(order, failed_w)
        os.close(failed_w)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        for number in {order.report_fd, *order.pass_fds} - {-1}:
            os.close(number)
        self.report(f"pid {self.shell}")
        failure = os.read(failed_r, 4096)
        os.close(failed_r)
        if failure:
            self.report("failed " + failure.decode("utf-8", "replace"))

    def _told_to_stop(self, _number: int, _frame: object) -> None:
        self.orphaned = True

    def _child_changed(self, _number: int, _frame: object) -> None:
        """Do nothing: the wake-up pipe has ended the wait."""

    def _become(self, order: Order, failed_w: int) -> None:
        """Turn this forked process into the command."""
        try:
            os.setsid()
            if self.libc is not None:
                self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            if hasattr(signal, "SIGXFSZ"):
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(1, 2)
            if order.report_fd >= 0:
                failed_w = self._clear_nine(order, failed_w)
                os.dup2(order.report_fd, 9)
            keep = {0, 1, 2, failed_w, *order.pass_fds}
            if order.report_fd >= 0:
                keep.add(9)
            for number in keep - {failed_w}:
                os.set_inheritable(number, True)
            for number in range(3, 256):
                if number not in keep:
                    quietly(os.close, number)
            os.chdir(order.cwd)
            os.execve(order.argv[0], order.argv, order.env)
        except BaseException as error:
            os.write(failed_w, str(error).encode("utf-8", "replace")[:4000])
        os._exit(127)

    @staticmethod
    def _clear_nine(order: Order, failed_w: int) -> int:
        """Move the failure pipe away from descriptor 9, which the command's directory report gets."""
        if failed_w != 9:
            return failed_w
        moved = os.dup(failed_w)
        while moved < 10:
            moved = os.dup(moved)
        return moved

    def supervise(self) -> None:
        while self.status is None and not self.orphaned and self.end_after is None:
            self._wait(None)
        if self.status is None:
            self._end(0.0 if self.orphaned else self.end_after or 0.0)
        left = self._leftovers()
        if self.status is not None:
            self.report(f"exit {self.status}")
        for name in left:
            self.report("left " + name)
        self.report("done")

    def _leftovers(self) -> list[str]:
        """End what outlived the command, after a moment for what is ending anyway, and give the names."""
        self._wait_until_alone(0.0 if self.orphaned else SETTLE_S)
        alive = self.descendants()
        names = [self.name_of(pid) for pid in alive]
        if alive:
            self._end(0.0 if self.orphaned else LEFT_GRACE_S)
        return [name for name in names if name]

    def _wait(self, seconds: float | None) -> None:
        """Wait for a child to end, a word of the parent or the time; then note what happened."""
        watched = [self.wake_r] if self.orphaned else [self.wake_r, 0]
        ready, _, _ = select.select(watched, [], [], seconds)
        if self.wake_r in ready:
            quietly(os.read, self.wake_r, 4096)
        if 0 in ready:
            self._listen()
        self._reap()

    def _listen(self) -> None:
        data = os.read(0, 4096)
        if not data:
            # After `end` the parent may leave: the time it gave still holds.
            self.orphaned = self.end_after is None
            if self.end_after is not None:
                os.dup2(os.pipe()[0], 0)
            return
        self._take(data)

    def _take(self, data: bytes) -> None:
        self.words += data
        while b"\n" in self.words:
            word, _, self.words = self.words.partition(b"\n")
            if word.startswith(b"end "):
                self.end_after = float(word[4:])

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.shell:
                self.status = os.waitstatus_to_exitcode(status)

    def _end(self, grace_s: float) -> None:
        """Ask all to end, wait `grace_s`, kill the rest until nothing is left."""
        if grace_s > 0:
            self._signal_all(signal.SIGTERM)
            self._wait_until_alone(grace_s)
        deadline = time.monotonic() + KILL_PATIENCE_S
        while self.descendants() and time.monotonic() < deadline:
            self._signal_all(signal.SIGKILL)
            self._wait(0.01)

    def _signal_all(self, number: int) -> None:
        for pid in self.descendants():
            if number == signal.SIGTERM and comm_of(pid) in WRAPPERS:
                continue  # a sandbox wrapper that ends takes its inner processes down without their grace
            quietly(os.kill, pid, number)

    def _wait_until_alone(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.descendants() and not self.orphaned:
            rest = deadline - time.monotonic()
            if rest <= 0:
                return
            self._wait(min(rest, 0.02))

    def descendants(self) -> list[int]:
        """Give the living processes below this one, nearest first; zombies are reaped, not counted."""
        self._reap()
        table = process_table()
        found: list[int] = []
        parents = {os.getpid()}
        while parents:
            children = {pid for pid, entry in table.items() if entry[0] in parents and pid not in found}
            found.extend(sorted(p for p in children if table[p][2] not in "ZX"))
            parents = children
        if not IS_LINUX:  # nobody adopts orphans for us there: take the command's group too
            group = [p for p, (_, pgid, _) in table.items() if pgid == self.shell and p not in found]
            found.extend(sorted(group))
        return found

    @staticmethod
    def name_of(pid: int) -> str:
        """Give the command line of `pid`, "" when it is gone or only a wrapper."""
        if comm_of(pid) in WRAPPERS:
            return ""
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read(400)
        except OSError:
            return f"process {pid}" if not IS_LINUX else ""
        return " ".join(line.decode("utf-8", "replace").replace("\0", " ").split())


def quietly(action: "Callable[..., object]", *arguments: object) -> None:
    """Do something to a process or descriptor that may be gone already."""
    try:
        action(*arguments)
    except OSError:
        return


def comm_of(pid: int) -> bytes:
    """Give the program name the kernel keeps for `pid`."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read().strip()
    except OSError:
        return b""


def process_table() -> dict[int, tuple[int, int, str]]:
    """Give pid -> (parent, group, state letter) of every process that can be seen."""
    table: dict[int, tuple[int, int, str]] = {}
    if not IS_LINUX:
        import subprocess  # 10 ms, only where there is no /proc

        columns = ["/bin/ps", "-axo", "pid=,ppid=,pgid=,state="]
        for line in subprocess.run(columns, stdout=subprocess.PIPE, check=False).stdout.splitlines():
            pid, parent, group, state = line.split()[:4]
            table[int(pid)] = (int(parent), int(group), state.decode("ascii")[0])
        return table
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                stat = file.read()
        except OSError:
            continue
        state, parent, group = stat[stat.rindex(b")") + 2 :].split(None, 3)[:3]
        table[int(name)] = (int(parent), int(group), state.decode("ascii"))
    return table


def read_order() -> "tuple[Order, bytes] | None":
    """Read the order from descriptor 0, with what was read after it; None when the parent went away first."""
    data = b""
    while b"\n" not in data:
        chunk = os.read(0, 65536)
        if not chunk:
            return None
        data += chunk
    size, _, payload = data.partition(b"\n")
    while len(payload) < int(size):
        chunk = os.read(0, 65536)
        if not chunk:
            return None
        payload += chunk
    return Order(payload[: int(size)]), payload[int(size) :]


def main() -> None:
    os.chdir("/")
    received = read_order()
    if received is None:
        return
    order, words = received
    supervisor = Supervisor(words)
    supervisor.start(order)
    supervisor.supervise()


if __name__ == "__main__":
    main()
