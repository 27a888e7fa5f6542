import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_tui.sandbox.landlock import landlock_abi
from agent_tui.sandbox.probe import bwrap_refused
from tests.support.patience import RUN_S

ROOT = Path(__file__).parents[2]
NOBODY = 65534
BWRAP = "/usr/bin/bwrap"
ETC = ("passwd", "group", "nsswitch.conf", "hosts", "ld.so.cache", "alternatives")

Run = Callable[..., list[tuple[int, str]]]


def shell_until(condition: str) -> str:
    """Shell text that waits for a condition of what it began in the background, with an end.

    A process that was just begun may not have run one instruction yet when the shell goes on.
    """
    return f"for _ in $(seq {RUN_S * 50:.0f}); do {condition} && break; sleep 0.02; false; done"


@dataclass
class World:
    """A throw-away place: a project that is a git repository, a home with secrets, a sibling, a copy of /etc."""

    root: Path
    code: Path
    python: str

    @property
    def workspace(self) -> Path:
        return self.root / "proj"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temp(self) -> Path:
        return self.root / "tmp"

    @property
    def own(self) -> Path:
        return self.home / ".local/state/agent-tui"

    def run(
        self,
        backend: str,
        commands: Sequence[str],
        *,
        uid: int = 0,
        outer: Sequence[str] = (),
        **more: object,
    ) -> list[tuple[int, str]]:
        return self.answer(backend, [{"text": text, **more} for text in commands], uid=uid, outer=outer)[1]

    def answer(
        self,
        backend: str,
        items: Sequence[dict[str, object]],
        *,
        uid: int = 0,
        outer: Sequence[str] = (),
        **settings: object,
    ) -> tuple[str, list[tuple[int, str]]]:
        command = self.driver(uid=uid, outer=outer)
        done = subprocess.run(
            command,
            input=self.order(backend, items, **settings),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.root,
            timeout=RUN_S,
        )
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        return answer["strength"], [(item["code"], item["text"]) for item in answer["results"]]

    def order(self, backend: str, items: Sequence[dict[str, object]], **settings: object) -> str:
        return json.dumps(
            {
                "backend": backend,
                "workspace": str(self.workspace),
                "home": str(self.home),
                "temp": str(self.temp),
                "hidden": [str(self.own)],
                "commands": list(items),
                **settings,
            }
        )

    def driver(self, *, uid: int = 0, outer: Sequence[str] = ()) -> list[str]:
        program = f"import sys; sys.path.insert(0, {str(self.code)!r}); import driver; driver.main()"
        command = [self.python, "-I", "-c", program]
        if uid:
            subprocess.run(["chown", "-R", f"{uid}:{uid}", str(self.root)], check=True)
            command = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--", *command]
        return [*outer, *command]

    def outer(self) -> list[str]:
        """A throw-away sandbox around a run without protection: nothing of the host can be harmed."""
        own, etc = str(self.root), str(self.root / "etc")
        binds = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", own, own]
        binds += ["--bind", etc, "/etc", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
        return [BWRAP, "--die-with-parent", *binds, "--"]


def plain_python() -> str:
    """A Python that every user may run."""
    found = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    return found or sys.executable


@pytest.fixture(scope="session")
def template() -> Iterator[World]:
    # Not below /tmp: there the sandbox shows a folder of its own, and nothing would be proven.
    base = next(path for path in ("/opt", "/srv", str(ROOT)) if os.access(path, os.W_OK))
    with tempfile.TemporaryDirectory(
        prefix="agent-tui-test-", dir=base, ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o755)
        yield make_world(Path(folder, "template"), copy_code(Path(folder, "code")))


@pytest.fixture
def world(template: World, request: pytest.FixtureRequest) -> Iterator[World]:
    root = Path(tempfile.mkdtemp(prefix="world-", dir=template.root.parent))
    root.chmod(0o755)
    subprocess.run(["cp", "-a", f"{template.root}/.", str(root)], check=True)
    for name, target in (("linkdir", "sibling"), ("linkfile", "sibling/victim")):
        (root / "proj" / name).unlink()
        (root / "proj" / name).symlink_to(root / target)
    yield World(root, template.code, template.python)
    shutil.rmtree(root, ignore_errors=True)


def copy_code(folder: Path) -> Path:
    """Copy what the driver needs to where every user may read it."""
    shutil.copytree(ROOT / "agent_tui" / "sandbox", folder / "agent_tui/sandbox")
    (folder / "agent_tui/protocol").mkdir()
    for name in ("__init__.py", "protocol/__init__.py", "protocol/addresses.py", "protocol/errors.py"):
        shutil.copy(ROOT / "agent_tui" / name, folder / "agent_tui" / name)
    shutil.copy(Path(__file__).with_name("driver.py"), folder / "driver.py")
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
    return folder


def make_world(root: Path, code: Path) -> World:
    made = World(root, code, plain_python())
    for folder in ("proj", "home/.ssh", "home/.aws", "home/.local/state/agent-tui", "sibling", "tmp", "etc"):
        (root / folder).mkdir(parents=True)
    (root / "home/.ssh/canary").write_text("SECRET-CANARY\n")
    (root / "home/.netrc").write_text("SECRET-CANARY\n")
    (root / "home/.bashrc").write_text("# mine\n")
    (made.own / "grants").write_text("SECRET-CANARY\n")
    (root / "sibling/victim").write_text("victim\n")
    for name in ETC:
        if Path("/etc", name).exists():
            subprocess.run(["cp", "-a", f"/etc/{name}", str(root / "etc")], check=True)
    git = ["git", "-C", str(made.workspace)]
    for arguments in (
        ["init", "-q"],
        ["config", "user.email", "t@example.invalid"],
        ["config", "user.name", "t"],
    ):
        subprocess.run([*git, *arguments], check=True)
    (made.workspace / "file.txt").write_text("text\n")
    (made.workspace / ".env").write_text("TOKEN=ENV-CANARY\n")
    (made.workspace / ".gitignore").write_text(".env\nlink*\n")
    (made.workspace / "linkdir").symlink_to(root / "sibling")
    (made.workspace / "linkfile").symlink_to(root / "sibling/victim")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    return made


def backends() -> list[object]:
    refused, is_root = bwrap_refused(), os.geteuid() == 0
    no_root = pytest.mark.skipif(not is_root, reason="only root can become another user")
    no_bwrap = pytest.mark.skipif(bool(refused), reason=f"bubblewrap: {refused}")
    return [
        pytest.param(("bwrap", 0), marks=[no_bwrap], id="bwrap-self"),
        pytest.param(("bwrap", NOBODY), marks=[no_bwrap, no_root], id="bwrap-nobody"),
    ]


@pytest.fixture(params=backends())
def strong_as(request: pytest.FixtureRequest) -> tuple[str, int]:
    return request.param


@pytest.fixture
def strong(strong_as: tuple[str, int], world: World) -> Run:
    backend, uid = strong_as
    return lambda *commands, **more: world.run(backend, commands, uid=uid, **more)


@pytest.fixture
def bare(world: World) -> Run:
    if bwrap_refused():
        pytest.skip("no outer sandbox to try the attack in")
    return lambda *commands: world.run("none", commands, outer=world.outer())


@pytest.fixture
def weak(world: World) -> Run:
    if not landlock_abi():
        pytest.skip("this kernel has no Landlock")
    return lambda *commands, **more: world.run("landlock", commands, **more)
