"""Draws paths as a tree."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass
class _Folder:
    folders: "dict[str, _Folder]" = field(default_factory=dict[str, "_Folder"])
    files: list[str] = field(default_factory=list[str])


def tree(paths: Iterable[str]) -> str:
    """Draw the paths as a tree, two spaces a level, folders first and marked by a slash, each sorted.

    A folder with nothing but one folder in it shares its line.
    """
    root = _Folder()
    for path in paths:
        *above, name = path.split("/")
        here = root
        for folder in above:
            here = here.folders.setdefault(folder, _Folder())
        here.files.append(name)
    return "\n".join(_lines(root, 0))


def _lines(folder: _Folder, depth: int) -> Iterator[str]:
    for name, below in sorted(folder.folders.items()):
        while len(below.folders) == 1 and not below.files:
            inner, below = next(iter(below.folders.items()))
            name = f"{name}/{inner}"
        yield f"{'  ' * depth}{name}/"
        yield from _lines(below, depth + 1)
    for name in sorted(folder.files):
        yield f"{'  ' * depth}{name}"
