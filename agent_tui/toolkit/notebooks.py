"""A Jupyter notebook as its cells, with outputs kept short."""

import json
from collections.abc import Iterator
from typing import cast

from agent_tui.protocol.data import JsonObject

OUTPUT_LIMIT_LINES = 20
OUTPUT_LIMIT_CHARS = 2_000


def render(text: str) -> str | None:
    """Give the cells in order as text, None when `text` is not a notebook."""
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    notebook = _object(parsed)
    cells = notebook.get("cells") if notebook else None
    if not isinstance(cells, list):
        return None
    return "\n\n".join(_cell(number, _object(cell) or {}) for number, cell in enumerate(cells, start=1))


def _cell(number: int, cell: JsonObject) -> str:
    kind = str(cell.get("cell_type", "unknown"))
    label = f", id {cell['id']}" if isinstance(cell.get("id"), str) else ""
    parts = [f"# Cell {number} ({kind}{label})", _joined(cell.get("source"))]
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        parts += [f"# Output: {line}" for line in _output(_object(output) or {})]
    return "\n".join(part for part in parts if part)


def _output(output: JsonObject) -> Iterator[str]:
    """Give what an output says; pictures and other data as a note with their size."""
    if output.get("output_type") == "error":
        yield f"{output.get('ename', 'error')}: {output.get('evalue', '')}"
        return
    if "text" in output:
        yield _short(_joined(output["text"]))
    for media_type, data in (_object(output.get("data")) or {}).items():
        body = _joined(data) if isinstance(data, str | list) else json.dumps(data)
        if media_type == "text/plain":
            yield _short(body)
        elif media_type.startswith("image/"):
            yield f"image {media_type}, {_size(len(body) * 3 // 4)}"
        else:
            yield f"{media_type}, {_size(len(body))}"


def _short(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    shown = "\n".join(lines[:OUTPUT_LIMIT_LINES])[:OUTPUT_LIMIT_CHARS]
    hidden = len(lines) - OUTPUT_LIMIT_LINES
    return shown + (f"\n({hidden:,} more lines)" if hidden > 0 else "")


def _size(size_bytes: int) -> str:
    if size_bytes >= 1_000_000:
        return f"{size_bytes / 1_000_000:.1f} MB"
    return f"{size_bytes / 1000:.1f} kB" if size_bytes >= 1000 else f"{size_bytes} bytes"


def _joined(value: object) -> str:
    """Join a text that the format may also store as a list of lines."""
    if isinstance(value, list):
        return "".join(str(part) for part in cast("list[object]", value))
    return value if isinstance(value, str) else ""


def _object(value: object) -> JsonObject | None:
    return cast("JsonObject", value) if isinstance(value, dict) else None
