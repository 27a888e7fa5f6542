"""Keeps libraries from importing what a start does not need."""

import importlib
import sys
from types import ModuleType

_UNUSED = "tree_sitter"
_USER = "textual.widgets._text_area"
_PLUGINS = "pydantic.plugin._loader"


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


def leave_out_pydantic_plugins() -> None:
    """Let pydantic look for no plugins of installed packages; call before it is imported.

    Its first model reads the metadata of every installed package: 20 ms and 2 MiB with the modules for it. Relies on
    one private module of pydantic, in which there is one function.
    """
    if _PLUGINS not in sys.modules:
        stand_in = ModuleType(_PLUGINS)
        vars(stand_in)["get_plugins"] = tuple
        sys.modules[_PLUGINS] = stand_in
