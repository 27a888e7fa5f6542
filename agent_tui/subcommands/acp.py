"""The subcommand that serves an editor."""

from pathlib import Path

import click

from agent_tui.run.options import PROVIDERS, RunOptions
from agent_tui.subcommands.shared import MODE_NAMES, Word


@click.command(
    help="Serve an editor over the Agent Client Protocol on standard input and output. See docs/acp.md."
)
@click.option("-m", "--model", default="", help="The model, as NAME or PROVIDER:NAME.")
@click.option("--provider", type=Word(PROVIDERS), default=None, metavar="NAME")
@click.option("--base-url", default="", help="The server to ask.")
@click.option("--effort", type=Word(["low", "medium", "high", "max"]), default=None)
@click.option("--permission-mode", type=Word(MODE_NAMES), default=None)
@click.option("--max-turns", "max_rounds", type=click.IntRange(min=1), default=None)
@click.option("--max-budget-usd", type=click.FloatRange(min=0, min_open=True), default=None)
@click.option("--max-tokens", type=click.IntRange(min=1), default=None)
@click.option("--allowed-tools", multiple=True, metavar="RULES", help="Rules that allow, as with -p.")
@click.option("--disallowed-tools", multiple=True, metavar="RULES", help="Rules that deny, as with -p.")
@click.option("--append-system-prompt", metavar="TEXT", default="")
@click.option("--mcp-config", multiple=True, metavar="FILE|JSON", help="MCP servers beside the editor's.")
@click.option("--add-dir", "add_dirs", multiple=True, type=click.Path(path_type=Path))
@click.option("--trust", is_flag=True, help="Trust the project's settings, tools and servers for this run.")
def acp(**given: object) -> int:
    """Serve an editor until it closes standard input."""
    from agent_tui.run.acp import run_acp

    return run_acp(RunOptions.from_flags(given))
