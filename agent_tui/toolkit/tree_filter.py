"""What a tree leaves out: hidden entries, build folders, what ignore files and the caller name."""

import fnmatch
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_tui.toolkit.ignore_rules import (
    IGNORE_NAME,
    IgnoreFile,
    Layer,
    layers_above,
    nested_layers,
    read_ignore_file,
    surroundings,
)

SKIPPED_NAMES = ("node_modules", "dist", "build", ".git", "target", "__pycache__", ".DS_Store")
SKIPPED_GLOBS = ("*.pyc", "*.o", "*.so", "*.dylib")


@dataclass(frozen=True)
class TreeFilter:
    """The filter for one folder.

    `layers` are the ignore files that count there, weakest first; `asked` is what the caller named and counts most.
    """

    folder: Path
    layers: tuple[Layer, ...]
    asked: tuple[Layer, ...]
    user_file: Path | None
    is_base: bool = True

    @classmethod
    def at(cls, base: Path, workspace: Path, patterns: Sequence[str]) -> "TreeFilter":
        """Give the filter for the real path `base`; `patterns`, written as in .gitignore, count most."""
        where = surroundings(base, workspace)
        asked = (Layer(base, IgnoreFile("\n".join(patterns))),) if patterns else ()
        return cls(base, tuple(layers_above(where, base)), asked, where.user_file)

    def entered(self, names: Collection[str]) -> "TreeFilter":
        """Add the folder's own ignore file, where `names` holds one; another work tree starts anew."""
        layers = self.layers
        if ".git" in names and not self.is_base:
            layers = tuple(nested_layers(self.folder, self.user_file))
        if IGNORE_NAME in names and (own := read_ignore_file(self.folder / IGNORE_NAME)):
            layers = (*layers, Layer(self.folder, own))
        return replace(self, layers=layers)

    def below(self, name: str) -> "TreeFilter":
        """Give the filter for a subfolder."""
        return replace(self, folder=self.folder / name, is_base=False)

    def hides(self, name: str, *, is_folder: bool) -> bool:
        """Tell whether an entry of the folder is left out."""
        if name.startswith(".") or name in SKIPPED_NAMES:
            return True
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in SKIPPED_GLOBS):
            return True
        entry = f"{self.folder}/{name}{'/' if is_folder else ''}"
        last = f"{name}/" if is_folder else name
        for layer in reversed((*self.layers, *self.asked)):
            decision = layer.rules.decide(last, entry[len(str(layer.folder).rstrip("/")) + 1 :])
            if decision is not None:
                return decision
        return False
