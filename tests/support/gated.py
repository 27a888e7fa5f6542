"""Runs the program as `agent-tui` does, but goes on after drawing the prompt only once a file is there."""

import os
import sys
import time
from pathlib import Path

from agent_tui.ui.instant import draw_at_once

drawn = draw_at_once(sys.argv[1:])
gate = Path(os.environ["GATE"])
try:
    while not gate.exists():
        time.sleep(0.005)
    from agent_tui import cli

    code = cli.main(drawn=drawn)
finally:
    if drawn is not None:
        drawn.restore()
sys.exit(code)
