"""Harmless uses of git: subcommands that only read, each with its exact options."""

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from agent_tui.permissions.paths import is_secret
from agent_tui.permissions.shell.git_index import secret_below
from agent_tui.permissions.shell.options import Operand, Spec, Use, parse_spec, read_use
from agent_tui.permissions.shell.special import HARMLESS, Reading, refuse
from agent_tui.permissions.shell.tables import entries
from agent_tui.permissions.shell.urls import hosts_in
from agent_tui.permissions.shell.words import Word
from agent_tui.permissions.shell.world import World

_GLOBAL_HARMLESS = frozenset(
    {"--no-pager", "--no-optional-locks", "-P", "--literal-pathspecs", "--no-replace-objects"}
)
GLOBAL_VALUE = frozenset(
    {
        "-c",
        "-C",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--exec-path",
        "--super-prefix",
        "--config-env",
        "--attr-source",
    }
)
_SUBVERBS = {
    "remote": {"get-url", "show-never"},
    "stash": {"list", "show"},
    "worktree": {"list"},
    "submodule": {"status", "summary-never"},
    "notes": {"list", "show"},
    "bisect": {"log", "view-never"},
    "sparse-checkout": {"list"},
    "config": {"list", "get"},
    "bundle": {"list-heads", "verify"},
}


@cache
def git_readers() -> dict[str, Spec]:
    """Give the spec of every subcommand that only reads, those that list without operands as `listing NAME`."""
    raw = dict(entries("git.txt"))
    shared = {name: raw.pop(name) for name in ("@diff", "@log")}
    for name, options in shared.items():
        raw = {key: text.replace(name, options) for key, text in raw.items()}
    return {name: parse_spec(text) for name, text in raw.items()}


def split_global(words: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """Split `git`'s words (without the name) into global options and subcommand with its words."""
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        takes = words[at].text in GLOBAL_VALUE
        at += 2 if takes else 1
    return list(words[:at]), list(words[at:])


def check_git(words: Sequence[Word], world: World, cwd: str) -> Reading:
    """Judge the words after `git`."""
    options, rest = split_global(words)
    if unknown := [word.text for word in options if word.text not in _GLOBAL_HARMLESS]:
        return refuse(f"the option {unknown[0]} before the subcommand")
    if not rest:
        return refuse("no subcommand")
    reading = _check_subcommand(rest[0].text, tuple(rest[1:]))
    if reading.refused:
        return reading
    if world.git_root(cwd) != world.git_root(world.project) or world.looks_like_bare_repository(cwd):
        return refuse("another repository inside the project")
    return _secrets(rest, world, cwd) or reading


def _check_subcommand(name: str, words: tuple[Word, ...]) -> Reading:
    if name in git_readers():
        return _check_reader(name, words)
    if f"listing {name}" in git_readers():
        return _check_listing(name, words)
    return refuse(f"git {name} may change something")


def _check_reader(name: str, words: tuple[Word, ...]) -> Reading:
    use = read_use(git_readers()[name], words)
    if use.refused:
        return refuse(f"git {name}: {use.refused}")
    if any(value is not None and value.text == "--" for _, value in use.options):
        return refuse("an option whose value is --")
    if name == "reflog" and use.operands and use.operands[0].text in ("expire", "delete", "drop", "write"):
        return refuse(f"git reflog {use.operands[0].text}")
    if name == "cat-file" and not use.has("-t", "-s", "-p", "-e") and not use.operands:
        return refuse("git cat-file reads names from its input")
    if name == "diff" and _looks_outside(use.operands):
        return Reading(tuple((word, Operand.FILE) for word in use.operands))
    if any(value is not None and _VERIFIES.search(value.text) for _, value in use.options):
        return refuse("a format that runs gpg")
    if name in ("blame", "annotate"):
        return Reading(tuple((word, Operand.FILE) for word in use.operands if _is_file_word(word.text)))
    return HARMLESS


def _looks_outside(operands: Sequence[Word]) -> bool:
    """Tell whether `git diff A B` compares plain files: it does so when one lies outside the work tree."""
    return any(
        word.text.startswith(("/", "~", "../")) or "/../" in word.text or word.text == ".."
        for word in operands
    )


def _is_file_word(text: str) -> bool:
    return not text.startswith("-") and ":" not in text


def _check_listing(name: str, words: tuple[Word, ...]) -> Reading:
    """Judge commands that list without operands and change with them."""
    texts = [word.text for word in words]
    verbs = _SUBVERBS.get(name, set())
    if texts and texts[0] in verbs:
        return _check_verb(name, texts)
    use = read_use(git_readers()[f"listing {name}"], words)
    if use.refused:
        return refuse(f"git {name}: {use.refused}")
    if name in (
        "stash",
        "notes",
        "bisect",
        "submodule",
        "worktree",
        "sparse-checkout",
        "lfs",
        "bundle",
        "fsck",
        "help",
    ):
        return refuse(f"git {name} may change something") if name != "submodule" or words else HARMLESS
    if name == "apply":
        looks = use.has("--stat", "--numstat", "--summary", "--check")
        return (
            Reading(tuple((word, Operand.FILE) for word in use.operands))
            if looks
            else refuse("git apply changes files")
        )
    if name == "archive":
        return HARMLESS if use.options and not use.operands else refuse("git archive writes")
    if name == "symbolic-ref":
        return HARMLESS if len(use.operands) == 1 else refuse("git symbolic-ref may change something")
    if name == "config":
        lists = use.has("-l", "--list", "--get", "--get-all", "--get-regexp")
        return (
            HARMLESS
            if len(use.operands) == (0 if lists else 1) and all("." in word.text for word in use.operands)
            else refuse("git config may change something")
        )
    if name in ("branch", "tag") and use.operands and not _only_filters(name, use):
        return refuse(f"git {name} with a name may change something")
    if use.operands and name in ("remote", "replace"):
        return refuse(f"git {name} with a name may change something")
    return HARMLESS


def _only_filters(name: str, use: Use) -> bool:
    """Tell whether the operands of `git branch` or `git tag` select what is listed (`branch -l x` once created x)."""
    if use.has("--list") or (name == "tag" and use.has("-l")):
        return True
    return len(use.operands) == 1 and use.has("--contains", "--no-contains", "--merged", "--no-merged")


def _check_verb(name: str, texts: list[str]) -> Reading:
    allowed = {
        "stash": r"-p|--patch|--stat|--name-only|--name-status|--oneline|stash@\{\d+\}|\d+",
        "worktree": r"--porcelain|-v|-z",
        "submodule": r"--recursive|--cached",
        "remote": r"--all|--push|[\w./-]+",
        "config": r"--local|--global|--show-origin|--show-scope|--name-only|--all|-z|\w[\w.-]*",
    }.get(name, r"(\w[\w.-]*(/\w[\w.-]*)*)?")
    bad = [
        text
        for text in texts[1:]
        if not re.fullmatch(allowed, text)
        or (name == "remote" and text.startswith("-") and text not in ("--all", "--push"))
    ]
    return refuse(f"{bad[0]} of git {name}") if bad else HARMLESS


def _secrets(rest: Sequence[Word], world: World, cwd: str) -> Reading | None:
    """Refuse to show what the repository holds of files that may hold secrets."""
    name = rest[0].text
    for word in rest[1:]:
        path = (
            word.text.rpartition(":")[2]
            if name in ("show", "cat-file", "grep", "log", "blame")
            else word.text
        )
        if path and not path.startswith("-") and is_secret(path):
            return refuse(f"{path} may hold secrets")
    if _prints_content(name, [word.text for word in rest[1:]]) and (
        held := secret_below(world.git_root(cwd), _limits(rest, world, cwd))
    ):
        return refuse(f"what it prints may hold {held}, which may hold secrets")
    return None


_VERIFIES = re.compile(r"%G|signature")
_SHORT = re.compile(
    r"--(?:stat|numstat|shortstat|dirstat|summary|name-only|name-status|raw|no-patch|quiet|compact-summary)(?:=.*)?|-s"
)
_PATCH = re.compile(
    r"-(?:[^-]*[puUWLSGcm].*)|--(?:patch|unified|function-context|cc|patch-with|binary|word-diff|color-words|full-diff|diff-merges|remerge|output-indicator).*"
)


def _prints_content(name: str, texts: Sequence[str]) -> bool:
    """Tell whether a harmless use of git may print what tracked files hold, or held."""
    if "--" in texts:
        texts = texts[: texts.index("--")]
    if name in ("grep", "cat-file"):
        return name == "grep" or not any(text in ("-t", "-s", "-e") for text in texts)
    if name in ("show", "diff", "range-diff"):
        if name == "range-diff" or _names_object(name, texts):
            return True
        short = any(_SHORT.fullmatch(text) for text in texts)
        return not short or any(_PATCH.fullmatch(text) for text in texts)
    if name == "stash":
        return any(text in ("-p", "--patch") for text in texts)
    if name == "status":
        return any(re.fullmatch(r"-[a-z]*v.*|--verbose", text) for text in texts)
    if name in ("log", "whatchanged", "reflog", "diff-tree", "diff-files", "diff-index"):
        return any(_PATCH.fullmatch(text) for text in texts)
    return name in ("notes",) and texts[:1] == ["show"]


def _names_object(name: str, texts: Sequence[str]) -> bool:
    """Tell whether an operand of `git show` or `git diff` may be the hash of a file, which is printed as a whole."""
    return name in ("show", "diff") and any(re.fullmatch(r"[0-9a-fA-F]{4,64}", text) for text in texts)


def _limits(rest: Sequence[Word], world: World, cwd: str) -> tuple[str, ...] | None:
    """Give the paths in the repository that follow `--`; None when there are none or they are patterns."""
    texts = [word.text for word in rest]
    paths = texts[texts.index("--") + 1 :] if "--" in texts else []
    if (
        not paths
        or _names_object(texts[0], texts[1:])
        or any(re.search(r"[*?\[\\]|^:", path) for path in paths)
    ):
        return None
    root = world.git_root(cwd)
    return tuple(os.path.relpath(world.place(path, cwd).named, root) for path in paths)


def remote_hosts(world: World, cwd: str) -> tuple[str, ...]:
    """Give the hosts of the repository's remotes, read from its config; () when there are none."""
    root = world.git_root(cwd)
    try:
        text = (Path(root) / ".git" / "config").read_text(encoding="utf-8", errors="replace") if root else ""
    except OSError:
        return ()
    return hosts_in(re.findall(r"^\s*(?:push)?url\s*=\s*(\S+)", text, re.MULTILINE))
