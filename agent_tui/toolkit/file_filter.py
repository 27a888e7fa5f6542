"""Which of the files found are searched: the asked globs and types, and no secrets."""

import re
from pathlib import Path, PurePath

from agent_tui.toolkit.globbing import GlobPattern, compile_glob
from agent_tui.toolkit.names import SECRET_FOLDERS, SECRET_NAMES, SECRET_PATHS, is_secret
from agent_tui.toolkit.search_model import Query

_PRIVATE_KEY_HEAD = "id_"


def _fixed_parts() -> list[str]:
    """Give for each secret name and folder the longest run that any path of its kind holds."""
    names = [max(re.split(r"[*?\[\]]", name), key=len) for name in SECRET_NAMES]
    return [*names, *SECRET_FOLDERS, *(parts[-1] for parts in SECRET_PATHS), _PRIVATE_KEY_HEAD]


# `is_secret` takes 20 us a path; most paths hold none of these and need no closer look. Other scripts are
# folded by `is_secret`, so they always do.
_MAYBE_SECRET = re.compile("|".join([*map(re.escape, _fixed_parts()), r"[^\x00-\x7f]"]), re.IGNORECASE)


class FileFilter:
    """Decides by path, relative to the base of the search. Raises PatternError for a glob that cannot be used."""

    def __init__(self, query: Query, base: Path, workspace: Path) -> None:
        self._wanted = [_PathGlob(glob) for glob in query.path_globs if not glob.startswith("!")]
        self._refused = [_PathGlob(glob[1:]) for glob in query.path_globs if glob.startswith("!")]
        self._names = [compile_glob(glob) for glob in query.name_globs]
        above = base.relative_to(workspace) if base.is_relative_to(workspace) else base
        self._above = "" if above == Path(".") else f"{above}/"

    def takes(self, path: str) -> bool:
        """Tell whether the file is searched."""
        name = path.rpartition("/")[2]
        return (
            (not self._wanted or any(glob.matches(path, name) for glob in self._wanted))
            and not any(glob.matches(path, name) for glob in self._refused)
            and (not self._names or any(glob.matches(name) for glob in self._names))
            and not self.is_secret(path)
        )

    def is_secret(self, path: str) -> bool:
        """Tell whether the file may hold secrets."""
        whole = f"{self._above}{path}"
        return _MAYBE_SECRET.search(whole) is not None and is_secret(PurePath(whole))


class _PathGlob:
    """A glob as ignore rules read it: without a slash it is about the last component, else about the whole path."""

    def __init__(self, text: str) -> None:
        self._whole = "/" in text
        cleaned = text.removeprefix("./").removeprefix("/")
        self._glob: GlobPattern = compile_glob(f"{cleaned}**" if cleaned.endswith("/") else cleaned)

    def matches(self, path: str, name: str) -> bool:
        return self._glob.matches(path if self._whole else name)
