"""What the interface needs in order to keep what a person decides by hand: rules, folders, keys of providers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

RuleWord = Literal["allow", "ask", "deny"]
KeepFor = Literal["session", "project", "user"]


@dataclass(frozen=True)
class KeyView:
    """A provider that takes a key. `source` says where one comes from now, "" when there is none."""

    provider: str
    source: str
    variable: str


class Keeping(Protocol):
    """What lasts beyond a turn because the person said so. Methods give a sentence, and may raise AgentTuiError."""

    async def add_rule(self, word: RuleWord, rule: str, keep: KeepFor) -> str:
        """Keep a rule such as `Bash(git *)`."""
        ...

    def forget_session_rules(self) -> str:
        """Take back every grant of this session."""
        ...

    async def add_folder(self, path: str) -> str:
        """Count a folder outside the project as a part of this run."""
        ...

    def folders(self) -> Sequence[str]:
        """List the folders that count, the project first."""
        ...

    async def change_folder(self, path: str) -> str:
        """Make commands run in a folder from now on; "" says in which they do."""
        ...

    async def keys(self) -> Sequence[KeyView]:
        """List the providers that take a key, never a key."""
        ...

    async def store_key(self, provider: str, key: str) -> str: ...

    async def forget_key(self, provider: str) -> str: ...
