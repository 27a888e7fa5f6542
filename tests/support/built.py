"""The wheel and the sdist, built from a copy of what the checkout would commit."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
"""What the copy stands at."""


@dataclass(frozen=True)
class Built:
    """What came of a build. `source` is the copy it was made of, `files` are the relative paths in it."""

    source: Path
    files: frozenset[str]
    wheel: Path
    sdist: Path


def run(*command: str | Path, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **extra}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, env=environment, check=False
    )


def succeed(*command: str | Path, cwd: Path, **extra: str) -> str:
    """Run a command that must succeed and give what it printed."""
    done = run(*command, cwd=cwd, **extra)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def sources() -> frozenset[str]:
    """Give the files that git knows or would take; in a tree without git those that are no product of a tool."""
    listed = run("git", "ls-files", "-co", "--exclude-standard", "--deduplicate", cwd=ROOT)
    if (ROOT / ".git").exists() and listed.returncode == 0:
        return frozenset(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())
    made = {".venv", "build", "dist", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis"}
    return frozenset(
        str(relative)
        for relative in (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        if not made & set(relative.parts) and not any(part.endswith(".egg-info") for part in relative.parts)
    )


def build(folder: Path, *flags: str) -> Built:
    """Build the sdist of a copy, and the wheel of the sdist."""
    source, products, files = folder / "source", folder / "dist", sources()
    for name in files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    (source / ".git").mkdir()
    (source / ".git/HEAD").write_text(f"{COMMIT}\n")
    succeed(sys.executable, "-m", "build", *flags, "--outdir", products, source, cwd=folder)
    (wheel,), (sdist,) = products.glob("*.whl"), products.glob("*.tar.gz")
    return Built(source, files, wheel, sdist)
