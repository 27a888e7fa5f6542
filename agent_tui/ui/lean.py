"""Keeps libraries from doing what a start does not need."""

import dataclasses
import importlib
import sys
from collections.abc import Callable
from functools import cached_property, partial
from types import FunctionType, ModuleType

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
    """Let the methods of a dataclass be compiled when they are first looked up; call before one is made.

    The standard library writes each of them as text and compiles it while a module is imported: 60 µs each, six of
    a frozen class. A start makes 330 such classes, and makes, compares or prints few: 130 ms of its CPU. Relies on one
    private function of Python 3.11 and 3.12; later ones compile those of a class together, no faster, and are left alone.
    """
    make = vars(dataclasses).get(_MAKER)
    if isinstance(make, FunctionType) and make.__module__ == dataclasses.__name__:
        setattr(dataclasses, _MAKER, partial(_LateMethod, make))


class _LateMethod:
    """Stands in a class for the method that `make` compiles, until somebody looks it up."""

    def __init__(self, make: Callable[..., FunctionType], name: str, *text: object, **names: object) -> None:
        self.__name__ = name
        self._compile = partial(make, name, *text, **names)

    @cached_property
    def _method(self) -> FunctionType:
        return self._compile()

    def __get__(self, instance: object, owner: type) -> object:
        method = self._method
        for holder in owner.__mro__:
            if vars(holder).get(self.__name__) is self:
                method.__qualname__ = f"{holder.__qualname__}.{self.__name__}"
                setattr(holder, self.__name__, method)
        return method.__get__(instance, owner)

    def __call__(self, *given: object) -> object:
        """Do what the method does: the standard library wraps `__repr__`."""
        return self._method(*given)
