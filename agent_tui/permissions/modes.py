"""How much runs without a question."""

from enum import StrEnum

from agent_tui.protocol.near_names import did_you_mean


class Mode(StrEnum):
    """The permission mode of a session.

    DEFAULT runs what only reads; ACCEPT_EDITS also writes in the project; PLAN runs nothing that has a side effect;
    AUTO also runs commands in a strong sandbox; DONT_ASK denies what would be asked; BYPASS asks only for what
    nothing may allow (deny rules and protected paths hold).
    """

    DEFAULT = "default"
    ACCEPT_EDITS = "accept-edits"
    PLAN = "plan"
    AUTO = "auto"
    DONT_ASK = "dont-ask"
    BYPASS = "bypass"


_ALIASES = {"bypasspermissions": Mode.BYPASS, "yolo": Mode.BYPASS, "afk": Mode.DONT_ASK, "ask": Mode.DEFAULT}


def parse_mode(text: str) -> Mode:
    """Give the mode called `text`; camelCase and underscores are accepted. Raises ValueError that lists the modes."""
    plain = text.replace("-", "").replace("_", "").casefold()
    for mode in Mode:
        if mode.value.replace("-", "") == plain:
            return mode
    if plain in _ALIASES:
        return _ALIASES[plain]
    raise ValueError(f"no mode {text!r}{did_you_mean(text, Mode)}")


def next_mode(mode: Mode) -> Mode:
    """Give the mode that Shift+Tab leads to. AUTO, BYPASS and DONT_ASK are never reached by a key, only left."""
    ring = (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.PLAN)
    return ring[(ring.index(mode) + 1) % len(ring)] if mode in ring else Mode.DEFAULT
