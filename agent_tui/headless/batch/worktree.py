"""A git worktree for one task: made at a commit, compared with it, taken away; index and branch stay as they are."""

import base64
import codecs
import logging
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.toolkit.capture import Captured, capture
from agent_tui.toolkit.programs import find_program

_LOG = logging.getLogger(__name__)

GIT_S = 300.0
DIFF_LIMIT_BYTES = 5_000_000
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=true")
_PROGRAMS = r"^filter\..*\.(clean|smudge|process)$"


@dataclass(frozen=True)
class Diff:
    """What a task changed. `data` is base64 of the exact bytes where they are no UTF-8.

    `cut` says that it is too long: `text` then ends with its last whole character.
    """

    text: str
    files: tuple[str, ...]
    data: str = ""
    cut: bool = False


class Repository:
    """One repository. `mark` is the reason with which its worktrees are locked: by it leftovers are found."""

    def __init__(self, root: Path, mark: str) -> None:
        self.root = root
        self.mark = mark

    async def commit(self, name: str) -> str:
        """Give the full name of a commit. Raises AgentTuiError."""
        done = await self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if done.exit_code:
            what = f"no commit {name!r}" if await self._is_repository() else "no git repository"
            raise AgentTuiError(f"{self.root}: {what}; a task needs a commit to start from")
        return done.stdout.decode().strip()

    async def programs(self) -> Sequence[str]:
        """Name the programs that the repository's own configuration makes git run at a checkout."""
        done = await self._git("config", "--local", "--includes", "--name-only", "--get-regexp", _PROGRAMS)
        return done.stdout.decode(errors="replace").split()

    async def add(self, commit: str) -> Path:
        """Make a worktree without a branch. Raises AgentTuiError."""
        place = Path(tempfile.mkdtemp(prefix="agent-tui-batch-")).resolve() / self.root.name
        try:
            await self._checked(
                "worktree", "add", "--quiet", "--detach", "--lock", "--reason", self.mark, str(place), commit
            )
        except BaseException:
            shutil.rmtree(place.parent, ignore_errors=True)
            raise
        return place

    async def diff(self, place: Path, commit: str) -> Diff:
        """Compare a worktree with `commit`, new files included; nothing is written to the repository.

        Raises AgentTuiError.
        """
        with tempfile.TemporaryDirectory(
            prefix="agent-tui-batch-diff-", ignore_cleanup_errors=True
        ) as temporary:
            common = await self._checked("rev-parse", "--path-format=absolute", "--git-common-dir")
            objects = Path(temporary) / "objects"
            objects.mkdir()
            own = {
                "GIT_INDEX_FILE": str(Path(temporary) / "index"),
                "GIT_OBJECT_DIRECTORY": str(objects),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{os.fsdecode(common).strip()}/objects",
            }
            await self._checked("read-tree", commit, at=place, env=own)
            await self._checked("add", "--all", "--", ".", at=place, env=own)
            plain = ("--cached", "--no-ext-diff", "--no-textconv", "--no-color", commit)
            names = await self._checked("diff", "--name-only", "-z", *plain, at=place, env=own)
            done = await self._git(
                "diff", "--binary", *plain, at=place, env=own, limit_bytes=DIFF_LIMIT_BYTES
            )
            if not done.is_cut:  # git is ended where it is
                self._check(done, "diff", place)
        files = tuple(
            os.fsdecode(name).encode("utf-8", "replace").decode() for name in names.split(b"\0") if name
        )
        try:
            text = codecs.getincrementaldecoder("utf-8")().decode(done.stdout, final=not done.is_cut)
            return Diff(text, files, cut=done.is_cut)
        except UnicodeDecodeError:
            data = base64.b64encode(done.stdout).decode()
            return Diff(done.stdout.decode(errors="replace"), files, data=data, cut=done.is_cut)

    async def remove(self, place: Path) -> None:
        """Take a worktree away, also one whose folder is gone or lies on another machine.

        What git cannot forget is logged and found again by `left`.
        """
        is_removed = await self._try("worktree", "remove", "--force", "--force", str(place))
        if place.parent.name.startswith("agent-tui-batch-"):
            shutil.rmtree(place.parent, ignore_errors=True)
        if not is_removed:
            await self._try("worktree", "unlock", str(place))
            await self._try("worktree", "prune")

    async def left(self) -> Sequence[Path]:
        """List the worktrees with our mark."""
        done = await self._git("worktree", "list", "--porcelain", "-z")
        found: list[Path] = []
        for entry in done.stdout.split(b"\0\0"):
            lines = entry.strip(b"\0").split(b"\0")
            if f"locked {self.mark}".encode() in lines and lines[0].startswith(b"worktree "):
                found.append(Path(os.fsdecode(lines[0].removeprefix(b"worktree "))))
        return found

    async def _is_repository(self) -> bool:
        return (await self._git("rev-parse", "--git-dir")).exit_code == 0

    async def _try(self, *arguments: str) -> bool:
        """Run git and tell whether it ended well; that it could not run at all is logged."""
        try:
            return (await self._git(*arguments)).exit_code == 0
        except AgentTuiError as error:
            _LOG.warning("%s", error)
            return False

    async def _checked(
        self, *arguments: str, at: Path | None = None, env: Mapping[str, str] | None = None
    ) -> bytes:
        done = await self._git(*arguments, at=at, env=env)
        self._check(done, arguments[0], at or self.root)
        return done.stdout

    def _check(self, done: Captured, name: str, where: Path) -> None:
        """Raise AgentTuiError unless git ended well."""
        if done.exit_code:
            said = done.stderr.decode(errors="replace").strip().split("\n")[-1][:300]
            raise AgentTuiError(f"{where}: git {name} failed: {said or done.exit_code}")

    async def _git(
        self,
        *arguments: str,
        at: Path | None = None,
        env: Mapping[str, str] | None = None,
        limit_bytes: int = 1 << 24,
    ) -> Captured:
        where = at or self.root
        git = find_program("git", outside=where)
        if git is None:
            raise AgentTuiError("a batch needs git, and there is none in PATH")
        try:
            return await capture(
                [str(git), *_SAFE, "-C", str(where), *arguments],
                cwd=where,
                env={**_environment(), **(env or {})},
                timeout_s=GIT_S,
                limit_bytes=limit_bytes,
            )
        except TimeoutError as error:
            raise AgentTuiError(f"{where}: git {arguments[0]} took more than {GIT_S:.0f} s") from error
        except OSError as error:
            raise AgentTuiError(f"{where}: git cannot be run there: {error.strerror or error}") from error
        except ValueError as error:  # a zero byte
            raise AgentTuiError(f"{where}: git {arguments[0]} cannot be given that: {error}") from error


def _environment() -> dict[str, str]:
    """Leave out what would point git elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8", "GIT_PAGER": "cat"}
