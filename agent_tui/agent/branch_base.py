"""What the files were where a branch left the default branch, as far as the working tree differs from it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_tui.agent.checkpoints import Content
from agent_tui.agent.git import GuardedGit
from agent_tui.protocol.errors import AgentTuiError

MAX_FILES = 2_000
_MAX_FILE_BYTES = 4 * 1024 * 1024
_MAX_LIST_BYTES = 16 * 1024 * 1024
_MAX_CONTENT_BYTES = 256 * 1024 * 1024
_TIMEOUT_S = 20.0
_DEFAULTS = ("origin/main", "origin/master", "main", "master", "trunk")
_LINK_MODE = "120000"
_MODULE_MODE = "160000"


@dataclass(frozen=True)
class BranchBase:
    """Where the branch left `branch` (a name) at `commit`, and what the files that differ since were there.

    `files` are relative to the workspace; None where there was no file.
    """

    branch: str
    commit: str
    files: Mapping[str, Content | None]


async def branch_base(git: GuardedGit) -> BranchBase:
    """Find the merge base with the default branch and read what differs. Raises AgentTuiError with the reason."""
    if not git.in_work_tree:
        raise AgentTuiError(
            "This directory is in no git repository; /diff turn and /diff session work without."
        )
    if not await git.may_run():
        raise AgentTuiError(
            "Git is asked only in the sandbox or in a project you trust: /trust shows what that means."
        )
    branch = await _default_branch(git)
    commit = await _line(git, "merge-base", "HEAD", branch)
    if not commit:
        raise AgentTuiError(f"This branch and {branch} have no commit in common.")
    return BranchBase(branch, commit, await _changed(git, commit))


async def _default_branch(git: GuardedGit) -> str:
    """Give the name of the branch that others start from: the remote's, else one of the usual names."""
    head = await _line(git, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    named = await _line(git, "config", "--get", "init.defaultBranch")
    for name in (head, *_DEFAULTS, named):
        if name and await _line(git, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"):
            return name
    raise AgentTuiError(f"No default branch was found; looked for {', '.join(_DEFAULTS)}.")


async def _line(git: GuardedGit, *arguments: str) -> str:
    output = await git.output(*arguments)
    return output.decode("utf-8", "replace").strip() if output else ""


async def _changed(git: GuardedGit, commit: str) -> dict[str, Content | None]:
    raw = await git.output(
        "diff",
        "--raw",
        "-z",
        "--abbrev=64",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=all",
        "--relative",
        commit,
        "--",
        limit_bytes=_MAX_LIST_BYTES,
        timeout_s=_TIMEOUT_S,
    )
    if raw is None:
        raise AgentTuiError("Git could not compare the files with the merge base.")
    entries = list(_entries(raw))
    others = await git.output(
        "ls-files", "--others", "--exclude-standard", "-z", limit_bytes=_MAX_LIST_BYTES, timeout_s=_TIMEOUT_S
    )
    new = [os.fsdecode(name) for name in (others or b"").split(b"\0") if name]
    if len(entries) + len(new) > MAX_FILES:
        raise AgentTuiError(
            f"{len(entries) + len(new):,} files differ from the merge base; more than {MAX_FILES:,} are not shown."
        )
    contents = await _contents(git, [blob for _, mode, blob in entries if mode])
    found: dict[str, Content | None] = dict.fromkeys(new)
    for path, mode, blob in entries:
        if not mode:
            found[path] = None
        elif blob in contents:
            found[path] = Content(contents[blob], int(mode, 8) & 0o777, mode == _LINK_MODE)
    return found


def _entries(raw: bytes) -> Iterator[tuple[str, str, str]]:
    """Give (path, mode at the base or "" for none, blob) of each `:mode mode blob blob status NUL path NUL`."""
    parts = raw.split(b"\0")
    for head, path in zip(parts[::2], parts[1::2], strict=False):
        fields = head.decode("ascii", "replace").removeprefix(":").split(" ")
        if len(fields) >= 5 and _MODULE_MODE not in fields[:2]:
            yield os.fsdecode(path), "" if fields[0] == "000000" else fields[0], fields[2]


async def _contents(git: GuardedGit, blobs: Sequence[str]) -> dict[str, bytes]:
    """Read blobs; one that is missing or larger than a checkpoint covers is left out."""
    if not blobs:
        return {}
    wanted = list(dict.fromkeys(blobs))
    listed = await git.output(
        "cat-file",
        "--batch-check=%(objectname) %(objectsize)",
        stdin=_lines(wanted),
        limit_bytes=_MAX_LIST_BYTES,
        timeout_s=_TIMEOUT_S,
    )
    sizes = [line.split(b" ") for line in (listed or b"").splitlines()]
    small = [f[0].decode() for f in sizes if len(f) == 2 and f[1].isdigit() and int(f[1]) <= _MAX_FILE_BYTES]
    if not small:
        return {}
    output = await git.output(
        "cat-file",
        "--batch",
        stdin=_lines(small),
        limit_bytes=_MAX_CONTENT_BYTES,
        timeout_s=_TIMEOUT_S,
    )
    if output is None:
        raise AgentTuiError("Git could not read the files of the merge base.")
    return dict(_blobs(output))


def _lines(names: Sequence[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _blobs(output: bytes) -> Iterator[tuple[str, bytes]]:
    """Read `name blob size LF content LF` again and again; what was cut off at the end is left out."""
    at = 0
    while (end := output.find(b"\n", at)) >= 0:
        fields = output[at:end].split(b" ")
        if len(fields) != 3 or not fields[2].isdigit():
            at = end + 1
            continue
        start, size = end + 1, int(fields[2])
        if start + size > len(output):
            return
        yield fields[0].decode("ascii", "replace"), output[start : start + size]
        at = start + size + 1
