import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **extra}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, env=environment, check=False
    )


def test_package_list_equals_the_folders() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "agent_tui").rglob("__init__.py")
    }

    assert set(listed) - {"agent_tui._bundled.tools", "agent_tui._bundled.themes"} == folders
    assert listed == sorted(listed)


@pytest.fixture(scope="module")
def clean_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of its own with the wheel, and the dependencies of this one by path."""
    folder = tmp_path_factory.mktemp("clean")
    source = folder / "source"
    left_out = shutil.ignore_patterns(
        ".venv", ".git", "build", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis"
    )
    shutil.copytree(ROOT, source, ignore=left_out)
    built = run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source, cwd=folder
    )
    assert built.returncode == 0, built.stdout + built.stderr
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    wheel = next(folder.glob("*.whl"))
    installed = run(sys.executable, "-m", "pip", "install", "--no-deps", "--target", site, wheel, cwd=folder)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    ours = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    # Dependencies only: an editable install of this checkout would hide what the wheel lacks.
    (site / "dependencies.pth").write_text(f"import sys; sys.path.append({str(ours)!r})\n")
    return python


def test_wheel_lists_exactly_the_bundled_tools(clean_python: Path, tmp_path: Path) -> None:
    done = run(clean_python, "-m", "agent_tui", "tool", "--list", cwd=tmp_path, HOME=str(tmp_path))

    assert done.returncode == 0, done.stderr
    names = {json.loads(line)["name"] for line in done.stdout.splitlines()}
    assert names == {path.stem for path in (ROOT / "tools").glob("*.py") if not path.name.startswith("_")}


def test_wheel_holds_the_themes(clean_python: Path, tmp_path: Path) -> None:
    code = "from agent_tui.extensions.bundled import themes_dir; print(*sorted(p.stem for p in themes_dir().glob('*.toml')))"

    done = run(clean_python, "-c", code, cwd=tmp_path)

    assert done.stdout.split() == sorted(path.stem for path in (ROOT / "themes").glob("*.toml"))


def test_wheel_brings_the_changelog_of_its_version(clean_python: Path, tmp_path: Path) -> None:
    code = "import sys; from agent_tui.ui.commands.papers import changelog; sys.stdout.write(changelog())"

    done = run(clean_python, "-c", code, cwd=tmp_path)

    assert done.stdout.strip() == (ROOT / "CHANGELOG.md").read_text().strip(), done.stderr


def test_no_global_package_is_called_tools(clean_python: Path, tmp_path: Path) -> None:
    code = "import importlib.util as u; print(u.find_spec('tools'), u.find_spec('themes'))"

    assert run(clean_python, "-c", code, cwd=tmp_path).stdout.split() == ["None", "None"]


def test_installed_package_is_the_wheel_and_not_the_checkout(clean_python: Path, tmp_path: Path) -> None:
    done = run(clean_python, "-c", "import agent_tui; print(agent_tui.__file__)", cwd=tmp_path)

    assert not Path(done.stdout.strip()).is_relative_to(ROOT)
