"""The page that a browser gets: a terminal over all of it, nothing from elsewhere."""

from __future__ import annotations

import html

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="static/css/xterm.css">
<script src="static/js/textual.js"></script>
<style>
body {{ margin: 0; background: #15171c; color: #d8dce4; font: 16px monospace; }}
.note {{ position: absolute; inset: 0; display: flex; align-items: center; justify-content: center; z-index: 10; }}
.note a {{ color: #8fb4ff; margin-left: 1ch; }}
.ended, #start {{ display: none; }}
body.-first-byte .begins {{ display: none; }}
body.-closed .ended {{ display: flex; background: #15171c; }}
</style>
</head>
<body>
<div class="note begins" role="status">agent-tui starts. <button id="start" type="button">Start</button></div>
<div class="note ended" role="status">The session ended; it is kept. <a href="">Open a new one</a></div>
<div id="terminal" class="textual-terminal" data-session-websocket-url="{socket}" data-font-size="{size}"></div>
</body>
</html>
"""
_SIZES = range(6, 49)


def page(title: str, *, socket_url: str, font_size: str) -> str:
    """Give the page; a font size that is none is 16."""
    size = font_size if font_size.isascii() and font_size.isdigit() and int(font_size) in _SIZES else "16"
    return _PAGE.format(title=html.escape(title), socket=html.escape(socket_url, quote=True), size=size)
