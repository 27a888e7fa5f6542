"""Which theme files there are. Reads none of them, and needs no Textual."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

ALWAYS = ("dark", "light")
"""The themes that are there without a file."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def theme_names(folders: Sequence[Path]) -> list[str]:
    """List the names there are in `folders`, dark and light first."""
    found = {path.stem for folder in folders for path in _files(folder)}
    return [*ALWAYS, *sorted(found.difference(ALWAYS))]


def theme_file(name: str, folders: Sequence[Path]) -> Path | None:
    """Find the file of a theme; one of a later folder counts before another of its name."""
    files = [folder / f"{name}.toml" for folder in reversed(folders)] if _NAME.fullmatch(name) else []
    return next((file for file in files if os.path.lexists(file)), None)


def oddly_named(folders: Sequence[Path]) -> list[str]:
    """Give a sentence for each file that cannot be chosen because of its name."""
    return [
        f"{file}: a theme's name has small letters, digits and '-' only; call the file {_fitting(file.stem)}.toml"
        for folder in folders
        for file in _odd_files(folder)
    ]


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.toml") if _NAME.fullmatch(path.stem)]


def _odd_files(folder: Path) -> list[Path]:
    found = {file for file in folder.glob("[!.]*") if file.suffix.lower() == ".toml"}
    return sorted(found.difference(_files(folder)))


def _fitting(stem: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "mine"
