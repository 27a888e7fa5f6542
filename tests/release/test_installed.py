"""Installs what was built from a registry, as a stranger would, with every Python at hand."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui import __version__
from tests.e2e.conftest import Place
from tests.e2e.test_offline import READY
from tests.support.built import COMMIT, ROOT, Built, build, succeed
from tests.support.terminal import Terminal

pytestmark = pytest.mark.release
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
VERSION = f"agent-tui {__version__} ({COMMIT[:9]})\n"
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
MIB = 1 << 20
HELP = "I understand a small set of plain requests"


def interpreter(version: str) -> str:
    """Find a Python of `version` that runs, on PATH or among those of pyenv; "" when there is none."""
    name = f"python{version}"
    on_path = [found] if (found := shutil.which(name)) else []
    for path in [*on_path, *map(str, sorted(PYENV.glob(f"versions/{version}*/bin/{name}"), reverse=True))]:
        # pyenv puts a script of that name on PATH also where it has no such Python
        if (
            subprocess.run(
                [path, "-c", "import venv, ensurepip"], capture_output=True, check=False
            ).returncode
            == 0
        ):
            return path
    return ""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the registry sent is kept for the next installation."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module", params=PYTHONS)
def program(
    request: pytest.FixtureRequest, built: Built, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The installed program, in an environment of its own for each Python."""
    python = interpreter(request.param)
    if not python:
        pytest.skip(f"there is no Python {request.param} here")
    folder = tmp_path_factory.mktemp("installed")
    succeed(python, "-m", "venv", folder, cwd=folder)
    constraints = ("--constraint", ROOT / "constraints.txt", "--cache-dir", cache)
    succeed(folder / "bin/python", "-m", "pip", "install", *constraints, built.wheel, cwd=folder)
    return folder / "bin/agent-tui"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def said(program: Path, place: Place, *arguments: str) -> str:
    done = subprocess.run(
        [program, *arguments],
        cwd=place.project,
        env=place.env(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_version_and_commit_are_said(program: Path, place: Place) -> None:
    assert said(program, place, "--version") == VERSION


def test_all_tools_are_there(program: Path, place: Place) -> None:
    names = {json.loads(line)["name"] for line in said(program, place, "tool", "--list").splitlines()}

    assert names == {path.stem for path in (ROOT / "tools").glob("*.py") if not path.name.startswith("_")}


def test_a_prompt_is_answered_without_a_key(program: Path, place: Place) -> None:
    assert HELP in said(program, place, "-p", "help")


def test_a_file_is_changed_once_that_is_allowed(program: Path, place: Place) -> None:
    said(program, place, "-p", "create petals.txt with five", "--permission-mode", "accept-edits")

    assert (place.project / "petals.txt").read_text().strip() == "five"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(program: Path, place: Place, shell: str) -> None:
    assert "_AGENT_TUI_COMPLETE" in said(program, place, "completion", shell)


def test_the_screen_opens_takes_a_prompt_and_ends(program: Path, place: Place) -> None:
    with Terminal([str(program)], cwd=place.project, env=place.env()) as terminal:
        terminal.until(READY)
        terminal.send("help\r")
        terminal.until(HELP)
        terminal.send("\x11")

        assert terminal.wait() == 0


def test_nothing_is_amiss_among_the_installed_packages(program: Path, tmp_path: Path) -> None:
    python = program.with_name("python")
    listed = json.loads(succeed(python, "-m", "pip", "list", "--format", "json", cwd=tmp_path))
    names = {one["name"] for one in listed} - {"pip", "setuptools", "agent-tui"}
    site = next(program.parents[1].glob("lib/python*/site-packages"))
    files = [path for path in site.rglob("*") if path.is_file() and path.relative_to(site).parts[0] != "pip"]

    assert "No broken requirements" in succeed(python, "-m", "pip", "check", cwd=tmp_path)
    assert len(names) <= 60
    assert sum(path.stat().st_size for path in files) / MIB <= 150


def test_the_sdist_installs_too(built: Built, cache: Path, place: Place, tmp_path: Path) -> None:
    folder = tmp_path / "from-sdist"
    succeed(sys.executable, "-m", "venv", folder, cwd=tmp_path)
    succeed(
        folder / "bin/python",
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--cache-dir",
        cache,
        built.sdist,
        cwd=tmp_path,
    )

    assert said(folder / "bin/agent-tui", place, "--version") == VERSION


@pytest.fixture(scope="module")
def installers(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pipx and uv."""
    folder = tmp_path_factory.mktemp("installers")
    succeed(sys.executable, "-m", "venv", folder, cwd=folder)
    succeed(folder / "bin/python", "-m", "pip", "install", "--cache-dir", cache, "pipx", "uv", cwd=folder)
    return folder / "bin"


def test_pipx_installs_the_wheel(
    installers: Path, built: Built, cache: Path, place: Place, tmp_path: Path
) -> None:
    homes = {
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "PIP_CACHE_DIR": str(cache),
    }
    succeed(installers / "pipx", "install", "--python", sys.executable, built.wheel, cwd=tmp_path, **homes)

    assert said(tmp_path / "bin/agent-tui", place, "--version") == VERSION
    assert HELP in said(tmp_path / "bin/agent-tui", place, "-p", "help")


def test_uv_installs_the_wheel_as_a_tool(
    installers: Path, built: Built, place: Place, tmp_path: Path
) -> None:
    homes = {"UV_TOOL_DIR": str(tmp_path / "uv"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    flags = ("--python", sys.executable, "--no-python-downloads")
    succeed(installers / "uv", "tool", "install", *flags, built.wheel, cwd=tmp_path, **homes)

    assert said(tmp_path / "bin/agent-tui", place, "--version") == VERSION
    assert HELP in said(tmp_path / "bin/agent-tui", place, "-p", "help")
