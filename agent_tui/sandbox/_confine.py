"""Confines itself with Landlock and seccomp, then becomes the command. Run as `python -I -S _confine.py FD -- ARGV`.

A program of its own: it imports the standard library only and nothing of the package, and the parent must not run
Python between fork and exec.
"""

import ctypes
import json
import os
import signal
import sys

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 1, 38, 22, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_O_PATH = 0o10000000
# Landlock access bits (uapi/linux/landlock.h): everything that changes a file or a folder.
_WRITE_FILE, _REMOVE_DIR, _REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
_MAKE = sum(1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_ON_FILES = _WRITE_FILE | _TRUNCATE
_NET = 0b11
_SCOPED = 0b11


class _RulesetAttr(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def main() -> None:
    """Read {"write": [paths], "seccomp": hex, "network": bool} from the descriptor, confine, exec."""
    fd, command = int(sys.argv[1]), sys.argv[3:]
    with os.fdopen(fd) as stream:
        wanted = json.load(stream)
    libc = ctypes.CDLL(None, use_errno=True)
    _must(libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "die with the parent")
    _must(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "give up privileges")
    _landlock(libc, wanted["write"], network=wanted["network"])
    _seccomp(libc, bytes.fromhex(wanted["seccomp"]))
    os.execvp(command[0], command)


def _must(result: int, what: str) -> int:
    if result < 0:
        sys.exit(f"sandbox: cannot {what}: {os.strerror(ctypes.get_errno())}")
    return result


def _landlock(libc: ctypes.CDLL, writable: list[str], *, network: bool) -> None:
    abi = _must(libc.syscall(_CREATE_RULESET, None, 0, 1), "use Landlock")
    handled = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE
    handled |= _REFER if abi >= 2 else 0
    handled |= _TRUNCATE if abi >= 3 else 0
    attr = _RulesetAttr(handled, _NET if abi >= 4 and not network else 0, _SCOPED if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _must(libc.syscall(_CREATE_RULESET, ctypes.byref(attr), size, 0), "make a ruleset")
    for path in writable:
        _allow(libc, ruleset, path, handled)
    _must(libc.syscall(_RESTRICT_SELF, ruleset, 0), "apply the ruleset")
    os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, handled: int) -> None:
    try:
        fd = os.open(path, _O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    allowed = handled if os.path.isdir(path) else handled & _ON_FILES
    rule = _PathBeneath(allowed, fd)
    _must(libc.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0), f"allow {path}")
    os.close(fd)


def _seccomp(libc: ctypes.CDLL, code: bytes) -> None:
    if code:
        program = _Filter(len(code) // 8, code)
        _must(
            libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0),
            "filter system calls",
        )


if __name__ == "__main__":
    main()
