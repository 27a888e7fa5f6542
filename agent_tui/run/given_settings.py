"""Settings that one start is given: `--settings FILE|JSON` and `--config KEY=VALUE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

MAX_FILE_BYTES = 1_000_000


def settings_given(settings: str, config: Sequence[str]) -> dict[str, tuple[str, object]]:
    """Give both as dotted key -> (source, value); a single key wins over the file. Raises UsageError."""
    found: dict[str, tuple[str, object]] = {}
    if settings:
        for section, table in _tables(settings).items():
            values = cast("Mapping[str, object]", table) if isinstance(table, dict) else {"": table}
            found |= {
                f"{section}.{name}".rstrip("."): ("--settings", value) for name, value in values.items()
            }
    for pair in config:
        found |= _pair(pair)
    return found


def _tables(given: str) -> Mapping[str, object]:
    """Read JSON from the text itself, JSON or TOML from the file it names."""
    from agent_tui.protocol.errors import UsageError
    from agent_tui.protocol.plain_reasons import unreadable

    text, is_toml, where = given, False, ""
    if not given.lstrip().startswith("{"):
        path = Path(given)
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)  # a device tells no size and may have no end
            if len(data) > MAX_FILE_BYTES:
                raise UsageError(f"--settings: {given!r} holds more than {MAX_FILE_BYTES:,} bytes")
            text, is_toml = data.decode("utf-8-sig"), path.suffix == ".toml"
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--settings: {given!r} {unreadable(error)}") from error
        where = f": {given!r}"
    try:
        parsed = _toml(text) if is_toml else _json(text)
    except ValueError as error:
        kind = "TOML" if is_toml else "JSON, as which a file not called .toml is read" if where else "JSON"
        raise UsageError(f"--settings{where} is not valid {kind}: {error}") from error
    if not isinstance(parsed, dict):
        raise UsageError('--settings must be tables, such as {"ui": {"theme": "light"}}')
    return cast("Mapping[str, object]", parsed)


def _pair(pair: str) -> dict[str, tuple[str, object]]:
    """Read `ui.theme=light`; a value is TOML when it can be read as that, else a text."""
    from agent_tui.protocol.errors import UsageError

    key, equals, text = pair.partition("=")
    key = key.strip()
    if not equals or not key:
        raise UsageError(f"--config {pair!r}: write KEY=VALUE, such as --config ui.theme=light")
    try:
        value = cast("Mapping[str, object]", _toml(f"value = {text.strip()}"))["value"]
    except (ValueError, KeyError):
        value = text.strip()
    return {key: ("--config", value)}


def _toml(text: str) -> object:
    from agent_tui.protocol.toml_text import parse_toml  # only for those who give settings

    return parse_toml(text)


def _json(text: str) -> object:
    from agent_tui.protocol.json_text import parse_json

    return parse_json(text)
