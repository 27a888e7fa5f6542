"""Loads the user's own guardrails from files; one that cannot be loaded keeps the program from starting."""

import importlib.machinery
import importlib.util
import inspect
import sys
from pathlib import Path
from types import CodeType

from agent_tui.agent.guardrails import Guardrail, OpenGuardrail
from agent_tui.protocol.errors import AgentTuiError

_MODULE_PREFIX = "agent_tui._plugins.guardrails"


def load_guardrails(folder: Path) -> tuple[Guardrail, ...]:
    """Make one object of every class in `folder`/*.py that derives from OpenGuardrail, in the order of files and lines.

    Names that begin with `_` are skipped; a missing folder gives none. Raises AgentTuiError for a file or class that
    fails, and for a file without a guardrail: a check that is not there must not go unnoticed.
    """
    made: list[Guardrail] = []
    for path in sorted(folder.glob("*.py")):
        if not path.name.startswith("_"):
            made += _load(path)
    return tuple(made)


def _load(path: Path) -> list[Guardrail]:
    name = f"{_MODULE_PREFIX}.{path.stem}"
    loader = _SourceOnly(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None  # a loader was given
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
        kinds = [
            kind
            for _, kind in inspect.getmembers(module, inspect.isclass)
            if issubclass(kind, OpenGuardrail) and kind.__module__ == name
        ]
        made: list[Guardrail] = [kind() for kind in sorted(kinds, key=_line)]
    except Exception as error:  # foreign code
        del sys.modules[name]
        raise AgentTuiError(
            f"The guardrail {path} cannot be loaded ({error}). Repair it, or move it away to work without it."
        ) from error
    if not made:
        raise AgentTuiError(f"{path} holds no guardrail: derive a class from OpenGuardrail.")
    return made


def _line(kind: type) -> int:
    return inspect.getsourcelines(kind)[1]


class _SourceOnly(importlib.machinery.SourceFileLoader):
    """Compiles the text that stands there, never a `.pyc` beside it, and writes none."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)
