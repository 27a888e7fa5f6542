"""Builds the core from settings: tools, policy, model, session, agent."""

import asyncio
import threading
from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent_tui.conversation.core import Core
from agent_tui.conversation.desk import Desk
from agent_tui.conversation.house import Belongings
from agent_tui.conversation.keeping import PersonsKeeping
from agent_tui.conversation.plugged import SessionExtensions
from agent_tui.conversation.servers import MentionedResources
from agent_tui.conversation.settings_desk import SettingsFiles
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.extensions.trust import TrustStore
from agent_tui.permissions.policy import Policy
from agent_tui.protocol.errors import AuthError
from agent_tui.providers.connect import (
    choose,
    connect,
)
from agent_tui.providers.retry import RetryingProvider
from agent_tui.providers.unconnected import UnconnectedProvider
from agent_tui.run.ahead import load_ahead
from agent_tui.run.chosen_session import open_record
from agent_tui.run.extensions import load_project_extensions
from agent_tui.run.ground import PROJECT_TOOLS, Ground, make_ground, make_policy, rule_book
from agent_tui.run.hooks import RunHooks, make_hooks
from agent_tui.run.known_secrets import known_secrets
from agent_tui.run.known_tools import RULE_NEEDS_A_LOOK, KnownTools, known_tools, rule_problems
from agent_tui.run.mcp_servers import RunServers, make_servers
from agent_tui.run.models import check_fallbacks, local_servers, named_model, provider_spec, retry_teller
from agent_tui.run.opening import SessionBuilder
from agent_tui.run.options import RunOptions
from agent_tui.run.settings import loaded_settings
from agent_tui.sessions.prompts import HistoryFile
from agent_tui.sessions.redact import Redactor
from agent_tui.sessions.store import CHECKPOINTS, SessionStore

NEEDS_PERSON = ("question", "exit_plan_mode")
"""Tools that are not offered where nobody can answer."""


_CONNECT = (
    "No model is connected: the built-in offline one answers, it is no language model. "
    "Set ANTHROPIC_API_KEY, or OPENAI_API_KEY (with OPENAI_BASE_URL for another server), or start with --base-url URL."
)


_TRY = "Try the offline model with 'tour' (changes a few files and asks first), 'explain this project' or 'help'."


async def assemble(
    options: RunOptions, workspace: Path, *, with_screen: bool, with_person: bool | None = None
) -> Core:
    """Build the core with its session open. `with_person` says that questions can be asked, as at a screen.

    Raises AgentTuiError.
    """
    with_person = with_screen if with_person is None else with_person
    ground = await asyncio.to_thread(make_ground, options, workspace, late_tools=with_screen)
    async with AsyncExitStack() as held:  # given back when the start fails
        held.push_async_callback(asyncio.to_thread, ground.close)
        core = await _assembled(
            ground, options, workspace, held, with_screen=with_screen, with_person=with_person
        )
        held.pop_all()
    return core


async def _assembled(
    ground: Ground,
    options: RunOptions,
    workspace: Path,
    held: AsyncExitStack,
    *,
    with_screen: bool,
    with_person: bool,
) -> Core:
    if not with_person:
        ground = replace(ground, tools=ground.tools.without(NEEDS_PERSON))
    if options.permission_prompt_tool:  # whoever answers for the person is no tool of the model
        ground = replace(ground, tools=ground.tools.without([options.permission_prompt_tool]))
    redactor = Redactor(known_secrets(ground.paths))
    store = SessionStore(ground.paths.sessions, redact=redactor, spare=ground.outputs)
    record, opening = await asyncio.to_thread(open_record, store, options, workspace, with_screen)
    held.push_async_callback(record.aclose)
    policy = make_policy(
        ground,
        session_id=record.id,
        readable=[
            ground.paths.sessions,
            ground.temp,
            ground.outputs,
            *ground.texts.skills.user_folders,
            *(path.resolve() for path in options.add_dirs),
        ],
    )
    desk = Desk()
    spec = provider_spec(ground.settings, ground.paths)
    agent = ground.texts.chosen
    if agent is not None and agent.model and not options.model:
        spec = named_model(spec, agent.model)
    choice = choose(spec)
    check_fallbacks(options.fallback_model, choice)

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
    hooks, faults = make_hooks(ground, desk.warn)
    mcp = await make_servers(
        options,
        ground.paths,
        workspace,
        trusted=ground.hold.holds_now,
        ask=lambda: desk.ask,
        provider=lambda: builder.provider,
        interactive=with_person,
    )
    held.push_async_callback(mcp.servers.aclose)
    builder = SessionBuilder(
        ground,
        desk,
        policy,
        connect_to,
        kept / CHECKPOINTS,
        redactor.known,
        hooks.hooks,
        MentionedResources(mcp.servers),
    )
    unconnected = await asyncio.to_thread(connect_first)
    session = await builder.open(record)
    offline = choice.provider == "offline"
    keyless = offline and not spec.provider
    tries = offline and with_screen and not session.agent.history
    hints = [*([_CONNECT] if keyless else []), *([_TRY] if tries else [])]
    news = await mcp.join(ground.tools, wait=not with_person, told=ground.loaded.broken_files)
    extensions = SessionExtensions(ground.extensions)
    news += await extensions.start(record.id, None if with_screen else ground.tools)
    known = _known_tools(ground, trusted=ground.trusted)
    rules = rule_problems(policy.book, known, told=ground.loaded.broken_files)
    news += [f"{RULE_NEEDS_A_LOOK}{problem}" for problem in rules]
    if policy.book.problems and not ground.loaded.broken:
        news.append(f"{RULE_NEEDS_A_LOOK}nothing is allowed unasked until the file is mended.")
    await asyncio.to_thread(lambda: ground.sandbox.strength)  # rules and status line ask for it on the loop
    return Core(
        workspace=workspace,
        desk=desk,
        session=session,
        open_session=builder.open,
        connect=switch_to,
        store=store,
        policy=policy,
        belongings=belongings(ground, policy, hooks, mcp),
        tools=ground.tools,
        sandbox=ground.sandbox,
        granted=ground.granted,
        history=HistoryFile(ground.paths.history, redact=redactor, project=str(workspace)),
        warm_up=lambda: threading.Thread(
            target=load_ahead, args=(choice.provider, ground.tools.load_late), daemon=True
        ).start(),
        notices=[*hints, *unconnected, *ground.notices, *faults, *opening, *news],
        look_around=local_servers if keyless and with_screen else None,
        persistent=not options.ephemeral,
        clean_up=ground.close,
        commands=ground.texts.commands,
        connect_beside=connect_to,
        project_counts=ground.hold.holds_now,
        servers=mcp.servers,
        server_files=mcp.files,
        reread_servers=mcp.reread,
        extensions=extensions,
    )


def belongings(ground: Ground, policy: Policy, hooks: RunHooks, mcp: RunServers) -> Belongings:
    """Give what the interface's house is made of."""

    async def trust_changed(trusted: bool) -> list[str]:
        policy.book = await asyncio.to_thread(
            rule_book,
            ground.options,
            ground.paths,
            ground.workspace,
            extra=ground.inputs.rules,
            trusted=trusted,
        )
        ground.tools.remove("project")
        await asyncio.to_thread(lambda: ground.hold.take(trusted=trusted))
        await mcp.follow()
        faults = await asyncio.to_thread(lambda: hooks.load(trusted=trusted))
        await ground.extensions.drop_project()
        if not trusted or not ground.options.counted.code:
            return faults if trusted else []
        faults += await asyncio.to_thread(
            load_project_extensions, ground.extensions, ground.settings, ground.paths, ground.workspace
        )
        ground.extensions.start()
        found = await asyncio.to_thread(load_tools, ground.workspace / PROJECT_TOOLS, source="project")
        if found.tools:
            ground.tools.add("project", ToolFileSource(found.tools, "project"))
        return [*(f"A tool was left out: {failure}" for failure in found.failures), *faults]

    return Belongings(
        workspace=ground.workspace,
        trust=TrustStore(ground.paths.state),
        trusted_for_this_run=ground.options.trust,
        trust_changed=trust_changed,
        skills=ground.texts.skills,
        agents=ground.agent_types,
        doctor=partial(_doctor_report, ground.workspace),
        reads_instructions=ground.options.counted.texts,
        project_can_count=ground.options.counted.project,
        agent_faults=ground.texts.agent_faults,
        hooks=hooks.listing,
        settings=_settings_files(ground),
        keeping=lambda shell: PersonsKeeping(
            policy,
            ground.granted,
            workspace=ground.workspace,
            key_file=ground.paths.keys,
            shell=shell,
            tools=lambda: _tool_names(ground),
        ),
    )


def _doctor_report(workspace: Path) -> str:
    from agent_tui.run.doctor import report  # only /doctor needs it

    return report(workspace)


def _settings_files(ground: Ground) -> SettingsFiles:
    """Give the settings files as the settings screen reads and writes them."""
    options, workspace, paths = ground.options, ground.workspace, ground.paths

    def trusted() -> bool:
        verdict = TrustStore(paths.state).verdict(workspace)
        return options.trust or verdict.accepted or verdict.trusted

    def more_problems(told: Collection[str]) -> list[str]:
        book = rule_book(options, paths, workspace, trusted=trusted())
        return rule_problems(book, _known_tools(ground, trusted=trusted()), told=told)

    return SettingsFiles(
        paths=paths,
        workspace=workspace,
        load=lambda is_trusted: loaded_settings(options, workspace, trusted=is_trusted),
        trusted=trusted,
        more_problems=more_problems,
    )


def _tool_names(ground: Ground) -> list[str]:
    """Give the names of the tools there are now, those of extensions included."""
    return [*ground.tools.names(), *ground.extensions.tool_names()]


def _known_tools(ground: Ground, *, trusted: bool) -> KnownTools:
    """Give the names of tools that a rule of this run may name."""
    return known_tools(
        ground.settings,
        ground.paths,
        ground.workspace,
        trusted=trusted,
        loaded=_tool_names(ground),
        host=ground.extensions,
    )
