"""Keeps Textual from importing what the first paint does not need."""

import importlib
import sys

_UNUSED = "tree_sitter"
_USER = "textual.widgets._text_area"


def import_textual_lean() -> None:
    """Import Textual's syntax support without its parser; call before anything imports a text area.

    Textual imports tree-sitter whenever it is installed (8 ms, 2 MB); our prompt highlights nothing and the shell
    analysis imports it itself when the first command comes.
    """
    if _UNUSED in sys.modules or _USER in sys.modules:
        return
    blocked: dict[str, None] = {_UNUSED: None}
    sys.modules.update(blocked)  # type: ignore[arg-type]  # None in sys.modules makes an import fail, by the language reference
    try:
        importlib.import_module(_USER)
    finally:
        del sys.modules[_UNUSED]
