import inspect
from pathlib import Path

import pytest

from agent_tui.headless.exit_codes import ExitCode
from agent_tui.protocol import display, errors, events, messages, permissions, tools

DOCS = Path(__file__).parents[2] / "docs"
BASES = {"TurnEvent", "Data"}


def defined_in(module: object) -> list[str]:
    return sorted(
        name
        for name, item in vars(module).items()
        if inspect.isclass(item) and item.__module__ == module.__name__ and name not in BASES
    )


@pytest.mark.parametrize("name", defined_in(events))
def test_every_event_has_its_sentence(name: str) -> None:
    assert f"{name}: " in (DOCS / "events.md").read_text()


@pytest.mark.parametrize("name", defined_in(errors))
def test_every_error_has_its_sentence(name: str) -> None:
    assert f"`{name}`" in (DOCS / "events.md").read_text()


@pytest.mark.parametrize(
    "name",
    [
        n
        for m in (tools, display, permissions, messages)
        for n in defined_in(m)
        if n not in {"Decision", "Scope", "DecidedBy"}
    ],
)
def test_every_type_has_its_sentence(name: str) -> None:
    assert f"`{name}`" in (DOCS / "events.md").read_text()


@pytest.mark.parametrize("code", list(ExitCode))
def test_every_exit_code_has_its_sentence(code: ExitCode) -> None:
    assert f"| {int(code)} | {code.name}: " in (DOCS / "headless.md").read_text()
