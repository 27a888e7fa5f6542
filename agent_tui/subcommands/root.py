"""The flags of the program itself, as click reads them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import click

from agent_tui import __version__
from agent_tui.run.options import PICK, PROVIDERS, RunOptions
from agent_tui.subcommands.shared import MODE_NAMES, Word

_HELP_CHARS = 200


class _Root(click.Command):
    """The program's own command; its help ends with the subcommands, which are parsed elsewhere."""

    subcommands: Callable[[], Mapping[str, click.Command]] = dict[str, click.Command]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each subcommand with what it does."""
        commands = sorted(self.subcommands().items())
        with formatter.section("Subcommands"):
            formatter.write_dl([(name, one.get_short_help_str(_HELP_CHARS)) for name, one in commands])
        formatter.write_paragraph()
        formatter.write_text("'agent-tui SUBCOMMAND --help' tells more.")


def _themes(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    from agent_tui.config.paths import user_paths
    from agent_tui.conversation.known_words import known_words

    return [name for name in known_words("ui.theme", user_paths()) or () if name.startswith(begun)]


def root_command(
    start: Callable[[RunOptions], int], subcommands: Callable[[], Mapping[str, click.Command]] | None = None
) -> click.Command:
    """Build the command of the program itself, the screen or -p; `start` gets its options and gives the exit code.

    `subcommands` gives what its help lists; they are many, so it is called for the help only.
    """

    @click.command(cls=_Root, context_settings={"help_option_names": ["-h", "--help"]})
    @click.argument("prompt", required=False, default="")
    @click.option("-p", "--print", "print_mode", is_flag=True, help="Answer PROMPT and end; no screen.")
    @click.option(
        "--output-format",
        type=Word(["text", "json", "stream-json"]),
        default="text",
        show_default=True,
        help="With -p: what standard output carries.",
    )
    @click.option(
        "--input-format",
        type=Word(["text", "stream-json"]),
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
    @click.option(
        "--permission-prompt-tool",
        metavar="TOOL",
        default="",
        help="With -p: a tool of an MCP server that answers approvals, as mcp__SERVER__TOOL.",
    )
    @click.option("--include-partial-messages", is_flag=True, help="With stream-json: deltas as they come.")
    @click.option("-q", "--quiet", is_flag=True, help="With -p: no progress on standard error.")
    @click.option("--verbose", is_flag=True, help="Show thinking, arguments and whole results as they come.")
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
        type=Word(["deny", "defer"]),
        default="deny",
        show_default=True,
        help="With -p: what happens to calls that would ask. Deferred ones wait for 'agent-tui approvals'.",
    )
    @click.option("--agent", metavar="NAME", default="", help="Be this agent: its prompt, tools and model.")
    @click.option("-m", "--model", default="", help="The model, as NAME or PROVIDER:NAME.")
    @click.option(
        "--provider",
        type=Word(PROVIDERS),
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
    @click.option(
        "--effort",
        "--thinking",
        type=Word(["low", "medium", "high", "max"]),
        default=None,
        help="How much the model thinks.",
    )
    @click.option(
        "--permission-mode", type=Word(MODE_NAMES), default=None, help="What is asked and what runs unasked."
    )
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
        "--max-turns",
        "max_rounds",
        type=click.IntRange(min=1),
        default=None,
        help="Rounds of tool calls before it stops.",
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
    @click.option(
        "--system-prompt-file", type=click.Path(path_type=Path), default=None, help="The same from a file."
    )
    @click.option("--append-system-prompt", metavar="TEXT", default="", help="Text behind the system prompt.")
    @click.option(
        "--append-system-prompt-file",
        type=click.Path(path_type=Path),
        default=None,
        help="The same from a file.",
    )
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
    @click.option(
        "-C",
        "--cd",
        "--work-dir",
        "directory",
        type=click.Path(path_type=Path),
        default=None,
        help="Work in this directory.",
    )
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
    @click.option("--sandbox", type=Word(["auto", "off"]), default=None, help="How commands are confined.")
    @click.option("--settings", metavar="FILE|JSON", default="", help="More settings for this run.")
    @click.option(
        "--config", metavar="KEY=VALUE", multiple=True, help="One setting for this run; may be repeated."
    )
    @click.option(
        "--profile", metavar="NAME", default="", help="Lay [profiles.NAME] of the settings over the rest."
    )
    @click.option(
        "--setting-sources",
        metavar="LIST",
        default=None,
        help="The settings files that count, of user, project, private; the others only tighten.",
    )
    @click.option(
        "--bare",
        is_flag=True,
        help="No project settings, hooks, extensions, tools, servers, skills, commands or instruction files.",
    )
    @click.option("--safe-mode", is_flag=True, help="Leave out what of yours and the project runs code.")
    @click.option("--theme", default="", help="The theme for this run.", shell_complete=_themes)
    @click.option(
        "--screen-reader",
        is_flag=True,
        help="Plain lines with labels and numbered choices; no full screen. AGENT_TUI_SCREEN_READER=1 does so for all runs.",
    )
    @click.option("--no-alt-screen", is_flag=True, help="Plain lines that stay in the terminal's scrollback.")
    @click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
    @click.option("--no-color", is_flag=True, help="Use no colours, as with NO_COLOR=1.")
    @click.option(
        "--mcp-config", multiple=True, metavar="FILE|JSON", help="MCP servers of this run; may be repeated."
    )
    @click.option("--strict-mcp-config", is_flag=True, help="No MCP servers but those of --mcp-config.")
    @click.option("--trust", is_flag=True, help="Trust this project's settings and tools for this run.")
    @click.option(
        "--debug",
        metavar="[=PARTS]",
        default="",
        help="Write what happens to the log; PARTS such as providers,mcp or '!events' limit it.",
    )
    @click.option(
        "--debug-file",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        default=None,
        help="Write it to FILE instead.",
    )
    @click.version_option(
        __version__, "-v", "--version", prog_name="agent-tui", message="%(prog)s %(version)s"
    )
    def root(**given: object) -> int:
        """Open the terminal coding agent in this directory, or answer PROMPT with -p.

        Text on standard input is added to the prompt as context.
        """
        return start(RunOptions.from_flags(given))

    if subcommands is not None:
        root.subcommands = subcommands
    return root
