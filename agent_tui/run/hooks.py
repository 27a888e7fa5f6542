"""Gives a run its hooks: which settings files hold them, what they run on, and when those of the project count."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_tui.extensions.hooks.bus import Hooks, Warn
from agent_tui.extensions.hooks.settings import FoundHooks, HookSpec, find_hooks
from agent_tui.run.ground import Ground
from agent_tui.run.hook_files import hook_files
from agent_tui.toolkit.environment import child_environment, without_names

if TYPE_CHECKING:
    from agent_tui.extensions.hooks.command import CommandHook


@dataclass
class RunHooks:
    """The hooks of one run. `found` is what the settings hold now."""

    ground: Ground
    hooks: Hooks
    found: FoundHooks = field(default_factory=FoundHooks)

    def load(self, *, trusted: bool) -> list[str]:
        """Read the settings anew and give a sentence for each thing that is wrong."""
        ground = self.ground
        counted = ground.options.counted
        files = hook_files(ground.paths, ground.workspace, trusted=trusted, counted=counted)
        self.found = find_hooks(files)
        self.hooks.use(self._commands() if self.found.hooks else ())
        return [f"A hook needs a look: {problem}" for problem in self.found.problems]

    def _commands(self) -> "list[CommandHook]":
        from agent_tui.extensions.hooks.command import CommandHook, HookGround  # 5 ms, most runs have none

        on = HookGround(self.ground.workspace, self._environment, self.ground.hold.holds)
        return [CommandHook(spec, on) for spec in self.found.hooks]

    def listing(self) -> tuple[list[tuple[str, str]], list[str]]:
        """Give (event, what runs) of every hook in the order in which they are asked, and what is wrong."""
        specs = [
            (f"{one.event} {one.matcher}".strip(), _line(one)) for one in self.found.hooks if not one.fault
        ]
        others = [("extension", one.label) for one in self.hooks.all()[len(self.found.hooks) :]]
        return [*specs, *others], list(self.found.problems)

    def _environment(self) -> Mapping[str, str]:
        variables = child_environment(self.ground.workspace).variables
        return without_names(variables, self.ground.settings.shell.env_deny)


def _line(spec: HookSpec) -> str:
    closed = ", fails closed" if spec.fail_closed else ""
    return f"{' '.join(spec.command.split())} ({spec.where}, {spec.timeout_s:g} s{closed})"


def make_hooks(ground: Ground, warn: Warn) -> tuple[RunHooks, list[str]]:
    """Give the hooks of a run, and a sentence for each thing that is wrong with them."""
    made = RunHooks(ground, Hooks(warn, plugged=ground.extensions.hooks))
    return made, made.load(trusted=ground.trusted)
