"""Finds the strongest sandbox that works on this machine, by trying it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from agent_tui.sandbox.bwrap import BWRAP, BwrapSandbox
from agent_tui.sandbox.interface import NoSandbox, Sandbox
from agent_tui.sandbox.landlock import LandlockSandbox, landlock_abi
from agent_tui.sandbox.seatbelt import SANDBOX_EXEC, SeatbeltSandbox

PROBE_TIMEOUT_S = 5
_TRY = ("--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net", "--cap-drop", "ALL")


def probe(
    workspace: Path, *, home: Path, temp: Path, hidden: Sequence[Path] = (), visible: Sequence[Path] = ()
) -> Sandbox:
    """Give the sandbox to use. Blocks for up to 5 s: call it in a thread, after the first paint."""
    if sys.platform == "darwin" and not seatbelt_refused():
        return SeatbeltSandbox(workspace, home=home, temp=temp, hidden=hidden, visible=visible)
    refused = bwrap_refused()
    if refused and landlock_abi():
        return LandlockSandbox(workspace, temp=temp, why_not_strong=refused)
    if refused:
        return NoSandbox(refused)
    return BwrapSandbox(workspace, home=home, temp=temp, hidden=hidden, visible=visible)


def bwrap_refused() -> str:
    """Say why bubblewrap cannot be used here, "" when it can."""
    if sys.platform != "linux":
        return "there is no sandbox for this system"
    if not BWRAP.is_file():
        return "bubblewrap is not installed; install it (apt install bubblewrap)"
    root = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    return _refused("bubblewrap", [str(BWRAP), *_TRY, *root, "--", "/bin/true"])


def seatbelt_refused() -> str:
    """Say why sandbox-exec cannot be used here, "" when it can."""
    if not SANDBOX_EXEC.is_file():
        return "sandbox-exec is missing"
    return _refused("sandbox-exec", [str(SANDBOX_EXEC), "-p", "(version 1)(allow default)", "/usr/bin/true"])


def _refused(name: str, command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name} does not start ({error})"
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return f"{name} does not work here ({' '.join(reason) or done.returncode})"
    return ""
