"""What the program's start says about the interface."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_tui.ui.presets import Preset

NotifyStyle = Literal["auto", "osc9", "osc777", "bell", "off"]


def forget(_key: str, _value: str) -> None:
    """Remember nothing."""


@dataclass(frozen=True)
class AppSettings:
    """Settings of the interface.

    `keys` is a preset of the keymap, `status` the segments of the status line, empty for the usual ones.
    `theme_folders` are searched from the last to the first, so a user's folder stands last. `remember` stores a choice
    such as ("theme", "nord") for the next start. `row_diff` writes rows by difference and scrolls by the terminal.
    `progress` shows a running turn in the terminal's tab or taskbar. `clock` gives seconds and never goes back.
    `grants_file` is where lasting answers are kept, so that the approval screen can name it.
    `low_approvals` keeps the approval screen to half of the terminal also when several calls wait.
    `grace_s` is how long the approval screen takes no key after it opened. `first_run` greets the person. `verbose`
    opens every panel and thought as it comes.
    """

    theme: str = "dark"
    theme_folders: tuple[Path, ...] = ()
    keymap_file: Path | None = None
    crash_log: Path | None = None
    grants_file: Path | None = None
    notify: NotifyStyle = "auto"
    keys: Preset = "default"
    status: tuple[str, ...] = ()
    first_run: bool = False
    verbose: bool = False
    row_diff: bool = True
    low_approvals: bool = False
    progress: bool = False
    remember: Callable[[str, str], None] = forget
    clock: Callable[[], float] = time.monotonic
    grace_s: float = 0.5
    typing_s: float = 2.0
