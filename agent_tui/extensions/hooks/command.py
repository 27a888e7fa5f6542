"""A hook of the settings as a subscriber: the event as JSON on its input, its answer from its output."""

import fnmatch
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_tui.extensions.hooks.answers import read_answer
from agent_tui.extensions.hooks.events import OTHER_NAMES, HookAnswer, HookEvent, HookFailed
from agent_tui.extensions.hooks.process import run_shell
from agent_tui.extensions.hooks.settings import PROJECT, HookSpec

_LOG = logging.getLogger(__name__)
_MAX_LABEL_CHARS = 60
_THEIR_NAMES = {ours: theirs for theirs, ours in OTHER_NAMES.items()}
CHANGED = "the project's configuration changed since you trusted it: /trust shows how"


@dataclass(frozen=True)
class HookGround:
    """What hook commands run on. `environment` gives their variables; `holds` whether the project is still trusted."""

    workspace: Path
    environment: Callable[[], Mapping[str, str]]
    holds: Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class CommandHook:
    """One `[[hooks.EVENT]]` table at work."""

    spec: HookSpec
    ground: HookGround

    @property
    def label(self) -> str:
        """Name the hook by its command and its place."""
        command = " ".join(self.spec.command.split())
        short = command if len(command) <= _MAX_LABEL_CHARS else f"{command[: _MAX_LABEL_CHARS - 1]}…"
        return f"{short} ({self.spec.where})" if short else self.spec.where

    def wants(self, event: HookEvent) -> bool:
        """Tell whether the event is this hook's, and its tool matched."""
        if event.name is not self.spec.event:
            return False
        globs = [glob.strip() for glob in self.spec.matcher.split("|") if glob.strip()]
        name = event.tool.casefold()
        return not globs or any(fnmatch.fnmatchcase(name, glob.casefold()) for glob in globs)

    def guards(self, event: HookEvent) -> bool:
        """Tell whether a failure is a no."""
        return self.spec.fail_closed

    async def on(self, event: HookEvent) -> HookAnswer:
        """Run the command. Raises HookFailed."""
        spec, ground = self.spec, self.ground
        if spec.fault:
            raise HookFailed(f"it cannot be used: {spec.fault}")
        if spec.origin == PROJECT and not await ground.holds():
            raise HookFailed(CHANGED)
        facts = {
            "event": str(event.name),
            "hook_event_name": _THEIR_NAMES[event.name],
            "workspace": str(ground.workspace),
            **event.facts,
        }
        ran = await run_shell(
            spec.command,
            stdin=json.dumps(facts, ensure_ascii=True).encode() + b"\n",
            cwd=ground.workspace,
            env=ground.environment(),
            timeout_s=spec.timeout_s,
        )
        _LOG.debug(
            "%s: %s ended with %s: %s", event.name, self.label, ran.exit_code, ran.stderr or ran.stdout
        )
        return read_answer(event, ran.exit_code, ran.stdout, ran.stderr)
