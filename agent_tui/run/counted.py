"""What of the person's and the project's configuration counts in a run."""

from dataclasses import dataclass

from agent_tui.config.paths import SOURCES

_OTHER_NAMES = {"local": "private"}


@dataclass(frozen=True)
class Counted:
    """What counts besides the built-in parts, what the machine manages, and what the command line names.

    `sources` are the settings files. `code` is what runs by itself: hooks, extensions, tool files, guardrails, MCP
    servers, shell lines of commands. `texts` are skills, commands, agents and instruction files. `flag` left them out.
    """

    sources: frozenset[str] = frozenset(SOURCES)
    code: bool = True
    texts: bool = True
    flag: str = ""

    @property
    def project(self) -> bool:
        """Whether anything of the project can count, so that it matters whether a person trusts it."""
        return self.texts or "project" in self.sources or "private" in self.sources


def counted(*, setting_sources: str | None, bare: bool, safe_mode: bool) -> Counted:
    """Give what the flags leave. Raises UsageError for a source that there is not."""
    sources = frozenset({"user"} if bare else SOURCES)
    if setting_sources is not None:
        sources = frozenset(_source(word) for word in setting_sources.replace(",", " ").split())
    if bare:
        return Counted(sources, code=False, texts=False, flag="--bare")
    return Counted(sources, code=not safe_mode, flag="--safe-mode" if safe_mode else "")


def _source(word: str) -> str:
    from agent_tui.protocol.errors import UsageError
    from agent_tui.protocol.near_names import did_you_mean

    name = _OTHER_NAMES.get(word.lower(), word.lower())
    if name not in SOURCES:
        raise UsageError(f"--setting-sources: there is no source {word!r}{did_you_mean(word, SOURCES)}")
    return name
