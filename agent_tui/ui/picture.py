"""A picture of the screen that needs nothing from elsewhere."""

from __future__ import annotations

import re

from textual.app import App

_LEFT_OUT = re.compile(r"@font-face\s*\{[^}]*\}\s*|<!--.*?-->\s*", re.DOTALL)
_FAMILY = re.compile(r"font-family:\s*[^;]*;")
_OWN_FAMILY = 'font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace;'


def picture_of(app: App[int]) -> str:
    """Give the screen as it is now as SVG; fonts that a viewer would fetch are left out."""
    svg = _LEFT_OUT.sub("", app.export_screenshot(title=app.title))
    return _FAMILY.sub(_OWN_FAMILY, svg)
