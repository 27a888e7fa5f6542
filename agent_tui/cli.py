"""The command line: arguments, subcommands, exit codes."""

import errno
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from agent_tui.run.in_browser import in_browser
from agent_tui.run.options import EVERYTHING, PICK, RunOptions
from agent_tui.run.standard_streams import reader_left, refusal
from agent_tui.ui.instant import NO_SCREEN
from agent_tui.ui.opening import asks_for_lines

if TYPE_CHECKING:
    from click import ClickException, Command

    from agent_tui.ui.instant import InstantPrompt

COMPLETE_VARIABLE = "_AGENT_TUI_COMPLETE"
"""Set where a shell asks for completions: by the scripts of `agent-tui completion`."""
USAGE_ERROR = 2
FAILED = 1
INTERRUPTED = 130
UNREAD = 141
"""Standard output has no reader any more, as behind `| head`: what a shell says of a program that SIGPIPE ended."""


def main(argv: Sequence[str] | None = None, *, drawn: "InstantPrompt | None" = None) -> int:
    """Run the program and give its exit code. No traceback reaches a person: it goes to the log.

    `drawn` is the prompt that stands on the terminal already; unless the screen takes it over it is taken away.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    threading.excepthook = _keep_fault_of_thread
    if arguments in (["--version"], ["-v"]):
        return guarded(_show_version)
    return guarded(lambda: _dispatch_over(drawn, arguments))


def _show_version() -> int:
    from agent_tui.protocol.version import version_line

    print(version_line())
    return 0


def _keep_fault_of_thread(fault: threading.ExceptHookArgs) -> None:
    """Write down what ended a thread. There may be a full screen: nothing is printed."""
    if isinstance(fault.exc_value, Exception):
        _write_down(fault.exc_value)


def _write_down(error: Exception) -> str:
    from agent_tui.config.paths import user_paths
    from agent_tui.ui.crash import write_crash

    return write_crash(user_paths().log, error)


def guarded(run: Callable[[], int]) -> int:
    """Run `run` and turn every error into one sentence on standard error and an exit code."""
    from agent_tui.protocol.errors import AgentTuiError, SessionInUseError, UsageError

    try:
        code = run()
        unwritten = refusal(sys.stdout)
        return code if unwritten is None else _refused_output(unwritten)
    except SessionInUseError as error:
        return _say(str(error), 75)
    except UsageError as error:
        return _say(str(error), USAGE_ERROR)
    except AgentTuiError as error:
        return _say(str(error), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit:  # the help of the commands that read their own arguments
        if (unwritten := refusal(sys.stdout)) is not None:
            return _refused_output(unwritten)
        raise
    except Exception as error:
        if _is_broken_pipe(error) and reader_left(sys.stdout):
            refusal(sys.stdout)
            return UNREAD
        if isinstance(error, OSError) and (unwritten := refusal(sys.stdout)) is not None:
            return _refused_output(unwritten)
        # a fault of ours: one sentence for the person, the traceback for the log
        return _say(_write_down(error), FAILED, who="")
    finally:
        refusal(sys.stderr)


def _is_broken_pipe(error: Exception) -> bool:
    if isinstance(error, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", error)
        return all(map(_is_broken_pipe, group.exceptions))
    return isinstance(error, BrokenPipeError)


def _refused_output(error: OSError) -> int:
    if isinstance(error, BrokenPipeError):
        return UNREAD
    way_out = "send it elsewhere, or free some space" if error.errno == errno.ENOSPC else "send it elsewhere"
    return _say(f"standard output cannot be written: {error.strerror}; {way_out}", FAILED)


MOST_SAID = 2_000
"""Characters of a sentence: a value of megabytes that it repeats must not push the reason off the screen."""


def _say(text: str, code: int, *, who: str = "agent-tui: ") -> int:
    if len(text) > MOST_SAID:
        text = f"{text[: MOST_SAID // 2]} [...] {text[-MOST_SAID // 2 :]}"
    with suppress(OSError):  # nobody to tell; the exit code says it
        print(f"{who}{_shown(text)}", file=sys.stderr)
    return code


def _shown(text: str) -> str:
    """Escape what a terminal would act on. Lines stay lines."""
    return "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)


def _dispatch_over(drawn: "InstantPrompt | None", arguments: list[str]) -> int:
    try:
        return _dispatch(arguments, drawn)
    finally:
        give_back(drawn)


def give_back(drawn: "InstantPrompt | None") -> None:
    """Take away a prompt that the program did not take over, and print what was typed into it."""
    if drawn is not None and (typed := drawn.restore()):
        print(f"Typed and not sent:\n{typed}", file=sys.stderr)


def _dispatch(arguments: list[str], drawn: "InstantPrompt | None" = None) -> int:
    if COMPLETE_VARIABLE in os.environ:
        from agent_tui.subcommands.completion import complete

        return complete(COMPLETE_VARIABLE)
    if not arguments:
        return _start(RunOptions(), drawn)  # click, 12 ms of CPU, would read nothing
    name = arguments[0]
    if name in PLAIN:
        RunOptions().enter_directory()  # says so where there is none
        return PLAIN[name](arguments[1:])
    if name == "resume":
        arguments = _resume_flags(arguments[1:])
    elif name in ("exec", "run"):  # what other agents call -p
        arguments = ["--print", *arguments[1:]]
    # its value is joined by "=" only: the word behind it is the prompt
    arguments = [f"--debug={EVERYTHING}" if word == "--debug" else word for word in arguments]
    import click

    from agent_tui.subcommands.commands import COMMANDS, run_subcommand
    from agent_tui.subcommands.root import root_command

    try:
        if name in COMMANDS:
            return run_subcommand(name, arguments[1:])
        root = root_command(lambda options: _start(options, drawn), _subcommands)
        done: object = root.main(arguments, prog_name="agent-tui", standalone_mode=False)
        return done if isinstance(done, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:  # its message is the help of the subcommand
        print(error.format_message(), file=sys.stderr)
        return USAGE_ERROR
    except click.ClickException as error:
        give_back(drawn)
        return _say(_refusal(error), USAGE_ERROR)
    except click.Abort:
        return INTERRUPTED
    except SystemExit:  # how click ends when nobody reads
        if reader_left(sys.stdout):
            return UNREAD
        raise


def _subcommands() -> "Mapping[str, Command]":
    from agent_tui.subcommands.completion import command_tree

    return command_tree().commands


def _refusal(error: "ClickException") -> str:
    """Say in one line what cannot be used, and whose help tells what can."""
    from click import UsageError

    said = " ".join(error.format_message().split())
    of = error.ctx.command_path if isinstance(error, UsageError) and error.ctx else "agent-tui"
    return f"{said}{'' if said.endswith(('.', ')', '?')) else '.'} Try '{of} --help'."


def _resume_flags(arguments: list[str]) -> list[str]:
    """Give the flags that `agent-tui resume [ID] [flags]` stands for."""
    named = bool(arguments) and not arguments[0].startswith("-")
    return ["--resume", arguments[0], *arguments[1:]] if named else [f"--resume={PICK}", *arguments]


def _permissions(arguments: list[str]) -> int:
    from agent_tui.wiring import run_permissions

    return run_permissions(arguments)


def _sessions(arguments: list[str]) -> int:
    from agent_tui.wiring import run_sessions

    return run_sessions(arguments)


def _approvals(arguments: list[str]) -> int:
    from agent_tui.wiring import run_approvals

    return run_approvals(arguments)


def _mcp(arguments: list[str]) -> int:
    from agent_tui.run.mcp_servers import run_mcp

    return run_mcp(arguments)


# They read their own arguments: importing click costs `permissions check` 33 ms of its 250.
PLAIN: dict[str, Callable[[list[str]], int]] = {
    "permissions": _permissions,
    "sessions": _sessions,
    "mcp": _mcp,
    "approvals": _approvals,
}


def _check_session_flags(options: RunOptions) -> None:
    """Refuse flags that mean nothing together. Raises UsageError."""
    earlier = bool(options.resume or options.continue_last)
    if options.fork_session and not earlier:
        raise _usage("--fork-session needs -c or -r: there is nothing to copy otherwise")
    if options.session_id and earlier:
        raise _usage("--session-id is for a new session; leave out -c and -r")
    if options.print_mode and options.resume == PICK:
        raise _usage("name the session: -p --resume ID")


def _check_answer_flags(options: RunOptions) -> None:
    """Refuse ways of answering approvals that exclude each other. Raises UsageError."""
    streams = options.input_format == "stream-json"
    if streams and (not options.print_mode or options.output_format != "stream-json"):
        raise _usage("--input-format stream-json needs -p and --output-format stream-json")
    ways = {
        "--input-format stream-json": streams,
        "--permission-command": bool(options.permission_command),
        "--permission-prompt-tool": bool(options.permission_prompt_tool),
        "--on-approval defer": options.on_approval == "defer",
    }
    chosen = [flag for flag, on in ways.items() if on]
    if len(chosen) > 1:
        raise _usage(f"choose one of {' and '.join(chosen)}: each answers approvals")
    if chosen and chosen[0].startswith("--permission") and not options.print_mode:
        raise _usage(f"{chosen[0]} needs -p")


def _check_theme(name: str) -> None:
    """Refuse a theme that there is not. Raises UsageError."""
    from agent_tui.config.paths import user_paths
    from agent_tui.extensions.bundled import themes_dir
    from agent_tui.protocol.near_names import did_you_mean
    from agent_tui.ui.theme_files import theme_names

    names = theme_names((themes_dir(), user_paths().user_themes))
    if name.strip().lower() not in names:
        raise _usage(f"--theme: there is no theme {name!r}{did_you_mean(name, names)}")


def _start(options: RunOptions, drawn: "InstantPrompt | None" = None) -> int:
    _check_session_flags(options)
    _check_answer_flags(options)
    if options.theme:
        _check_theme(options.theme)
    _check_for_a_mistyped_subcommand(options)
    workspace = options.enter_directory()
    if options.debug or options.debug_file is not None:
        from agent_tui.run.debug_log import begin_debug_log

        begin_debug_log(options)
    if not options.print_mode and (options.json_schema or options.output_last_message is not None):
        raise _usage("--json-schema and --output-last-message need -p PROMPT")
    if options.print_mode:
        from agent_tui.run.piped import piped_text
        from agent_tui.wiring import run_headless

        piped = "" if options.input_format == "stream-json" else piped_text(sys.stdin)
        return run_headless(options, workspace, piped=piped)
    if in_browser():
        from agent_tui.wiring import run_screen

        return run_screen(options, workspace)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise _usage("no terminal here; use -p PROMPT for a run without a screen")
    term = os.environ.get("TERM", "")
    if options.screen_reader or options.no_alt_screen or asks_for_lines(os.environ) or term in NO_SCREEN:
        from agent_tui.wiring import run_lines

        give_back(drawn)
        why = (
            f"No full screen is possible with TERM={term!r}, so this is it in lines."
            if term in NO_SCREEN
            else ""
        )
        return run_lines(options, workspace, greeting=why)
    from agent_tui.wiring import run_screen

    return run_screen(options, workspace, drawn=drawn)


def _check_for_a_mistyped_subcommand(options: RunOptions) -> None:
    """A single word that is nearly a subcommand is no prompt. Raises UsageError."""
    word = options.prompt
    if options.print_mode or not word.isalpha():
        return
    from agent_tui.protocol.near_names import slips
    from agent_tui.subcommands.commands import COMMANDS

    close = slips(word, [*COMMANDS, *PLAIN], most=1, likeness=0.8)
    if close:
        raise _usage(f"no subcommand {word!r}; did you mean {close[0]!r}? As a prompt: agent-tui -p {word}")


def _usage(text: str) -> Exception:
    from agent_tui.protocol.errors import UsageError

    return UsageError(text)
