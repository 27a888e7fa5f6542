"""Loads tools from plugin files found by path; built-in, user's and project's files go the same way."""

import importlib.machinery
import importlib.util
import inspect
import re
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, cast

from pydantic import BaseModel

from agent_tui.protocol.errors import ToolLoadError
from agent_tui.toolkit.tool import DisplayConfig, Tool

_MODULE_PREFIX = "agent_tui._plugins"
_LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class LoadedTools:
    """What a folder gave: the tools in order of their files, and one error per file that failed."""

    tools: tuple[Tool[Any], ...] = ()
    failures: list[ToolLoadError] = field(default_factory=list[ToolLoadError])


class _SourceOnlyLoader(importlib.machinery.SourceFileLoader):
    """Compiles the text that was reviewed: neither reads a `.pyc` that could say something else nor writes one."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load_tools(folder: Path, *, source: str) -> LoadedTools:
    """Load every tool below `folder`; a missing folder gives none.

    A unit is `name.py` or `name/__init__.py`; names that begin with `_` or `.` are skipped. The folder never goes
    on `sys.path`. A file that fails costs only itself. `source` is "bundled", "user", "project" or another word
    that is legal in a module name.
    """
    tools: list[Tool[Any]] = []
    failures: list[ToolLoadError] = []
    seen: dict[str, Path] = {}
    for stem, path in plugin_units(folder):
        try:
            found = _load_unit(stem, path, source=source)
            _refuse_twins(found, path, seen)
        except ToolLoadError as error:
            failures.append(error)
        else:
            tools.extend(found)
            seen.update((tool.name, path) for tool in found)
    return LoadedTools(tuple(tools), failures)


def plugin_units(folder: Path) -> Iterator[tuple[str, Path]]:
    """Give (stem, file) of every unit, by name."""
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(("_", ".")):
            continue
        if entry.suffix == ".py" and entry.is_file():
            yield entry.stem, entry
        elif (entry / "__init__.py").is_file():
            yield entry.name, entry / "__init__.py"


def _load_unit(stem: str, path: Path, *, source: str) -> list[Tool[Any]]:
    """Execute one file and make its tools. Raises ToolLoadError."""
    module = execute_plugin(stem, path, source=source)
    classes = list(dict.fromkeys(_tool_classes(module)))
    if not classes:
        raise ToolLoadError("defines no tool: expected a subclass of Tool with a name", path=path)
    return [_instance(cls, path) for cls in classes]


def execute_plugin(stem: str, path: Path, *, source: str) -> ModuleType:
    """Run the file as a module of its own, registered before it executes so that dataclasses and pydantic find it.

    Raises ToolLoadError.
    """
    name = _free_module_name(f"{_MODULE_PREFIX}.{source}.{stem}", path)
    loader_type = importlib.machinery.SourceFileLoader if source == "bundled" else _SourceOnlyLoader
    spec = importlib.util.spec_from_file_location(name, path, loader=loader_type(name, str(path)))
    if spec is None or spec.loader is None:
        raise ToolLoadError("is not a Python file", path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _no_bytecode(source != "bundled"):
            spec.loader.exec_module(module)
    except (
        Exception,
        SystemExit,
    ) as error:  # plugin import: foreign code, one file's fault must not cost the rest
        sys.modules.pop(name, None)
        raise ToolLoadError(_import_fault(error), path=path) from error
    return module


@contextmanager
def _no_bytecode(wanted: bool) -> Generator[None]:
    """Write no `__pycache__` beside what a tool imports: it would change the project's content that is trusted."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = before or wanted
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _free_module_name(name: str, path: Path) -> str:
    """Give `name`, or `name_2` and so on when another file holds it; loading the same file again reuses it."""
    candidate, number = name, 1
    while candidate in sys.modules and sys.modules[candidate].__file__ != str(path):
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _import_fault(error: BaseException) -> str:
    """Say what went wrong while importing, with the line for a syntax error."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    return f"cannot be imported: {type(error).__name__}: {error}"


def _tool_classes(module: ModuleType) -> Iterator[type[Tool[Any]]]:
    """Give the tools this very file defines: imported classes, abstract and `_Private` ones do not count."""
    for item in vars(module).values():
        if not isinstance(item, type) or item.__module__ != module.__name__:
            continue
        if issubclass(item, Tool) and not item.__name__.startswith("_"):
            tool_class = cast("type[Tool[Any]]", item)
            if not inspect.isabstract(tool_class):
                yield tool_class


def _instance(cls: type[Tool[Any]], path: Path) -> Tool[Any]:
    """Make the tool and check what every tool must have. Raises ToolLoadError."""
    declared = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
    name = declared.get("name")
    if not isinstance(name, str) or not _LEGAL_NAME.fullmatch(name):
        raise ToolLoadError(
            f"{cls.__name__}.name must be 1-64 letters, digits, _ or -, got {name!r}", path=path
        )
    if not isinstance(declared.get("description"), str):
        raise ToolLoadError(f"{cls.__name__}.description must be a text", path=path)
    params_type = declared.get("params_type")
    if not (isinstance(params_type, type) and issubclass(params_type, BaseModel)):
        raise ToolLoadError(f"{cls.__name__}.params_type must be a pydantic model", path=path)
    try:
        tool = cls()
    except Exception as error:  # foreign code: the tool's own __init__
        raise ToolLoadError(f"{cls.__name__}() failed: {type(error).__name__}: {error}", path=path) from error
    if not isinstance(declared.get("display"), DisplayConfig):
        tool.display = DisplayConfig(display_name=name)
    return tool


def _refuse_twins(found: list[Tool[Any]], path: Path, seen: dict[str, Path]) -> None:
    """Refuse a file whose tool has a name that an earlier file of the folder took."""
    for tool in found:
        if tool.name in seen:
            raise ToolLoadError(f"the tool {tool.name!r} is already defined in {seen[tool.name]}", path=path)
