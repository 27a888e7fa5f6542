"""Keeps what a person decides by hand: rules, folders of the run, keys of providers."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from agent_tui.conversation.person_shell import PersonShell
from agent_tui.permissions.grammar import Layer, Origin, RuleError, parse_rule
from agent_tui.permissions.known_tools import no_tool
from agent_tui.permissions.policy import Policy
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.permissions import Decision, Permission, PermissionDecision, PermissionKind, Scope
from agent_tui.sandbox.granted import GrantedSandbox
from agent_tui.toolkit.paths import is_below, own_folders
from agent_tui.ui.keeping import KeepFor, KeyView, RuleWord

_KINDS = {
    "read": PermissionKind.READ,
    "edit": PermissionKind.WRITE,
    "bash": PermissionKind.EXECUTE,
    "webfetch": PermissionKind.NETWORK,
}


class PersonsKeeping:
    """Implements the interface's `Keeping`. `shell` is the person's shell of the open session,
    `tools` the names of the tools there are besides the built-in ones.

    `key_stored` is told the provider of a key that was stored; it may add a sentence.
    """

    def __init__(
        self,
        policy: Policy,
        granted: GrantedSandbox,
        *,
        workspace: Path,
        key_file: Path,
        shell: Callable[[], PersonShell],
        tools: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._policy = policy
        self._granted = granted
        self._workspace = workspace
        self._key_file = key_file
        self._shell = shell
        self._tools = tools
        self.key_stored: Callable[[str], Awaitable[str]] | None = None

    async def add_rule(self, word: RuleWord, rule: str, keep: KeepFor) -> str:
        effect = Decision(word)
        try:
            parsed = parse_rule(rule, effect, Origin(Layer.GRANT, self._workspace))
        except RuleError as error:
            raise AgentTuiError(f"This is no rule: {error}") from error
        if lost := no_tool(parsed, self._tools()):
            raise AgentTuiError(f"The rule is not kept: {lost}")
        return await self._grant(effect, parsed.text, tool=parsed.tool, scope=Scope(keep))

    async def _grant(
        self, effect: Decision, pattern: str, *, tool: str, scope: Scope, for_run: bool = False
    ) -> str:
        permission = Permission(
            id="rule", kind=_KINDS.get(tool, PermissionKind.TOOL), target=pattern, pattern=pattern
        )
        decision = PermissionDecision(permission_id="rule", decision=effect, scope=scope, pattern=pattern)
        try:
            grant = await self._policy.grant(
                permission, decision, tool=tool, source="said by hand", for_run=for_run
            )
        except OSError as error:
            raise AgentTuiError(f"The rule cannot be kept: {error.strerror or error}") from error
        if grant is None:
            raise AgentTuiError(f"{pattern!r} cannot be kept as a rule.")
        until = {Scope.SESSION: "this session", Scope.PROJECT: "this project", Scope.USER: "every project"}
        return f"Kept for {until[scope]} as {grant.grant_id}: {effect.value} {pattern}"

    def forget_session_rules(self) -> str:
        count = self._policy.forget_session()
        self._granted.forget()
        return f"{count} {'grant' if count == 1 else 'grants'} of this session taken back. /permissions shows the rest."

    async def add_folder(self, path: str) -> str:
        folder = await asyncio.to_thread(self._folder, path)
        if any(is_below(folder, root) for root in (self._workspace, *self._granted.roots)):
            return f"{folder} counts already."
        self._granted.add_root(folder)
        await self._grant(
            Decision.ALLOW, f"Read(/{folder}/**)", tool="read", scope=Scope.SESSION, for_run=True
        )
        return f"{folder} counts for this run: it can be read, commands may write there, changes of files ask as usual."

    def _folder(self, given: str) -> Path:
        try:
            folder = (self._workspace / Path(os.path.expanduser(given))).resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise AgentTuiError(f"There is no folder {given!r}.") from error
        if not folder.is_dir():
            raise AgentTuiError(f"{given!r} is no folder.")
        if folder == Path(folder.anchor) or folder == Path.home().resolve():
            raise AgentTuiError(f"{folder} is too much; name a folder inside it.")
        if any(is_below(folder, own) or is_below(own, folder) for own in own_folders()):
            raise AgentTuiError(f"{folder} holds agent-tui's own files; they stay out of reach.")
        return folder

    def folders(self) -> Sequence[str]:
        return [str(self._workspace), *(str(root) for root in self._granted.roots)]

    async def change_folder(self, path: str) -> str:
        shell = self._shell()
        if not path:
            return f"Commands run in {shell.cwd}."
        folder = await asyncio.to_thread(self._folder, path)
        if not any(is_below(folder, root) for root in (self._workspace, *self._granted.roots)):
            raise AgentTuiError(f"{folder} is outside the project; /add-dir adds a folder first.")
        shell.cwd = folder
        return f"Commands run in {folder} from now on. The project stays {self._workspace}."

    async def keys(self) -> Sequence[KeyView]:
        return await asyncio.to_thread(self._keys)

    def _keys(self) -> list[KeyView]:
        from agent_tui.providers.kept_keys import key_names
        from agent_tui.providers.keys import find_key  # only /login needs these

        views: list[KeyView] = []
        for name, variables in key_names().items():
            found = find_key(name, variables, environ=os.environ, key_file=self._key_file)
            views.append(KeyView(name, found.source if found else "", variables[0]))
        return views

    async def store_key(self, provider: str, key: str) -> str:
        from agent_tui.providers.kept_keys import set_key

        said = await self._told(partial(set_key, provider, key, key_file=self._key_file))
        more = await self.key_stored(provider) if self.key_stored is not None else ""
        return f"{said} {more}".strip()

    async def forget_key(self, provider: str) -> str:
        from agent_tui.providers.kept_keys import forget_key

        return await self._told(partial(forget_key, provider, key_file=self._key_file))

    async def _told(self, do: Callable[[], str]) -> str:
        try:
            return await asyncio.to_thread(do)
        except OSError as error:
            raise AgentTuiError(f"The key file cannot be written: {error.strerror or error}") from error
