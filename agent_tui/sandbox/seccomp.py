"""A seccomp filter as BPF bytes: what no command needs and every escape uses."""

import errno
import platform
import struct
from dataclasses import dataclass

_LD, _JEQ, _JSET, _JGE, _RET, _AND = 0x20, 0x15, 0x45, 0x35, 0x06, 0x54
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NR, _ARCH = 0, 4
_X32_BIT = 0x40000000
_CLONE_NEWUSER = 0x10000000
_SETID_BITS = 0o6000
_MAKES_A_FILE = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE: only with one of them the mode is an argument
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_INET, _AF_INET6 = 2, 10


@dataclass(frozen=True)
class _Machine:
    """Numbers of one architecture (Linux `asm/unistd.h`)."""

    audit_arch: int
    denied: tuple[int, ...]
    enosys: tuple[int, ...]
    clone: int
    socket: int
    ioctl: int
    chmods: tuple[tuple[int, int], ...]
    opens: tuple[tuple[int, int], ...]
    has_x32: bool = False


# denied: io_uring_*, ptrace, process_vm_*, keyctl, add_key, request_key, bpf, perf_event_open, userfaultfd, mount,
# umount2, pivot_root, chroot, swapon/off, reboot, init/finit/delete_module, kexec, open_by_handle_at, setns, unshare,
# open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, quotactl, acct, personality is left alone.
_MACHINES = {
    "x86_64": _Machine(
        audit_arch=0xC000003E,
        denied=(
            425, 426, 427, 101, 310, 311, 250, 248, 249, 321, 298, 323, 165, 166, 155, 161, 167, 168, 169,
            175, 313, 176, 246, 320, 304, 308, 272, 428, 429, 430, 431, 432, 433, 442, 179, 163,
        ),
        enosys=(435, 437),
        clone=56,
        socket=41,
        ioctl=16,
        chmods=((90, 1), (91, 1), (268, 2), (452, 2), (85, 1), (133, 1), (259, 2)),
        opens=((2, 1), (257, 2)),
        has_x32=True,
    ),
    "aarch64": _Machine(
        audit_arch=0xC00000B7,
        denied=(
            425, 426, 427, 117, 270, 271, 219, 217, 218, 280, 241, 282, 40, 39, 41, 51, 224, 225, 142,
            105, 273, 106, 104, 294, 265, 268, 97, 428, 429, 430, 431, 432, 433, 442, 60, 89,
        ),
        enosys=(435, 437),
        clone=220,
        socket=198,
        ioctl=29,
        chmods=((52, 1), (53, 2), (452, 2), (33, 2)),
        opens=((56, 2),),
    ),
}  # fmt: skip


def program(machine: str = "", *, internet: bool = True) -> bytes | None:
    """Give the filter for `machine` (default: this one) as `struct sock_filter[]`, None for one we do not know.

    Foreign architectures and x32 answer ENOSYS; clone3 and openat2 too, so that libc falls back to clone and openat,
    whose flags can be read; sockets other than IPv4 and IPv6 answer EAFNOSUPPORT, with `internet` False those too; the rest answers
    EPERM.
    """
    numbers = _MACHINES.get(machine or platform.machine())
    if numbers is None:
        return None
    lines = [_load(_ARCH), *_unless_equal_return(numbers.audit_arch, errno.ENOSYS), _load(_NR)]
    if numbers.has_x32:
        lines += [_jump(_JGE, _X32_BIT, 0, 1), _fail(errno.ENOSYS)]
    for number in numbers.enosys:
        lines += [_jump(_JEQ, number, 0, 1), _fail(errno.ENOSYS)]
    for number in numbers.denied:
        lines += [_jump(_JEQ, number, 0, 1), _fail(errno.EPERM)]
    lines += _when_bits(numbers.clone, 0, _CLONE_NEWUSER)
    for number, argument in numbers.chmods:
        lines += _when_bits(number, argument, _SETID_BITS)
    for number, flags in numbers.opens:
        lines += _open(number, flags)
    lines += _ioctl(numbers.ioctl)
    lines += _socket(numbers.socket, internet=internet)
    lines.append(_return(_ALLOW))
    return b"".join(lines)


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LD, 0, 0, offset)


def _jump(code: int, value: int, when_true: int, when_false: int) -> bytes:
    return struct.pack("=HBBI", code, when_true, when_false, value)


def _return(action: int) -> bytes:
    return struct.pack("=HBBI", _RET, 0, 0, action)


def _fail(number: int) -> bytes:
    return _return(_ERRNO | number)


def _argument(index: int) -> int:
    """Give the offset of the low half of argument `index` (little endian)."""
    return 16 + 8 * index


def _unless_equal_return(value: int, number: int) -> list[bytes]:
    return [_jump(_JEQ, value, 1, 0), _fail(number)]


def _when_bits(syscall: int, argument: int, bits: int) -> list[bytes]:
    """EPERM when `argument` of `syscall` has any of `bits`; reloads the number afterwards."""
    return [
        _jump(_JEQ, syscall, 0, 4),
        _load(_argument(argument)),
        _jump(_JSET, bits, 0, 1),
        _fail(errno.EPERM),
        _load(_NR),
    ]


def _open(syscall: int, flags: int) -> list[bytes]:
    """EPERM for a new file with a set-id bit; the mode is the argument after `flags`."""
    return [
        _jump(_JEQ, syscall, 0, 6),
        _load(_argument(flags)),
        _jump(_JSET, _MAKES_A_FILE, 0, 3),
        _load(_argument(flags + 1)),
        _jump(_JSET, _SETID_BITS, 0, 1),
        _fail(errno.EPERM),
        _load(_NR),
    ]


def _ioctl(syscall: int) -> list[bytes]:
    """EPERM for the requests that type into a terminal."""
    return [
        _jump(_JEQ, syscall, 0, 5),
        _load(_argument(1)),
        _jump(_JEQ, _TIOCSTI, 1, 0),
        _jump(_JEQ, _TIOCLINUX, 0, 1),
        _fail(errno.EPERM),
        _load(_NR),
    ]


def _socket(syscall: int, *, internet: bool) -> list[bytes]:
    """EAFNOSUPPORT for families other than IPv4 and IPv6: unix sockets reach tmux, docker, agents."""
    if not internet:
        return [_jump(_JEQ, syscall, 0, 1), _fail(errno.EAFNOSUPPORT)]
    return [
        _jump(_JEQ, syscall, 0, 5),
        _load(_argument(0)),
        _jump(_JEQ, _AF_INET, 2, 0),
        _jump(_JEQ, _AF_INET6, 1, 0),
        _fail(errno.EAFNOSUPPORT),
        _load(_NR),
    ]
