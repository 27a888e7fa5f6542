"""What one run stands on while sessions come and go: settings, tools, sandbox, policy."""

import os
import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.agent.agent_types import AgentType
from agent_tui.agent.guardrail_files import load_guardrails
from agent_tui.agent.guardrails import Guardrail
from agent_tui.agent.limits import Limits
from agent_tui.config.load import Loaded
from agent_tui.config.paths import MANAGED_CONFIG, SOURCES, Paths, user_paths
from agent_tui.config.settings import Settings
from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.late import LateTools
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.plugged.host import ExtensionHost
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.extensions.trust import TrustStore
from agent_tui.extensions.trust_hold import TrustHold
from agent_tui.permissions.audit import AuditLog
from agent_tui.permissions.grammar import Layer as RuleLayer
from agent_tui.permissions.grammar import Rule, canonical_tool
from agent_tui.permissions.grants import GrantStore
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.needs import Analyse, Places
from agent_tui.permissions.policy import Policy
from agent_tui.permissions.rules import RuleBook
from agent_tui.permissions.shell.model import Analysis
from agent_tui.permissions.sources import RuleFile, load_book, project_files, user_file
from agent_tui.protocol.errors import UsageError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.run.extensions import load_extensions
from agent_tui.run.folders import make_run_folder, sweep_run_folders
from agent_tui.run.inputs import Inputs, read_inputs, refuse_unknown_tools
from agent_tui.run.known_tools import PROJECT_TOOLS, known_tools
from agent_tui.run.left_out import left_out
from agent_tui.run.options import RunOptions
from agent_tui.run.settings import loaded_settings
from agent_tui.run.texts import Texts, agent_types, find_texts, tools_of_run
from agent_tui.sandbox.granted import GrantedSandbox
from agent_tui.sandbox.interface import NoSandbox, Sandbox
from agent_tui.sandbox.late import LateSandbox
from agent_tui.sandbox.memo import remember_probe
from agent_tui.sandbox.probe import probe
from agent_tui.sessions.store import project_folder
from agent_tui.toolkit.environment import WithoutVariables
from agent_tui.toolkit.stale import sweep

if TYPE_CHECKING:
    from agent_tui.toolkit.web import WebClient


@dataclass(frozen=True)
class Ground:
    """What stays the same while sessions come and go.

    `trusted` is also true where the project brings no configuration; `accepted` only when a person trusts it.
    `hold` knows the content that is trusted.
    `temp` is /tmp of every command; `outputs` keeps full outputs where there is no session folder for them.
    """

    options: RunOptions
    inputs: Inputs
    guardrails: Sequence[Guardrail]
    workspace: Path
    paths: Paths
    loaded: Loaded
    tools: CompositeSource
    sandbox: Sandbox
    granted: GrantedSandbox
    refused_hosts: Callable[[], Sequence[str]]
    trusted: bool
    accepted: bool
    hold: TrustHold
    temp: Path
    outputs: Path
    close: Callable[[], None]
    texts: Texts
    extensions: ExtensionHost
    notices: Sequence[str]

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @cached_property
    def web(self) -> "WebClient":
        """The client of the web tools; its pages are kept as long as the ground is."""
        from agent_tui.toolkit.web import WebClient  # 2 ms of CPU, loaded ahead by `run.ahead`

        return WebClient()

    def agent_types(self) -> list[AgentType]:
        """Give the sub-agents there are."""
        return agent_types(self.texts.agents)

    @property
    def system_prompt(self) -> str:
        """What stands in the place of our system prompt: that of the flags, or of the agent that the run is."""
        chosen = self.texts.chosen
        return self.inputs.system_prompt or (chosen.prompt if chosen is not None else "")

    def skill_names(self) -> list[tuple[str, str]]:
        """Give (name, description) of the skills that the model may load."""
        return [(skill.name, skill.description) for skill in self.texts.skills.all()]

    def limits(self) -> Limits:
        """Give the caps that the settings name."""
        limits, model = self.settings.limits, self.settings.model
        return Limits(
            max_rounds=limits.max_rounds,
            max_budget_usd=limits.max_budget_usd or None,
            max_tokens=limits.max_tokens,
            max_output_tokens=model.max_output_tokens,
            effort=model.effort,
        )


_UNTRUSTED = (
    "This project brings settings, tools or servers of its own. They do not count until you trust them: /trust shows "
    "them, --trust accepts them for one run."
)


_UNTRUSTED_CHANGED = (
    "This project's own settings, tools or servers changed since you trusted them: /trust shows how."
)


def load_sources(
    loaded: Loaded, workspace: Path, *, trusted: bool, code: bool = True, late: bool = False
) -> tuple[CompositeSource, list[str]]:
    """Load the bundled tools, with `code` the user's and a trusted project's; give a sentence for each that failed.

    With `late` the bundled ones are loaded when the first is needed. Raises ToolLoadError when one of them fails:
    the installation is broken then.
    """
    bundled = LateTools(tools_dir())
    if not late:
        bundled.get_ready()
    wanted = loaded.settings.tools
    tools = CompositeSource(override=wanted.override)
    tools.add("bundled", bundled, late=bundled)
    notices: list[str] = []
    folders = [("user", user_paths().user_tools)] + (
        [("project", workspace / PROJECT_TOOLS)] if trusted else []
    )
    for name, folder in folders if code else ():
        found = load_tools(folder, source=name)
        notices += [f"A tool was left out: {failure}" for failure in found.failures]
        if found.tools:
            tools.add(name, ToolFileSource(found.tools, name))
    notices += tools.warnings()
    return (tools.without(wanted.disable) if wanted.disable else tools), notices


def chosen_tools(tools: CompositeSource, inputs: Inputs) -> CompositeSource:
    """Limit the tools to those the flags leave. Raises UsageError for a name that no tool has."""
    names = tools.names()
    for name in inputs.tools or ():
        if name.lower() not in names:
            raise UsageError(f"--tools: no tool named {name!r}{did_you_mean(name, names)}")
    if inputs.tools is not None:
        tools = tools.subset([name.lower() for name in inputs.tools])
    hidden = [name for name in names if canonical_tool(name) in inputs.hidden]
    return tools.without(hidden) if hidden else tools


def rule_files(paths: Paths, workspace: Path, sources: Collection[str]) -> list[RuleFile]:
    """Give the files that may hold rules; a source that is left out may only tighten."""
    managed = RuleFile(MANAGED_CONFIG, RuleLayer.MANAGED, MANAGED_CONFIG.parent)
    files = zip(SOURCES, (user_file(paths.config), *project_files(workspace)), strict=True)
    return [managed, *(replace(file, tightens_only=name not in sources) for name, file in files)]


def rule_book(
    options: RunOptions, paths: Paths, workspace: Path, *, extra: Sequence[Rule] = (), trusted: bool
) -> RuleBook:
    """Read the rules of a run."""
    files = rule_files(paths, workspace, options.counted.sources)
    return load_book(files, extra=extra, trusted=trusted, profile=options.profile)


def make_policy(ground: Ground, *, session_id: str = "", readable: Sequence[Path] = ()) -> Policy:
    """Build the policy of one run."""
    home = Path.home().resolve()
    places = Places(project=ground.workspace, home=home, own=ground.paths.own(), readable=tuple(readable))
    return Policy(
        places=places,
        grants=GrantStore(ground.paths.state),
        audit=AuditLog(ground.paths.state),
        analyse=_analyse_in(ground.workspace, home),
        book=rule_book(
            ground.options,
            ground.paths,
            ground.workspace,
            extra=ground.inputs.rules,
            trusted=ground.trusted,
        ),
        mode=Mode(ground.settings.permissions.mode),
        strength=lambda: ground.sandbox.strength,
        session_id=session_id,
    )


def _analyse_in(project: Path, home: Path) -> Analyse:
    def analyse(command: str, cwd: Path) -> Analysis:
        from agent_tui.permissions.shell.analysis import Analyser  # 40 ms, with the first command

        return Analyser(project=project, home=home, environ=os.environ)(command, cwd)

    return analyse


def make_ground(options: RunOptions, workspace: Path, *, late_tools: bool = False) -> Ground:
    """Read settings, load tools (with `late_tools` the bundled ones later), begin to look for a sandbox."""
    paths = user_paths()
    store = TrustStore(paths.state)
    verdict = store.verdict(workspace)
    accepted = options.trust or verdict.accepted
    trusted = accepted or verdict.trusted
    loaded = loaded_settings(options, workspace, trusted=trusted)
    inputs = read_inputs(options, workspace)
    tools, notices = load_sources(
        loaded, workspace, trusted=trusted, code=options.counted.code, late=late_tools
    )
    extensions, faults_of_extensions = load_extensions(loaded.settings, paths, workspace, trusted=trusted)
    notices += faults_of_extensions + [text for _, text in extensions.publish(tools)]
    known = known_tools(
        loaded.settings, paths, workspace, trusted=trusted, loaded=tools.names(), host=extensions
    )
    if known.are_all:
        refuse_unknown_tools(inputs.rules, known.names)
    tools = chosen_tools(tools, inputs)
    sweep_run_folders()
    sweep(paths.sessions / project_folder(workspace))
    problems = [f"Settings: {problem}" for problem in loaded.problems]
    if loaded.broken:
        problems.append("Nothing is allowed unasked until that file is mended.")
    hold = TrustHold(store, workspace, digest=verdict.digest if trusted else "")
    texts = find_texts(
        options.counted,
        workspace,
        agent=options.agent,
        tools=tools.names(),
        trusted=trusted,
        project_counts=hold.holds_now,
    )
    problems += unwritable(paths)
    if texts.chosen is not None:
        problems.append(f"This run is the agent {texts.chosen.name!r}: {texts.chosen.description}")
    problems += left_out(options, paths, workspace, trusted=trusted)
    if not trusted and options.counted.project:
        problems.append(_UNTRUSTED_CHANGED if verdict.changed else _UNTRUSTED)
    problems += [f"A skill needs a look: {fault}" for fault in texts.skills.find().faults]
    problems += [f"An agent needs a look: {fault}" for fault in texts.agent_faults]
    guardrails = load_guardrails(paths.guardrails) if options.counted.code else ()
    tools = tools_of_run(texts.chosen, tools)
    added = options.added_directories()
    # From here on nothing may fail: what is held now is given back by `close` only.
    temp, outputs = make_run_folder(), make_run_folder()
    late = _sandbox(loaded.settings, workspace, paths, temp, visible=[paths.sessions, outputs])
    granted = GrantedSandbox(late, added)
    return Ground(
        options=options,
        inputs=inputs,
        guardrails=guardrails,
        workspace=workspace,
        paths=paths,
        loaded=loaded,
        tools=tools,
        sandbox=WithoutVariables(granted, loaded.settings.shell.env_deny),
        granted=granted,
        refused_hosts=late.refused_hosts if isinstance(late, LateSandbox) else tuple,
        trusted=trusted,
        accepted=accepted,
        hold=hold,
        temp=temp,
        outputs=outputs,
        close=lambda: _give_up(late, temp, outputs),
        texts=texts,
        extensions=extensions,
        notices=[*problems, *notices],
    )


def unwritable(paths: Paths) -> list[str]:
    """Say that nothing can be approved where the folder of grants and audit lines cannot be written."""
    try:
        paths.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        return [
            f"Nothing can be approved: {paths.state} cannot be written ({error.strerror}), and every decision must be."
        ]
    if os.access(paths.state, os.W_OK | os.X_OK):
        return []
    return [f"Nothing can be approved: {paths.state} cannot be written, and every decision must be."]


def _give_up(sandbox: "LateSandbox | NoSandbox", temp: Path, outputs: Path) -> None:
    """Give back what a run holds: the sandbox's network and the folders below /tmp."""
    if isinstance(sandbox, LateSandbox):
        sandbox.close()
    for folder in (temp, outputs):
        shutil.rmtree(folder, ignore_errors=True)


def _sandbox(
    settings: Settings, workspace: Path, paths: Paths, temp: Path, *, visible: Sequence[Path]
) -> LateSandbox | NoSandbox:
    if settings.sandbox.mode == "off":
        return NoSandbox("switched off by [sandbox] mode")
    home = Path.home().resolve()

    def look() -> Sandbox:
        found = probe(workspace, home=home, temp=temp, hidden=paths.own(), visible=visible)
        remember_probe(paths.state, found)
        return found

    late = LateSandbox(look)
    late.start()
    return late
