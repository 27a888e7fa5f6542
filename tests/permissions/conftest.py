import asyncio
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_tui.permissions.audit import AuditLog
from agent_tui.permissions.grammar import Layer, Origin, parse_rule
from agent_tui.permissions.grants import GrantStore
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.needs import Places
from agent_tui.permissions.policy import CallReview, Policy
from agent_tui.permissions.rules import RuleBook
from agent_tui.permissions.shell.analysis import Analyser
from agent_tui.permissions.shell.model import Analysis
from agent_tui.protocol.permissions import (
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Scope,
    Verdict,
)
from agent_tui.sandbox.interface import Strength

FILES = {
    "README.md": "# readme\n",
    "src/app.py": "def main():\n    pass  # TODO\n",
    "src/a.py": "import os\n",
    "src/b.py": "import sys\n",
    "tests/test_a.py": "def test_a(): pass\n",
    "docs/guide.md": "guide\n",
    "names.txt": "b\na\n",
    "in.txt": "b\na\n",
    "a.txt": "1 2\n",
    "notes.txt": "n\n",
    "list.txt": "x\n",
    "build.log": "log\n",
    "package.json": '{"name": "x"}\n',
    "pyproject.toml": "[project]\n",
    "data.csv": "a,b\n",
    "setup.py": "x = 1\n",
    "Makefile": "all:\n",
    "a.bin": "\0\1",
    "dist.tar.gz": "x",
    ".env": "KEY=value\n",
    ".gitignore": ".env\nbuild/\n",
    "build/out.o": "x",
}
TRACKED = [
    "README.md",
    "src",
    "tests",
    "docs/guide.md",
    "names.txt",
    "package.json",
    "pyproject.toml",
    ".gitignore",
]


@dataclass(frozen=True)
class Ground:
    """A root that stands for `/`: ws/proj is the project, home/u home."""

    root: Path

    @property
    def project(self) -> Path:
        return self.root / "ws/proj"

    @property
    def home(self) -> Path:
        return self.root / "home/u"

    def here(self, command: str) -> str:
        """Put the real places into a command written for /ws and /home/u."""
        return command.replace("/home/u", str(self.home)).replace("/ws/", f"{self.root}/ws/")

    def analyse(self, command: str, *, path: str = "/usr/local/bin:/usr/bin:/bin") -> Analysis:
        analyser = Analyser(project=self.project, home=self.home, environ={"PATH": path})
        return analyser(self.here(command), self.project)


def make_ground(root: Path) -> Ground:
    ground = Ground(root)
    for name, text in FILES.items():
        path = ground.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in ("ws/proj2", "ws/other", "home/u/.ssh"):
        (root / folder).mkdir(parents=True)
    (root / "ws/proj2/x").write_text("x")
    (root / "ws/other/secret.txt").write_text("s")
    (root / "ws/other/config").write_text("c")
    (ground.project / "link_to_etc").symlink_to("/etc")
    (ground.project / "docs/link_to_config").symlink_to(root / "ws/other/config")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(ground.home), "GIT_CONFIG_NOSYSTEM": "1"}
    for arguments in (["init", "-q"], ["add", *TRACKED], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=ground.project, check=True, env=environ)
    return ground


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_ground(tmp_path_factory.mktemp("ground").resolve())


@pytest.fixture(scope="session")
def corpus() -> list[dict[str, str]]:
    lines = (Path(__file__).parent / "commands.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


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
        layer: Layer = Layer.USER,
        **lists: Sequence[str],
    ) -> Policy:
        origin = Origin(layer, self.project, "config.toml", 1)
        rules = [
            parse_rule(text, Decision(effect), origin) for effect, texts in lists.items() for text in texts
        ]
        self.policy = Policy(
            places=Places(
                self.project,
                self.home,
                own=(self.home / ".config/agent-tui", self.home / ".local/share/agent-tui", self.state),
                readable=(self.state.parent / "outputs",),
            ),
            grants=GrantStore(self.state),
            audit=AuditLog(self.state),
            analyse=Analyser(project=self.project, home=self.home, environ={"PATH": "/usr/bin:/bin"}),
            book=RuleBook(rules, trusted=trusted),
            mode=mode,
            strength=lambda: strength,
        )
        return self.policy

    def ask(
        self,
        kind: PermissionKind,
        target: str | Path,
        *,
        tool: str = "",
        pattern: str = "",
        cwd: Path | None = None,
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
            cwd=cwd or self.project,
        )

    def run(self, command: str) -> str:
        """Give allow, ask or deny for a command."""
        review = self.ask(PermissionKind.EXECUTE, command)
        return "deny" if review.denial else "ask" if review.asking else "allow"

    def can(self, kind: PermissionKind, target: str | Path, *, tool: str = "") -> str:
        review = self.ask(kind, target, tool=tool)
        return "deny" if review.denial else "ask" if review.asking else "allow"

    def request(self, review: CallReview, *, tool: str = "bash") -> PermissionRequest:
        return PermissionRequest(
            request_id="r",
            call_id="c",
            tool=tool,
            title="t",
            permissions=review.asking,
            decided=review.decided,
            parts=review.parts,
            args_sha256="aa",
        )

    def always(
        self,
        review: CallReview,
        *,
        scope: Scope = Scope.SESSION,
        decision: Decision = Decision.ALLOW,
        tool: str = "bash",
    ) -> None:
        """Answer everything that was asked with a lasting answer."""
        answers = tuple(
            PermissionDecision(
                permission_id=p.id, decision=decision, scope=scope, pattern=p.pattern or p.target
            )
            for p in review.asking
        )
        self.record(self.request(review, tool=tool), Verdict(call_id="c", permissions=answers))

    def record(self, request: PermissionRequest, verdict: Verdict) -> None:
        asyncio.run(self.policy.record(request, verdict))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    for name in ("proj", "home", "state", "outputs", "outside"):
        (tmp_path / name).mkdir()
    root = tmp_path.resolve()
    return Desk(root / "proj", root / "home", root / "state")
