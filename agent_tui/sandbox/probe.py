"""Finds the strongest sandbox that works on this machine, by trying it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from agent_tui.sandbox.bwrap import BWRAP, BwrapSandbox
from agent_tui.sandbox.interface import NoSandbox, Sandbox
from agent_tui.sandbox.landlock import LandlockSandbox, landlock_abi

PROBE_TIMEOUT_S = 5
_TRY = ("--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net", "--cap-drop", "ALL")


def probe(
    workspace: Path, *, home: Path, temp: Path, hidden: Sequence[Path] = (), visible: Sequence[Path] = ()
) -> Sandbox:
    """Give the sandbox to use. Blocks for up to 5 s: call it in a thread, after the first paint."""
    refused = bwrap_refused()
    if refused and landlock_abi():
        return LandlockSandbox(workspace, temp=temp, why_not_strong=refused)
    if refused:
        return NoSandbox(refused)
    return BwrapSandbox(workspace, home=home, temp=temp, hidden=hidden, visible=visible)


def bwrap_refused() -> str:
    """Say why bubblewrap cannot be used here, "" when it can."""
    if sys.platform != "linux":
        return "no sandbox on this system yet"
    if not BWRAP.is_file():
        return "bubblewrap is not installed; install it (apt install bubblewrap)"
    command = [
        str(BWRAP),
        *_TRY,
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--",
        "/bin/true",
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start ({error})"
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return f"bubblewrap does not work here ({' '.join(reason) or done.returncode})"
    return ""
