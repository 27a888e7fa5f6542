"""Runs the program as `python -m agent_tui`."""

import sys

from agent_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
