from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.permissions.audit import AuditLog
from agent_tui.permissions.grammar import Layer, Origin, parse_rule
from agent_tui.permissions.grants import GrantStore
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.needs import Places
from agent_tui.permissions.policy import CallReview, Policy
from agent_tui.permissions.rules import RuleBook
from agent_tui.permissions.shell.exact import exact_analysis
from agent_tui.protocol.permissions import Decision, Permission, PermissionKind
from agent_tui.sandbox.interface import Strength


class Desk:
    """A policy over a project in tmp_path, with short ways to ask it."""

    def __init__(self, project: Path, home: Path, state: Path) -> None:
        self.project, self.home, self.state = project, home, state
        self.policy = self.make()

    def make(
        self,
        *,
        mode: Mode = Mode.DEFAULT,
        strength: Strength = Strength.STRONG,
        trusted: bool = True,
        **lists: list[str],
    ) -> Policy:
        origin = Origin(Layer.USER, self.project, "config.toml", 1)
        book = RuleBook(
            [parse_rule(text, Decision(effect), origin) for effect, texts in lists.items() for text in texts],
            trusted=trusted,
        )
        places = Places(self.project, self.home, own=(self.home / ".config/agent-tui",))
        self.policy = Policy(
            places=places,
            grants=GrantStore(self.state),
            audit=AuditLog(self.state),
            analyse=lambda command, _cwd: exact_analysis(command),
            book=book,
            mode=mode,
            strength=lambda: strength,
        )
        return self.policy

    def ask(
        self, kind: PermissionKind, target: str | Path, *, tool: str = "", pattern: str = ""
    ) -> CallReview:
        tools = {
            "read": "read",
            "write": "write",
            "execute": "bash",
            "network": "webfetch",
            "tool": "mcp__a__b",
        }
        permission = Permission(id="p0", kind=kind, target=str(target), pattern=pattern)
        return self.policy.review(
            tool=tool or tools[kind],
            permissions=[permission],
            readable=kind is PermissionKind.READ,
            needs_approval=kind is PermissionKind.TOOL,
            cwd=self.project,
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    for name in ("proj", "home", "state"):
        (tmp_path / name).mkdir()
    return Desk(tmp_path / "proj", tmp_path / "home", tmp_path / "state")


@pytest.fixture
def write_ok(desk: Desk) -> Callable[[str], bool]:
    return lambda path: not desk.ask(PermissionKind.WRITE, path).asking
