"""The command line: arguments, subcommands, exit codes."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui import __version__
from agent_tui.run.in_browser import in_browser
from agent_tui.run.options import PICK, PROVIDERS, RunOptions
from agent_tui.ui.instant import NO_SCREEN
from agent_tui.ui.opening import asks_for_lines

if TYPE_CHECKING:  # 33 ms that --version need not wait for
    import click

    from agent_tui.ui.instant import InstantPrompt

USAGE_ERROR = 2
FAILED = 1
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None, *, drawn: "InstantPrompt | None" = None) -> int:
    """Run the program and give its exit code. No traceback reaches a person: it goes to the log.

    `drawn` is the prompt that stands on the terminal already; unless the screen takes it over it is taken away.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-v"]):
        from agent_tui.subcommands.version import version_line

        print(version_line())
        return 0
    return guarded(lambda: _dispatch_over(drawn, arguments))


def guarded(run: Callable[[], int]) -> int:
    """Run `run` and turn every error into one sentence on standard error and an exit code."""
    from agent_tui.protocol.errors import AgentTuiError, SessionInUseError, UsageError

    try:
        return run()
    except SessionInUseError as error:
        return _say(str(error), 75)
    except UsageError as error:
        return _say(str(error), USAGE_ERROR)
    except AgentTuiError as error:
        return _say(str(error), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe left; point stdout elsewhere so that the interpreter's last flush is silent.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _say(text: str, code: int) -> int:
    print(f"agent-tui: {text}", file=sys.stderr)
    return code


def _dispatch_over(drawn: "InstantPrompt | None", arguments: list[str]) -> int:
    try:
        return _dispatch(arguments, drawn)
    finally:
        if drawn is not None:
            drawn.restore()


def _dispatch(arguments: list[str], drawn: "InstantPrompt | None" = None) -> int:
    name = arguments[0] if arguments else ""
    if name in PLAIN:
        return PLAIN[name](arguments[1:])
    if name == "resume":
        arguments = _resume_flags(arguments[1:])
    elif name in ("exec", "run"):  # what other agents call -p
        arguments = ["--print", *arguments[1:]]
    import click

    from agent_tui.subcommands.commands import COMMANDS, run_subcommand

    try:
        if name in COMMANDS:
            return run_subcommand(name, arguments[1:])
        done: object = root_command(drawn).main(arguments, prog_name="agent-tui", standalone_mode=False)
        return done if isinstance(done, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        if drawn is not None:
            drawn.restore()
        return _say(f"{error.format_message()} Try 'agent-tui --help'.", USAGE_ERROR)
    except click.Abort:
        return INTERRUPTED


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


def root_command(drawn: "InstantPrompt | None" = None) -> "click.Command":
    """Build the command of the program itself: the screen, or -p."""
    import click

    mode_names = [
        "default",
        "accept-edits",
        "acceptEdits",
        "plan",
        "auto",
        "dont-ask",
        "dontAsk",
        "bypass",
        "bypassPermissions",
    ]

    @click.command(context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
    @click.argument("prompt", required=False, default="")
    @click.option("-p", "--print", "print_mode", is_flag=True, help="Answer PROMPT and end; no screen.")
    @click.option(
        "--output-format",
        type=click.Choice(["text", "json", "stream-json"]),
        default="text",
        show_default=True,
    )
    @click.option(
        "--input-format",
        type=click.Choice(["text", "stream-json"]),
        default="text",
        show_default=True,
        help="With stream-json in and out: prompts and answers to approvals as lines on standard input.",
    )
    @click.option(
        "--permission-command",
        metavar="CMD",
        default="",
        help="With -p: a program that answers approvals, one JSON object in, one out.",
    )
    @click.option("--include-partial-messages", is_flag=True, help="With stream-json: deltas as they come.")
    @click.option("-q", "--quiet", is_flag=True, help="With -p: no progress on standard error.")
    @click.option(
        "-c", "--continue", "continue_last", is_flag=True, help="Open the last session of this directory."
    )
    @click.option(
        "-r",
        "--resume",
        metavar="[ID]",
        is_flag=False,
        flag_value=PICK,
        default="",
        help="Open a session by id, its beginning, or its name; without one, pick it.",
    )
    @click.option("--fork-session", is_flag=True, help="With -c or -r: go on in a copy of the session.")
    @click.option("--session-id", default="", metavar="ID", help="The id of the new session.")
    @click.option(
        "--on-approval",
        type=click.Choice(["deny", "defer"]),
        default="deny",
        show_default=True,
        help="With -p: what happens to calls that would ask. Deferred ones wait for 'agent-tui approvals'.",
    )
    @click.option("-m", "--model", default="", help="The model, as NAME or PROVIDER:NAME.")
    @click.option(
        "--provider",
        type=click.Choice(PROVIDERS),
        default=None,
        metavar="NAME",
        help=f"One of {', '.join(PROVIDERS)}.",
    )
    @click.option("--base-url", default="", help="The server to ask.")
    @click.option(
        "--fallback-model",
        metavar="A,B",
        default="",
        help="Models that take over when the first is overloaded.",
    )
    @click.option("--effort", "--thinking", type=click.Choice(["low", "medium", "high", "max"]), default=None)
    @click.option("--permission-mode", type=click.Choice(mode_names), default=None)
    @click.option("--plan", is_flag=True, help="Start in plan mode.")
    @click.option(
        "--yolo",
        "--dangerously-skip-permissions",
        "bypass",
        is_flag=True,
        help="Ask nothing; deny rules hold.",
    )
    @click.option("--afk", is_flag=True, help="Deny whatever would ask.")
    @click.option(
        "--max-turns", type=click.IntRange(min=1), default=None, help="Rounds of tool calls before it stops."
    )
    @click.option(
        "--max-budget-usd",
        type=click.FloatRange(min=0, min_open=True),
        default=None,
        help="Money for the session; it pauses there.",
    )
    @click.option(
        "--max-tokens", type=click.IntRange(min=1), default=None, help="Tokens for the session, in and out."
    )
    @click.option(
        "--system-prompt", metavar="TEXT", default="", help="Text in the place of the system prompt."
    )
    @click.option("--system-prompt-file", type=click.Path(path_type=Path), default=None)
    @click.option("--append-system-prompt", metavar="TEXT", default="", help="Text behind the system prompt.")
    @click.option("--append-system-prompt-file", type=click.Path(path_type=Path), default=None)
    @click.option(
        "--json-schema",
        metavar="FILE|JSON",
        default="",
        help="With -p: the answer is JSON that follows this schema.",
    )
    @click.option(
        "-o",
        "--output-last-message",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        default=None,
        help="With -p: write the answer to FILE too.",
    )
    @click.option(
        "--allowed-tools",
        "--allow-tool",
        "allowed_tools",
        multiple=True,
        metavar="RULES",
        help="Rules that allow, such as 'Bash(git *), Edit(/src/**)'.",
    )
    @click.option(
        "--disallowed-tools",
        "--deny-tool",
        "disallowed_tools",
        multiple=True,
        metavar="RULES",
        help="Rules that deny; a bare name takes the tool away.",
    )
    @click.option("--tools", metavar="NAMES", default=None, help="The only tools the model gets.")
    @click.option("-n", "--name", default="", help="A name for the session.")
    @click.option(
        "--no-session-persistence", "--ephemeral", "ephemeral", is_flag=True, help="Keep nothing on disk."
    )
    @click.option("-C", "--cd", "--work-dir", "directory", type=click.Path(path_type=Path), default=None)
    @click.option(
        "--add-dir", "add_dirs", multiple=True, type=click.Path(path_type=Path), help="One more directory."
    )
    @click.option(
        "-f",
        "--file",
        "files",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Attach a file to PROMPT.",
    )
    @click.option(
        "-i",
        "--image",
        "images",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Attach an image to PROMPT.",
    )
    @click.option(
        "--sandbox", type=click.Choice(["auto", "off"]), default=None, help="How commands are confined."
    )
    @click.option("--settings", metavar="FILE|JSON", default="", help="More settings for this run.")
    @click.option(
        "--config", metavar="KEY=VALUE", multiple=True, help="One setting for this run; may be repeated."
    )
    @click.option("--theme", default="", help="The theme for this run.")
    @click.option(
        "--screen-reader",
        is_flag=True,
        help="Plain lines with labels and numbered choices; no full screen. AGENT_TUI_SCREEN_READER=1 does so for all runs.",
    )
    @click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
    @click.option("--no-color", is_flag=True, help="Use no colours, as with NO_COLOR=1.")
    @click.option(
        "--mcp-config", multiple=True, metavar="FILE|JSON", help="MCP servers of this run; may be repeated."
    )
    @click.option("--strict-mcp-config", is_flag=True, help="No MCP servers but those of --mcp-config.")
    @click.option("--trust", is_flag=True, help="Trust this project's settings and tools for this run.")
    @click.version_option(
        __version__, "-v", "--version", prog_name="agent-tui", message="%(prog)s %(version)s"
    )
    def root(**given: object) -> int:
        """Open the terminal coding agent in this directory, or answer PROMPT with -p.

        Text on standard input is added to the prompt as context.
        """
        return _start(RunOptions.from_flags(given), drawn)

    return root


_EPILOG = (
    "Subcommands: exec (or run, the same as -p), tool, sessions, resume, approvals, permissions, mcp, skills, config, models, doctor, serve, acp, batch, "
    "completion. 'agent-tui SUBCOMMAND --help' tells more."
)


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
    if options.permission_command and not options.print_mode:
        raise _usage("--permission-command needs -p")
    ways = [streams, bool(options.permission_command), options.on_approval == "defer"]
    if sum(ways) > 1:
        raise _usage("choose one of --input-format stream-json, --permission-command and --on-approval defer")


def _start(options: RunOptions, drawn: "InstantPrompt | None" = None) -> int:
    _check_session_flags(options)
    _check_answer_flags(options)
    _check_for_a_mistyped_subcommand(options)
    workspace = options.enter_directory()
    if not options.print_mode and (options.json_schema or options.output_last_message is not None):
        raise _usage("--json-schema and --output-last-message need -p PROMPT")
    if options.print_mode:
        from agent_tui.wiring import run_headless

        piped = "" if options.input_format == "stream-json" else _piped_text()
        return run_headless(options, workspace, piped=piped)
    if in_browser():
        from agent_tui.wiring import run_screen

        return run_screen(options, workspace)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise _usage("no terminal here; use -p PROMPT for a run without a screen")
    term = os.environ.get("TERM", "")
    if options.screen_reader or asks_for_lines(os.environ) or term in NO_SCREEN:
        from agent_tui.wiring import run_lines

        if drawn is not None:
            drawn.restore()
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
    import difflib

    from agent_tui.subcommands.commands import COMMANDS

    word = options.prompt
    if options.print_mode or not word.isalpha():
        return
    close = difflib.get_close_matches(word, [*COMMANDS, *PLAIN], n=1, cutoff=0.8)
    if close:
        raise _usage(f"no subcommand {word!r}; did you mean {close[0]!r}? As a prompt: agent-tui -p {word}")


def _usage(text: str) -> Exception:
    from agent_tui.protocol.errors import UsageError

    return UsageError(text)


MAX_PIPED_BYTES = 10_000_000


def _piped_text() -> str:
    """Read what is piped in, "" at a terminal or when nothing is connected."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison]  # None under pythonw and closed descriptors
        return ""
    data = sys.stdin.buffer.read(MAX_PIPED_BYTES + 1)
    if len(data) > MAX_PIPED_BYTES:
        raise _usage(f"more than {MAX_PIPED_BYTES:,} bytes on standard input; put them in a file and name it")
    return data.decode("utf-8", errors="replace")
