"""Builds the core from settings: tools, policy, model, session, agent."""

import asyncio
import os
import shutil
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from agent_tui.agent.guardrail_files import load_guardrails
from agent_tui.chosen_session import open_record
from agent_tui.config.load import Loaded
from agent_tui.config.paths import MANAGED_CONFIG, Paths, user_paths
from agent_tui.config.settings import Settings
from agent_tui.core import Core, Desk
from agent_tui.executor.registry import CompositeSource
from agent_tui.executor.rounds import Rounds
from agent_tui.extensions.agents import load_agents
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.places import folders
from agent_tui.extensions.skills import SkillLibrary
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.extensions.trust import TrustStore
from agent_tui.house import Belongings
from agent_tui.inputs import Inputs, read_inputs
from agent_tui.mcp_wiring import configured, join_servers
from agent_tui.opening import Ground, SessionBuilder
from agent_tui.options import RunOptions
from agent_tui.permissions.audit import AuditLog
from agent_tui.permissions.grammar import Layer as RuleLayer
from agent_tui.permissions.grammar import canonical_tool
from agent_tui.permissions.grants import GrantStore
from agent_tui.permissions.modes import Mode
from agent_tui.permissions.needs import Places
from agent_tui.permissions.policy import Policy
from agent_tui.permissions.shell.analysis import Analyser
from agent_tui.permissions.sources import RuleFile, load_book, project_files, user_file
from agent_tui.protocol.errors import AuthError, UsageError
from agent_tui.protocol.events import Retrying
from agent_tui.protocol.journal import NullJournal
from agent_tui.protocol.permissions import Approver
from agent_tui.providers.connect import (
    PROFILES,
    PROVIDERS,
    ProviderSpec,
    choose,
    connect,
    provider_of,
    warm_up,
    with_model,
)
from agent_tui.providers.keys import read_key_file
from agent_tui.providers.loopback import LocalServer
from agent_tui.providers.loopback import probe as probe_servers
from agent_tui.providers.retry import RetryingProvider, RetryNotice
from agent_tui.providers.unconnected import UnconnectedProvider
from agent_tui.run_folders import make_run_folder, sweep_run_folders
from agent_tui.sandbox.granted import GrantedSandbox
from agent_tui.sandbox.interface import NoSandbox, Sandbox
from agent_tui.sandbox.late import LateSandbox
from agent_tui.sandbox.memo import remember_probe
from agent_tui.sandbox.probe import probe
from agent_tui.sessions.prompts import HistoryFile
from agent_tui.sessions.redact import Redactor
from agent_tui.sessions.store import CHECKPOINTS, SessionStore, project_folder
from agent_tui.toolkit.context import ShellState, TodoList, ToolContext
from agent_tui.toolkit.environment import WithoutVariables
from agent_tui.toolkit.jobs import SessionJobs
from agent_tui.toolkit.stale import sweep
from agent_tui.toolkit.tracker import FileTracker
from agent_tui.toolkit.web import WebClient
from agent_tui.wiring import loaded_settings

NEEDS_PERSON = ("question", "exit_plan_mode")
"""Tools that are not offered where nobody can answer."""
PROJECT_TOOLS = Path(".agent-tui") / "tools"
_CONNECT = (
    "No model is connected: the built-in offline one answers, it is no language model. "
    "Set ANTHROPIC_API_KEY, or OPENAI_API_KEY (with OPENAI_BASE_URL for another server), or start with --base-url URL."
)
_TRY = "Things to try with it: 'tour' (changes a few files and asks first), 'explain this project', 'help'."


_UNTRUSTED = "This project brings settings, tools or servers of its own. They do not count until you trust them: /trust shows them."
_UNTRUSTED_CHANGED = (
    "This project's own settings, tools or servers changed since you trusted them: /trust shows how."
)


def load_sources(loaded: Loaded, workspace: Path, *, trusted: bool) -> tuple[CompositeSource, list[str]]:
    """Load the bundled tools, the user's and a trusted project's; give a sentence for each that failed.

    Raises ToolLoadError when a bundled tool fails: the installation is broken then.
    """
    bundled = load_tools(tools_dir(), source="bundled")
    if bundled.failures:
        raise bundled.failures[0]
    wanted = loaded.settings.tools
    tools = CompositeSource(override=wanted.override)
    tools.add("bundled", ToolFileSource(bundled.tools, "bundled"))
    notices: list[str] = []
    folders = [("user", user_paths().user_tools)] + (
        [("project", workspace / PROJECT_TOOLS)] if trusted else []
    )
    for name, folder in folders:
        found = load_tools(folder, source=name)
        notices += [f"A tool was left out: {failure}" for failure in found.failures]
        if found.tools:
            tools.add(name, ToolFileSource(found.tools, name))
    notices += tools.warnings()
    return (tools.without(wanted.disable) if wanted.disable else tools), notices


def chosen_tools(tools: CompositeSource, inputs: Inputs) -> CompositeSource:
    """Limit the tools to those the flags leave. Raises UsageError for a name that no tool has."""
    names = [spec.name for spec in tools.specs()]
    for name in inputs.tools or ():
        if name.lower() not in names:
            raise UsageError(f"--tools: no tool named {name!r}; there are {', '.join(names)}")
    if inputs.tools is not None:
        tools = tools.subset([name.lower() for name in inputs.tools])
    hidden = [name for name in names if canonical_tool(name) in inputs.hidden]
    return tools.without(hidden) if hidden else tools


def rule_files(paths: Paths, workspace: Path) -> list[RuleFile]:
    """Give the files that may hold rules."""
    managed = RuleFile(MANAGED_CONFIG, RuleLayer.MANAGED, MANAGED_CONFIG.parent)
    return [managed, user_file(paths.config), *project_files(workspace)]


def provider_spec(settings: Settings, paths: Paths) -> ProviderSpec:
    """Give what the settings say about the model."""
    model = settings.model
    return ProviderSpec(
        provider=model.provider,
        model=model.name,
        base_url=model.base_url,
        key_command=model.key_command,
        key_file=paths.keys,
        fallbacks=model.fallback,
        overrides=model.facts,
        pace_s=0.004 if os.environ.get("AGENT_TUI_TEST_PACE") is None else 0.0,
    )


def named_model(spec: ProviderSpec, name: str) -> ProviderSpec:
    """Give the spec with the model called `name`, which may be PROVIDER:MODEL."""
    provider, colon, model = name.partition(":")
    if colon and provider in PROVIDERS:
        return replace(spec, provider=provider, model=model, base_url="")
    owner = provider_of(name)
    if owner and not spec.base_url and spec.provider in ("anthropic", "openai", "offline"):
        return replace(spec, provider=owner, model=name)
    return with_model(spec, name)


async def local_servers(
    look: Callable[[], Awaitable[Sequence[LocalServer]]] = probe_servers,
) -> Sequence[str]:
    """Name the model servers that answer on this machine. None is chosen and none is sent a prompt."""
    await asyncio.to_thread(import_module, "httpx")  # 106 ms of CPU that the screen need not wait for
    return [
        f"{server.title} answers on port {server.port}. To use it: /model {server.provider}:{server.models[0]}"
        for server in await look()
        if server.models
    ]


def make_policy(ground: Ground, *, session_id: str = "", readable: Sequence[Path] = ()) -> Policy:
    """Build the policy of one run."""
    home = Path.home().resolve()
    places = Places(project=ground.workspace, home=home, own=ground.paths.own(), readable=tuple(readable))
    return Policy(
        places=places,
        grants=GrantStore(ground.paths.state),
        audit=AuditLog(ground.paths.state),
        analyse=Analyser(project=ground.workspace, home=home, environ=os.environ),
        book=load_book(
            rule_files(ground.paths, ground.workspace), extra=ground.inputs.rules, trusted=ground.trusted
        ),
        mode=Mode(ground.settings.permissions.mode),
        strength=lambda: ground.sandbox.strength,
        session_id=session_id,
    )


def make_ground(options: RunOptions, workspace: Path) -> Ground:
    """Read settings, load tools, begin to look for a sandbox."""
    paths = user_paths()
    verdict = TrustStore(paths.state).verdict(workspace)
    accepted = options.trust or verdict.accepted
    trusted = accepted or verdict.trusted
    loaded = loaded_settings(options, workspace, trusted=trusted)
    inputs = read_inputs(options, workspace)
    tools, notices = load_sources(loaded, workspace, trusted=trusted)
    tools = chosen_tools(tools, inputs)
    sweep_run_folders()
    sweep(paths.sessions / project_folder(workspace))
    temp, outputs = make_run_folder(), make_run_folder()
    late = _sandbox(loaded.settings, workspace, paths, temp, visible=[paths.sessions, outputs])
    granted = GrantedSandbox(late, [path.resolve() for path in options.add_dirs])
    sandbox = WithoutVariables(granted, loaded.settings.shell.env_deny)
    problems = [f"Settings: {problem}" for problem in loaded.problems]
    if loaded.broken:
        problems.append("Nothing is allowed unasked until that file is mended.")
    home = Path.home()
    skills = SkillLibrary(folders("skills", workspace=workspace, home=home, config=paths.config))
    agents, faults = load_agents(
        folders("agents", workspace=workspace, home=home, config=paths.config, project=trusted),
        [spec.name for spec in tools.specs()],
    )
    problems += unwritable(paths)
    if not trusted:
        problems.append(_UNTRUSTED_CHANGED if verdict.changed else _UNTRUSTED)
    problems += [f"A skill needs a look: {fault}" for fault in skills.find().faults]
    problems += [f"An agent needs a look: {fault}" for fault in faults]
    return Ground(
        options=options,
        inputs=inputs,
        guardrails=load_guardrails(paths.guardrails),
        workspace=workspace,
        paths=paths,
        loaded=loaded,
        tools=tools,
        sandbox=sandbox,
        granted=granted,
        refused_hosts=late.refused_hosts if isinstance(late, LateSandbox) else tuple,
        trusted=trusted,
        accepted=accepted,
        temp=temp,
        outputs=outputs,
        close=lambda: _give_up(late, temp, outputs),
        skills=skills,
        agents=agents,
        agent_faults=[str(fault) for fault in faults],
        web=WebClient(),
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


async def assemble(options: RunOptions, workspace: Path, *, with_screen: bool) -> Core:
    """Build the core with its session open. Raises AgentTuiError."""
    ground = await asyncio.to_thread(make_ground, options, workspace)
    if not with_screen:
        ground = replace(ground, tools=ground.tools.without(NEEDS_PERSON))
    redactor = Redactor(_known_secrets(ground.paths))
    store = SessionStore(ground.paths.sessions, redact=redactor, spare=ground.outputs)
    record, opening = await asyncio.to_thread(open_record, store, options, workspace, with_screen)
    policy = make_policy(
        ground,
        session_id=record.id,
        readable=[
            ground.paths.sessions,
            ground.temp,
            ground.outputs,
            *ground.skills.user_folders,
            *(path.resolve() for path in options.add_dirs),
        ],
    )
    desk = Desk()
    spec = provider_spec(ground.settings, ground.paths)
    choice = choose(spec)

    def connect_to(name: str) -> RetryingProvider:
        return connect(named_model(spec, name) if name else spec)

    def switch_to(name: str) -> RetryingProvider:
        provider = connect_to(name)
        provider.on_retry = retry_teller(desk)
        builder.provider = provider
        return provider

    def connect_first() -> list[str]:
        """Connect the model; without its key the screen opens all the same, so that another can be chosen."""
        try:
            switch_to("")
        except AuthError as error:
            if not with_screen:
                raise
            missing = UnconnectedProvider(error, name=choice.provider, model=choice.model)
            builder.provider = RetryingProvider(missing)
            return [f"{error} Or choose another model with /model."]
        return []

    kept = ground.outputs if options.ephemeral else ground.paths.sessions
    builder = SessionBuilder(ground, desk, policy, connect_to, kept / CHECKPOINTS, redactor.known)
    unconnected = await asyncio.to_thread(connect_first)
    session = await builder.open(record)
    offline = choice.provider == "offline"
    keyless = offline and not spec.provider
    hints = [*([_CONNECT] if keyless else []), *([_TRY] if offline and with_screen else [])]
    servers, news = await join_servers(
        await asyncio.to_thread(configured, options, ground.paths, workspace, trusted=ground.trusted),
        ground.tools,
        roots=[workspace, *(path.resolve() for path in options.add_dirs)],
        state_dir=ground.paths.state,
        ask=lambda: desk.ask,
        provider=lambda: builder.provider,
        with_screen=with_screen,
    )
    return Core(
        workspace=workspace,
        desk=desk,
        session=session,
        open_session=builder.open,
        connect=switch_to,
        store=store,
        policy=policy,
        belongings=belongings(ground, policy),
        tools=ground.tools,
        sandbox=ground.sandbox,
        history=HistoryFile(ground.paths.history, redact=redactor),
        warm_up=lambda: threading.Thread(target=warm_up, args=(choice.provider,), daemon=True).start(),
        notices=[*hints, *unconnected, *ground.notices, *opening, *news],
        look_around=local_servers if keyless else None,
        persistent=not options.ephemeral,
        clean_up=ground.close,
        servers=servers,
    )


def belongings(ground: Ground, policy: Policy) -> Belongings:
    """Give what the interface's house is made of."""

    async def trust_changed(trusted: bool) -> list[str]:
        files = rule_files(ground.paths, ground.workspace)
        policy.book = await asyncio.to_thread(load_book, files, extra=ground.inputs.rules, trusted=trusted)
        ground.tools.remove("project")
        if not trusted:
            return []
        found = await asyncio.to_thread(load_tools, ground.workspace / PROJECT_TOOLS, source="project")
        if found.tools:
            ground.tools.add("project", ToolFileSource(found.tools, "project"))
        return [f"A tool was left out: {failure}" for failure in found.failures]

    return Belongings(
        workspace=ground.workspace,
        trust=TrustStore(ground.paths.state),
        trusted_for_this_run=ground.options.trust,
        trust_changed=trust_changed,
        skills=ground.skills,
        agents=ground.agent_types,
        agent_faults=ground.agent_faults,
    )


def retry_teller(desk: Desk) -> Callable[[RetryNotice], Awaitable[None]]:
    """Give what tells a retry as an event of the running turn."""

    async def tell(notice: RetryNotice) -> None:
        await desk.tell(
            Retrying(
                turn_id=desk.turn_id,
                attempt=notice.attempt,
                max_attempts=notice.max_attempts,
                wait_s=notice.wait_s,
                reason=f"{notice.reason} ({notice.fallback} takes over)"
                if notice.fallback
                else notice.reason,
            )
        )

    return tell


def _known_secrets(paths: Paths) -> list[str]:
    """Give the keys of this program, those in the environment and those in its file."""
    names = (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_API_KEY",
        "EXA_API_KEY",
        "BRAVE_API_KEY",
        "TAVILY_API_KEY",
        *(name for profile in PROFILES.values() for name in profile.key_variables),
    )
    kept = read_key_file(paths.keys).values() if paths.keys.exists() else ()
    return [value for name in names if (value := os.environ.get(name, "").strip())] + [
        key for key in kept if key
    ]


@asynccontextmanager
async def tool_rounds(workspace: Path, approver: Approver) -> AsyncGenerator[Rounds]:
    """Give rounds without a model and without a session; the person counts as having read every file."""
    ground = make_ground(RunOptions(), workspace)
    jobs = SessionJobs()
    data_dir = ground.outputs
    shell, todos, files = ShellState(cwd=workspace), TodoList(), FileTracker(trusting=True)

    def context(call_id: str, turn_id: str) -> ToolContext:
        return ToolContext(
            call_id=call_id,
            turn_id=turn_id,
            session_id="tool",
            workspace=workspace,
            files=files,
            sandbox=ground.sandbox,
            shell=shell,
            todos=todos,
            data_dir=data_dir,
            jobs=jobs,
            skills=ground.skills,
            web=ground.web,
        )

    async def silent(_event: object) -> None:
        """Nobody watches."""

    try:
        yield Rounds(
            tools=ground.tools,
            policy=make_policy(ground, readable=[data_dir]),
            approver=approver,
            journal=NullJournal(),
            sink=silent,
            make_context=context,
        )
    finally:
        await jobs.close()
        await asyncio.to_thread(ground.close)
