import json
import re
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from agent_tui import __version__
from agent_tui.protocol.version import COMMIT_FILE
from tests.support.built import COMMIT, ROOT, Built, build, run, succeed


def test_package_list_equals_the_folders() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "agent_tui").rglob("__init__.py")
    }

    assert set(listed) - {"agent_tui._bundled.tools", "agent_tui._bundled.themes"} == folders
    assert listed == sorted(listed)


def test_every_pinned_package_takes_the_oldest_python_that_the_readme_promises() -> None:
    """pip finds no version at all where one asks for a later patch release: Debian 12 has 3.11.2."""
    pinned = dict(re.findall(r"(?m)^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text()))
    installed = {
        one.metadata["Name"]: str(one.metadata.json.get("requires_python", ""))
        for one in distributions()
        if pinned.get(one.metadata["Name"]) == one.version
    }

    assert len(installed) > len(pinned) / 2  # most of them are looked at
    assert {name: asks for name, asks in installed.items() if not SpecifierSet(asks).contains("3.11.0")} == {}


def test_nobody_is_told_to_install_by_a_name_that_is_not_ours() -> None:
    """On PyPI `agent-tui` is a project of others."""
    by_name = re.compile(r"\b(?:install|uvx|inject)\b(?: -\S+)* [\"']?agent-tui\b(?! with:)|agent-tui\[")
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "agent_tui").rglob("*.py")]

    told = {file.name: found[0] for file in files if (found := by_name.search(file.read_text()))}

    assert told == {}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("built"), "--no-isolation")


@pytest.fixture(scope="module")
def clean_python(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of its own with the wheel, and the dependencies of this one by path."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    succeed(sys.executable, "-m", "pip", "install", "--no-deps", "--target", site, built.wheel, cwd=folder)
    ours = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    # Dependencies only: an editable install of this checkout would hide what the wheel lacks.
    (site / "dependencies.pth").write_text(f"import sys; sys.path.append({str(ours)!r})\n")
    return python


def test_sdist_holds_the_sources_and_nothing_else(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()}

    made = {
        name for name in held if name in ("PKG-INFO", "setup.cfg") or name.startswith("agent_tui.egg-info/")
    }
    assert held - made - {f"agent_tui/{COMMIT_FILE}"} == built.files - {".gitignore"}


def test_wheel_holds_the_package_alone(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}

    assert tops == {"agent_tui", f"agent_tui-{__version__}.dist-info"}


def test_wheel_says_its_version_and_the_commit_it_was_made_of(clean_python: Path, tmp_path: Path) -> None:
    done = run(clean_python, "-m", "agent_tui", "--version", cwd=tmp_path)

    assert done.stdout == f"agent-tui {__version__} ({COMMIT[:9]})\n", done.stderr


def test_changelog_has_a_dated_section_for_the_version() -> None:
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert re.fullmatch(rf"{re.escape(__version__)} \(\d{{4}}-\d\d-\d\d\)|Unreleased", heads[0]), heads


def test_wheel_lists_exactly_the_bundled_tools(clean_python: Path, tmp_path: Path) -> None:
    done = run(clean_python, "-m", "agent_tui", "tool", "--list", cwd=tmp_path, HOME=str(tmp_path))

    assert done.returncode == 0, done.stderr
    names = {json.loads(line)["name"] for line in done.stdout.splitlines()}
    assert names == {path.stem for path in (ROOT / "tools").glob("*.py") if not path.name.startswith("_")}


def test_wheel_holds_the_themes(clean_python: Path, tmp_path: Path) -> None:
    code = "from agent_tui.extensions.bundled import themes_dir; print(*sorted(p.stem for p in themes_dir().glob('*.toml')))"

    done = run(clean_python, "-c", code, cwd=tmp_path)

    assert done.stdout.split() == sorted(path.stem for path in (ROOT / "themes").glob("*.toml"))


def test_wheel_brings_the_changelog_of_its_version(built: Built, clean_python: Path, tmp_path: Path) -> None:
    code = "import sys; from agent_tui.ui.commands.papers import changelog; sys.stdout.write(changelog())"

    done = run(clean_python, "-c", code, cwd=tmp_path)

    assert done.stdout.strip() == (built.source / "CHANGELOG.md").read_text().strip(), done.stderr


def test_no_global_package_is_called_tools(clean_python: Path, tmp_path: Path) -> None:
    code = "import importlib.util as u; print(u.find_spec('tools'), u.find_spec('themes'))"

    assert run(clean_python, "-c", code, cwd=tmp_path).stdout.split() == ["None", "None"]


def test_installed_package_is_the_wheel_and_not_the_checkout(clean_python: Path, tmp_path: Path) -> None:
    done = run(clean_python, "-c", "import agent_tui; print(agent_tui.__file__)", cwd=tmp_path)

    assert not Path(done.stdout.strip()).is_relative_to(ROOT)
