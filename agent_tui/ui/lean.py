"""Keeps libraries from doing what a start does not need."""

import dataclasses
import importlib
import sys
from collections.abc import Callable
from types import ModuleType

_UNUSED = "tree_sitter"
_USER = "textual.widgets._text_area"
_PLUGINS = "pydantic.plugin._loader"
_MAKER = "_create_fn"


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


def compile_dataclasses_late() -> None:
    """Let the methods of a dataclass be compiled at their first call; call before one is made.

    The standard library writes each of them as text and compiles it while a module is imported: 60 µs each, five of
    a frozen class beside `__init__`, which stays as it is for those who read its signature. A start makes 330 such
    classes, compares, prints and changes hardly any: 110 ms of its CPU. Relies on one private function of Python 3.11
    and 3.12; later ones compile a class at once and are left alone.
    """
    make = vars(dataclasses).get(_MAKER)
    if make is not None and make.__module__ == dataclasses.__name__:
        vars(dataclasses)[_MAKER] = _late(make)


def _late(make: Callable[..., Callable[..., object]]) -> Callable[..., Callable[..., object]]:
    def make_late(name: str, *text: object, **names: object) -> Callable[..., object]:
        if name == "__init__":
            return make(name, *text, **names)
        made: Callable[..., object] | None = None

        def method(*given: object) -> object:
            nonlocal made
            if made is None:
                made = make(name, *text, **names)
            return made(*given)

        method.__name__ = name
        return method

    return make_late
