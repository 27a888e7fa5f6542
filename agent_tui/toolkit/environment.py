"""Which variables a command sees: the user's own, without secrets and without what belongs to this program."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.sandbox.interface import Confinement, Launch, Sandbox, Strength

# AUTH, but not AUTHOR: git commits need GIT_AUTHOR_NAME.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CRED|AUTH(?!OR(?!I))", re.IGNORECASE)
_URL_WITH_USER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@]+@|://[^\s/@]*:[^\s@]*@")
_LOADER = ("LD_", "DYLD_", "PYTHON")
_PROVIDERS = (
    "ANTHROPIC_",
    "OPENAI_",
    "AZURE_OPENAI_",
    "OPENROUTER_",
    "GEMINI_",
    "MISTRAL_",
    "GROQ_",
    "DEEPSEEK_",
    "EXA_",
    "BRAVE_",
    "TAVILY_",
    "SEARXNG_",
)
_AGENTS = ("AGENT_TUI_", "CLAUDE_", "CLAUDECODE", "CODEX_")
# What would make bash run other code or other directories than the text that was shown.
_SHELL = (
    "BASH_ENV",
    "BASH_FUNC_",
    "BASH_XTRACEFD",
    "BASH_LOADABLES_PATH",
    "BASHOPTS",
    "SHELLOPTS",
    "CDPATH",
    "EXECIGNORE",
    "GLOBIGNORE",
)
_STATE = frozenset(
    {
        "COLUMNS",
        "LINES",
        "COLORTERM",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "FORCE_COLOR",
        "TERMCAP",
        "ENV",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    }
)
_FIXED = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "AGENT_TUI_CHILD": "1",
}
# What a repository may configure to run, switched off where nothing but reading was allowed.
_READING_GIT = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("log.showSignature", "false"),
    ("safe.bareRepository", "explicit"),
)


@dataclass(frozen=True)
class ChildEnvironment:
    """The variables for a command. `dropped` are the names of loader variables that were left out."""

    variables: Mapping[str, str]
    dropped: tuple[str, ...] = ()


def child_environment(
    workspace: Path,
    *,
    base: Mapping[str, str] | None = None,
    prefix: str = sys.prefix,
    only_reads: bool = False,
) -> ChildEnvironment:
    """Give what a command in `workspace` sees of `base` (default: this process's environment).

    Left out: names that match KEY, TOKEN, SECRET, PASS, CRED or AUTH (SSH_AUTH_SOCK and XAUTHORITY too);
    values with a URL that names a user (`https://me:word@host`); variables of model providers and of agents;
    LD_*, DYLD_* and PYTHON* (a frozen launcher's `X_ORIG` puts the user's own `X` back); what would change
    the meaning of a bash text; the size and colours of the terminal. The virtual environment at `prefix`,
    in which this program runs, is taken out of PATH unless it belongs to the workspace. With `only_reads` git
    takes no optional locks and runs neither hooks nor a file system monitor.
    """
    source = os.environ if base is None else base
    kept = {
        name: value
        for name, value in source.items()
        if not (_is_private(name) or _URL_WITH_USER.search(value))
    }
    for name in source:
        if name.startswith(("LD_", "DYLD_")) and name.endswith("_ORIG"):
            kept[name.removesuffix("_ORIG")] = source[name]
    dropped = tuple(sorted(n for n in source if n.startswith(_LOADER) and n not in kept))
    _leave_own_venv(kept, Path(prefix), workspace)
    kept.update(_FIXED)
    _set_git(kept, [*_git_settings(source), *(_READING_GIT if only_reads else ())])
    if only_reads:
        kept["GIT_OPTIONAL_LOCKS"] = "0"
    return ChildEnvironment(variables=kept, dropped=dropped)


def _is_private(name: str) -> bool:
    return bool(
        _SECRET.search(name)
        or name.startswith((*_LOADER, *_PROVIDERS, *_AGENTS, *_SHELL))
        or name in _STATE
        or name in _FIXED
    )


def _git_settings(source: Mapping[str, str]) -> list[tuple[str, str]]:
    """Give the settings that GIT_CONFIG_KEY_n and _VALUE_n make, in order, without those that hold passwords."""
    count = source.get("GIT_CONFIG_COUNT", "")
    names = range(int(count)) if count.isdecimal() and len(count) < 5 else range(0)
    pairs = [(source.get(f"GIT_CONFIG_KEY_{n}", ""), source.get(f"GIT_CONFIG_VALUE_{n}", "")) for n in names]
    return [(key, value) for key, value in pairs if key and not _is_private_setting(key, value)]


def _is_private_setting(key: str, value: str) -> bool:
    told = _SECRET.search(key) or "extraheader" in key.lower()
    return bool(told or _URL_WITH_USER.search(key) or _URL_WITH_USER.search(value))


def _set_git(variables: dict[str, str], settings: Sequence[tuple[str, str]]) -> None:
    """Put the settings into GIT_CONFIG_* in place of those that are there."""
    for name in [name for name in variables if re.fullmatch(r"GIT_CONFIG_(COUNT|(KEY|VALUE)_\d+)", name)]:
        del variables[name]
    if settings:
        variables["GIT_CONFIG_COUNT"] = str(len(settings))
    for at, (key, value) in enumerate(settings):
        variables[f"GIT_CONFIG_KEY_{at}"], variables[f"GIT_CONFIG_VALUE_{at}"] = key, value


def _leave_own_venv(variables: dict[str, str], prefix: Path, workspace: Path) -> None:
    """Drop VIRTUAL_ENV and the PATH entry of this program's own environment."""
    if not (prefix / "pyvenv.cfg").exists() or prefix.is_relative_to(workspace):
        return
    if variables.get("VIRTUAL_ENV") == str(prefix):
        del variables["VIRTUAL_ENV"]
        variables.pop("VIRTUAL_ENV_PROMPT", None)
    own = str(prefix / "bin")
    entries = [entry for entry in variables.get("PATH", "").split(os.pathsep) if entry != own]
    if entries != [""]:
        variables["PATH"] = os.pathsep.join(entries)


def without_names(env: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Give the variables without those named; a name ending in `*` stands for every name that begins so."""
    exact = frozenset(name for name in names if not name.endswith("*"))
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    return {
        name: value
        for name, value in env.items()
        if name not in exact and not (prefixes and name.startswith(prefixes))
    }


class WithoutVariables:
    """A sandbox that also keeps the variables named in `names` from every command (`[shell] env_deny`)."""

    def __init__(self, sandbox: Sandbox, names: Sequence[str]) -> None:
        self._sandbox = sandbox
        self._names = tuple(names)

    @property
    def strength(self) -> Strength:
        return self._sandbox.strength

    @property
    def reason(self) -> str:
        return self._sandbox.reason

    def launch(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        confinement: Confinement,
        env: Mapping[str, str],
        keep_fds: tuple[int, ...] = (),
    ) -> Launch:
        kept = without_names(env, self._names)
        return self._sandbox.launch(argv, cwd=cwd, confinement=confinement, env=kept, keep_fds=keep_fds)
