"""The composition root: settings become a provider, tools, an agent and a screen."""

import gc
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from agent_tui.config.paths import user_paths
from agent_tui.run.in_browser import forget_browser, in_browser
from agent_tui.run.options import PICK

if TYPE_CHECKING:  # the parts are imported when they are built: the screen paints first
    from agent_tui.conversation.core import Core
    from agent_tui.headless.output import Output
    from agent_tui.protocol.permissions import Approver
    from agent_tui.protocol.replay import ReplayBlock
    from agent_tui.run.options import RunOptions
    from agent_tui.ui.browser.driver import BrowserDriver
    from agent_tui.ui.instant import InstantPrompt


def run_screen(options: "RunOptions", workspace: Path, *, drawn: "InstantPrompt | None" = None) -> int:
    """Open the full screen, over the prompt that is `drawn` already, and give the exit code. Raises what the start failed at."""
    if options.no_color:
        os.environ["NO_COLOR"] = "1"  # before Textual is imported, which reads it then
    gc.disable()  # until the first paint, where the collector takes over: 11 to 50 ms of CPU
    import asyncio

    from agent_tui.extensions.bundled import themes_dir
    from agent_tui.run.preferences import Preferences
    from agent_tui.ui.lean import import_textual_lean, leave_out_pydantic_plugins

    import_textual_lean()
    leave_out_pydantic_plugins()
    from agent_tui.ui.app import AgentApp
    from agent_tui.ui.presets import preset_named
    from agent_tui.ui.progress import knows_progress
    from agent_tui.ui.render.rowdiff import draws_by_rows
    from agent_tui.ui.settings import AppSettings

    async def load_core() -> "Core":
        if options.opens_stored:
            app.early.opening()
            app.early.show(await asyncio.to_thread(_stored_blocks, options, workspace))
        assemble = await asyncio.to_thread(_import_assemble)
        core = await assemble(options, workspace, with_screen=True)
        if options.files or options.images:
            from agent_tui.run.named_files import named_in

            app.attach(await named_in(core, options))
        return core

    paths = user_paths()
    preferences = Preferences(
        paths,
        profile=options.profile,
        counts="user" in options.counted.sources,
        given=options.given,
    )
    notify = preferences.configured("notify")
    row_diff, progress = preferences.configured("row_diff"), preferences.configured("progress")
    settings = AppSettings(
        theme=preferences.theme(os.environ, flag=options.theme),
        theme_folders=(themes_dir(), paths.user_themes),
        keymap_file=paths.keymap,
        crash_log=paths.log,
        grants_file=paths.grants,
        notify=notify if notify in ("osc9", "osc777", "bell", "off") else "auto",
        row_diff=row_diff if isinstance(row_diff, bool) else draws_by_rows(os.environ) and not in_browser(),
        low_approvals=preferences.configured("low_approvals") is True,
        progress=progress if isinstance(progress, bool) else knows_progress(os.environ) and not in_browser(),
        remember=preferences.remember,
        first_run=not options.prompt and preferences.is_first_run(sessions=paths.sessions),
        keys=preset_named(preferences.keys()) or "default",
        status=preferences.status(),
        verbose=options.verbose,
    )
    first = "/sessions" if options.resume == PICK else options.prompt
    shown_by_browser = in_browser()
    app = AgentApp(
        load_core, settings=settings, initial_prompt=first, drawn=drawn, driver=_driver(shown_by_browser)
    )
    forget_browser()
    from agent_tui.run.log_file import logging_to

    with logging_to(paths.log):
        code = app.run(mouse=not options.no_mouse and preferences.configured("mouse") is not False)
    farewell = app.leaving.farewell()
    if farewell and not shown_by_browser:
        say_farewell(farewell)  # before the sentence about a failure, which goes to standard error
    if app.leaving.failure is not None:
        raise app.leaving.failure
    return 1 if app.crash_message else code or 0


def say_farewell(text: str, *, out: TextIO | None = None) -> None:
    """Print what is to be read last. A terminal that is gone takes nothing; how the program ended stays what it was."""
    import sys
    from contextlib import suppress

    from agent_tui.run.standard_streams import refusal

    stream: TextIO = out or sys.stdout
    with suppress(OSError):
        print(text, file=stream)
    refusal(stream)


def _driver(shown_by_browser: bool) -> "type[BrowserDriver] | None":
    """Give the driver for a page, None for a terminal's."""
    if not shown_by_browser:
        return None
    from agent_tui.ui.browser.driver import BrowserDriver

    return BrowserDriver


def run_lines(options: "RunOptions", workspace: Path, *, greeting: str = "") -> int:
    """Run the program as plain lines and give the exit code."""
    import asyncio

    from agent_tui.run.log_file import logging_to
    from agent_tui.run.named_files import named_in
    from agent_tui.ui.linear.program import LinearProgram, run_linear

    log = user_paths().log

    def program() -> LinearProgram:
        async def load_core() -> "Core":
            assemble = await asyncio.to_thread(_import_assemble)
            core = await assemble(options, workspace, with_screen=True)
            lines.attach(await named_in(core, options))
            return core

        lines = LinearProgram(
            load_core,
            crash_log=log,
            initial_prompt="/sessions" if options.resume == PICK else options.prompt,
            greeting=greeting,
            verbose=options.verbose,
        )
        return lines

    with logging_to(log):
        return run_linear(program)


def _stored_blocks(options: "RunOptions", workspace: Path) -> "Sequence[ReplayBlock]":
    from agent_tui.run.early_session import stored_blocks  # 12 ms of CPU, only with a stored session

    return stored_blocks(options, workspace)


def _import_assemble() -> "Callable[..., Awaitable[Core]]":
    from agent_tui.run.assembly import assemble  # 0.3 s of CPU, in a thread after the first paint

    return assemble


def run_headless(options: "RunOptions", workspace: Path, *, piped: str) -> int:
    """Answer one prompt, or those of a stream, without a screen and give the exit code."""
    import asyncio  # 45 ms of CPU that `permissions check` does without
    import sys

    from agent_tui.headless.output import Output, OutputFormat, check_answer_file
    from agent_tui.headless.print_mode import run_print
    from agent_tui.protocol.errors import AgentTuiError, UsageError
    from agent_tui.run.log_file import logging_to

    prompt, beside = options.prompt.strip(), piped.strip()
    if not prompt:
        prompt, beside = beside, ""
    streams = options.input_format == "stream-json"
    if not prompt and not options.resume and not options.continue_last and not streams:
        raise UsageError("no prompt: give it as an argument or on standard input")
    if not prompt and (options.files or options.images):
        raise UsageError("--file and --image go with a prompt: give it as an argument or on standard input")
    if options.output_last_message is not None:
        check_answer_file(options.output_last_message)
    kinds: Mapping[str, OutputFormat] = {"text": "text", "json": "json", "stream-json": "stream-json"}
    output = Output(
        kinds[options.output_format],
        out=sys.stdout,
        err=sys.stderr,
        quiet=options.quiet,
        verbose=options.verbose,
        partial=options.include_partial_messages,
        last_message=options.output_last_message,
    )
    before = _approver(options, workspace, say=output.say)

    async def run() -> int:
        from agent_tui.run.assembly import assemble
        from agent_tui.run.known_tools import RULE_NEEDS_A_LOOK

        core = await assemble(options, workspace, with_screen=False)
        approver = before or await _tool_approver(core, options.permission_prompt_tool, say=output.say)
        for notice in core.notices():
            if not options.quiet or notice.startswith(RULE_NEEDS_A_LOOK):
                output.say(notice)
        try:
            return await answer(core, approver)
        finally:
            if core.rescued:
                output.say(core.rescued)

    from agent_tui.run.named_files import named_in

    async def answer(core: "Core", approver: "Approver") -> int:
        text = prompt
        if prompt:
            try:
                if not streams and (unknown := await core.own.unknown(prompt)):
                    raise UsageError(unknown)
                text = " ".join(filter(None, (prompt, await named_in(core, options))))
            except AgentTuiError:
                await core.aclose()
                raise
        if streams:
            return await _run_stream(core, output, workspace, text)
        if text:
            return int(await run_print(core, text, output=output, approver=approver, beside=beside))
        if not core.waits:
            await core.aclose()
            raise UsageError("no prompt, and nothing in this session waits for an approval")
        recorded = core.recorded_approver(user_paths().state)
        code = await run_print(core, None, output=output, approver=recorded)
        for reason in recorded.refused:
            output.say(reason)
        return int(code)

    with logging_to(user_paths().log):
        return asyncio.run(run())


async def _tool_approver(core: "Core", name: str, *, say: Callable[[str], None]) -> "Approver":
    """Give the tool of an MCP server that answers approvals. Raises UsageError when there is none of that name."""
    from functools import partial

    from agent_tui.headless.tool_approver import ToolApprover
    from agent_tui.protocol.errors import UsageError
    from agent_tui.protocol.near_names import did_you_mean

    names = core.servers.tools()
    if name not in names:
        await core.aclose()
        meant = did_you_mean(name, names) if names else "; no server offers a tool"
        raise UsageError(f"--permission-prompt-tool: there is no {name!r}{meant}")
    return ToolApprover(name, partial(core.servers.ask, name), say=say)


def _approver(options: "RunOptions", workspace: Path, *, say: Callable[[str], None]) -> "Approver | None":
    """Give who answers approvals in a run without a screen, None for a tool. Raises UsageError."""
    from agent_tui.headless.approver import NobodyApprover
    from agent_tui.sessions.approvals import DeferringApprover

    if options.permission_prompt_tool:
        return None
    if options.on_approval == "defer":
        return DeferringApprover()
    if not options.permission_command.strip():
        return NobodyApprover()
    import shlex

    from agent_tui.headless.command_approver import CommandApprover
    from agent_tui.headless.questions import Ground
    from agent_tui.protocol.errors import UsageError

    try:
        command = shlex.split(options.permission_command)
    except ValueError as error:
        raise UsageError(f"--permission-command cannot be read: {error}") from error
    return CommandApprover(command, ground=Ground(workspace, Path.home().resolve()), say=say)


async def _run_stream(core: "Core", output: "Output", workspace: Path, prompt: str) -> int:
    """Run the turns that standard input asks for, its answers to approvals among them."""
    import sys

    from agent_tui.headless.questions import Ground
    from agent_tui.headless.stream_approver import StreamApprover
    from agent_tui.headless.stream_input import lines_of
    from agent_tui.headless.stream_mode import StreamRun

    approver = StreamApprover(output.line, Ground(workspace, Path.home().resolve()))
    run = StreamRun(core, output=output, approver=approver, unknown=core.own.unknown, prompt=prompt)
    return int(await run.run(lines_of(sys.stdin.fileno())))


def run_tools(workspace: Path, *, name: str, arguments: str, batch: str, list_all: bool, yes: bool) -> int:
    """Run the `tool` subcommand and give the exit code."""
    import asyncio  # 45 ms of CPU that `permissions check` does without
    import sys

    from agent_tui.headless.tool_command import KeyboardApprover, list_tools, read_batch, run_calls
    from agent_tui.protocol.errors import UsageError
    from agent_tui.protocol.near_names import did_you_mean
    from agent_tui.protocol.tools import ToolCall
    from agent_tui.run.log_file import logging_to
    from agent_tui.run.options import RunOptions

    if list_all:
        from agent_tui.extensions.trust import TrustStore
        from agent_tui.run.extensions import load_extensions
        from agent_tui.run.ground import load_sources
        from agent_tui.run.settings import loaded_settings

        trusted = TrustStore(user_paths().state).verdict(workspace).trusted
        loaded = loaded_settings(RunOptions(), workspace, trusted=trusted)
        tools, _ = load_sources(loaded, workspace, trusted=trusted)
        load_extensions(loaded.settings, user_paths(), workspace, trusted=trusted)[0].publish(tools)
        list_tools(tools.specs(), out=sys.stdout)
        return 0
    if batch:
        calls = read_batch(batch)
    else:
        calls = [ToolCall(call_id="call", name=name, arguments_json=_checked_object(arguments or "{}"))]

    async def run() -> int:
        from agent_tui.run.tool_rounds import tool_rounds

        approver = KeyboardApprover(yes=yes)
        async with tool_rounds(workspace, approver) as rounds:
            for call in calls:
                if not rounds.tools.owns(call.name):
                    lists = "; 'agent-tui tool --list' lists them"
                    names = [spec.name for spec in rounds.tools.specs()]
                    meant = did_you_mean(call.name, names, otherwise=lists)
                    raise UsageError(f"no tool named {call.name!r}{meant}")
            return int(await run_calls(rounds, approver, calls, out=sys.stdout))

    with logging_to(user_paths().log):
        return asyncio.run(run())


def _checked_object(text: str) -> str:
    """Give `text` back when it is a JSON object, half surrogate pairs replaced. Raises UsageError."""
    from agent_tui.protocol.data import without_half_pairs
    from agent_tui.protocol.errors import UsageError
    from agent_tui.protocol.json_text import parse_json

    try:
        value: object = parse_json(text)
    except ValueError as error:
        raise UsageError(f"--json is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError('--json must be an object, such as \'{"file_path": "README.md"}\'')
    return without_half_pairs(text)


def list_models(options: "RunOptions", workspace: Path) -> Sequence[str]:
    """Ask the chosen provider's server for its models. Raises ProviderError."""
    import asyncio  # 45 ms of CPU that `permissions check` does without

    from agent_tui.providers import connect
    from agent_tui.run.models import provider_spec
    from agent_tui.run.settings import settings_of_a_run

    settings = settings_of_a_run(options, workspace).settings
    return asyncio.run(connect.list_models(provider_spec(settings, user_paths())))


def run_permissions(arguments: Sequence[str]) -> int:
    """Run the `permissions` subcommand and give the exit code."""
    from agent_tui.config.paths import MANAGED_CONFIG
    from agent_tui.permissions.commands import Setup, main, standard_setup
    from agent_tui.permissions.grammar import Layer
    from agent_tui.permissions.sources import RuleFile
    from agent_tui.sandbox.memo import remembered_probe

    def setup(cwd: Path) -> Setup:
        paths = user_paths()
        strength, assumed = remembered_probe(paths.state)
        return standard_setup(
            project=cwd.resolve(),
            home=Path.home().resolve(),
            config_dir=paths.config,
            state_dir=paths.state,
            own=paths.own(),
            strength=strength,
            assumed=assumed,
            extra=[RuleFile(MANAGED_CONFIG, Layer.MANAGED, MANAGED_CONFIG.parent)],
        )

    return main(arguments, setup=setup)


def run_approvals(arguments: Sequence[str]) -> int:
    """Run the `approvals` subcommand and give the exit code."""
    from agent_tui.sessions.approval_commands import main

    paths = user_paths()
    return main(arguments, root=paths.sessions, keys=paths.state)


def run_sessions(arguments: Sequence[str]) -> int:
    """Run the `sessions` subcommand and give the exit code."""
    from agent_tui.sessions.commands import main

    return main(arguments, root=user_paths().sessions)
