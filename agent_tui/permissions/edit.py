"""Adds rules to a settings file and takes them out, keeping everything else as it is."""

import os
from pathlib import Path
from typing import cast

from agent_tui.protocol.permissions import Decision
from agent_tui.protocol.private_file import write_private


def add_rule(path: Path, effect: Decision, rule: str) -> bool:
    """Write `rule` into a list of `[permissions]`; False when it stands there already.

    Raises OSError, or ValueError when the file cannot be parsed.
    """
    return _change(path, effect, rule, remove=False)


def remove_rule(path: Path, effect: Decision, rule: str) -> bool:
    """Take `rule` out of a list of `[permissions]`; False when it is not there. Raises as `add_rule`."""
    return _change(path, effect, rule, remove=True)


def _change(path: Path, effect: Decision, rule: str, *, remove: bool) -> bool:
    # tomlkit costs 30 ms; only the commands that change a settings file pay.
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import Array, Table

    try:
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
        document = tomlkit.parse(text)
    except (TOMLKitError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error
    if "permissions" not in document:
        document["permissions"] = tomlkit.table()
    table = cast("Table", document["permissions"])
    if effect.value not in table:
        table[effect.value] = tomlkit.array()
    listed = cast("Array", table[effect.value])
    known = [str(entry) for entry in listed.unwrap()]
    if (rule in known) is not remove:
        return False
    if remove:
        del listed[known.index(rule)]
    else:
        listed.multiline(True)
        listed.insert(len(listed), rule)
    _replace(path, tomlkit.dumps(document))
    return True


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically; a link is followed."""
    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True)
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
    write_private(real, text.encode(), mode=mode)
