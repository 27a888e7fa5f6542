"""Reads back what `agent_tui.ui.render.safe.vis` has written."""

import re

_MARK = re.compile("⟦(?:(n)⟧\n|([0-9a-f]+)⟧)")


def unvis(shown: str) -> str:
    """Give back the text that `vis` was given."""
    return _MARK.sub(lambda mark: "\n" if mark[1] else chr(int(mark[2], 16)), shown)
