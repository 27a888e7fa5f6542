"""The subcommand that runs many tasks."""

import os
from pathlib import Path
from typing import Any

import click

from agent_tui.run.options import MODES, PROVIDERS, RunOptions
from agent_tui.subcommands.shared import MODE_NAMES, Word

_EPILOG = (
    'A line of TASKS is {"id": ..., "prompt": ...} and may say for itself what the options say for all. '
    "Run it again to go on where it stopped. See docs/batch.md."
)


@click.command(
    help="Run the tasks of TASKS (JSON lines), each without a screen in a git worktree of its own.",
    epilog=_EPILOG,
)
@click.argument("tasks", type=click.Path(path_type=Path, dir_okay=False))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE")
@click.option(
    "-C", "--cd", "directory", type=click.Path(path_type=Path), default=None, help="The repository."
)
@click.option("-j", "--jobs", type=click.IntRange(1, 256), default=max(1, (os.cpu_count() or 2) // 2))
@click.option("--engine", type=Word(["local", "dask", "ray"]), default="local", show_default=True)
@click.option("--scheduler", "address", default="", metavar="ADDRESS", help="A running Dask or Ray cluster.")
@click.option("--retries", type=click.IntRange(0, 20), default=2, show_default=True)
@click.option("--base", default="", metavar="COMMIT", help="Where the worktrees begin; HEAD without it.")
@click.option("-m", "--model", default="")
@click.option("--provider", type=Word(PROVIDERS), default=None, metavar="NAME")
@click.option("--base-url", default="")
@click.option("--effort", type=Word(["low", "medium", "high", "max"]), default=None)
@click.option("--permission-mode", type=Word(MODE_NAMES), default=None)
@click.option("--on-approval", type=Word(["defer", "deny"]), default=None)
@click.option("--max-turns", type=click.IntRange(min=1), default=None)
@click.option("--max-tokens", type=click.IntRange(min=1), default=None)
@click.option(
    "--max-budget-usd", type=click.FloatRange(min=0, min_open=True), default=None, help="For each task."
)
@click.option("--timeout-s", type=click.FloatRange(min=0, min_open=True), default=None, help="For each task.")
@click.option("--tools", default=None, metavar="NAMES")
@click.option("--allowed-tools", multiple=True, metavar="RULES")
@click.option("--disallowed-tools", multiple=True, metavar="RULES")
@click.option("--append-system-prompt", default="", metavar="TEXT")
@click.option(
    "--trust", is_flag=True, help="Trust the repositories: their settings, tools, servers, git filters."
)
@click.option("--again", is_flag=True, help="Run tasks that failed or took too long again.")
@click.option("--clean", is_flag=True, help="Give up the tasks that wait for approvals and end.")
@click.option("-q", "--quiet", is_flag=True)
def batch(tasks: Path, output: Path | None, directory: Path | None, **given: Any) -> int:
    """Run a batch and give the worst exit code of its tasks."""
    from agent_tui.headless.batch.run import BatchOptions, run_batch
    from agent_tui.headless.batch.tasks import TaskDefaults

    tasks, output = tasks.absolute(), output.absolute() if output else None
    repository = RunOptions(directory=directory).enter_directory()
    own = {
        name: given.pop(name)
        for name in ("jobs", "engine", "address", "retries", "trust", "clean", "again", "quiet")
    }
    mode = given.pop("permission_mode")
    given["permission_mode"] = MODES.get(mode or "", mode)
    defaults = TaskDefaults(**{name: value for name, value in given.items() if value is not None})
    return int(run_batch(BatchOptions(tasks, output, repository, defaults, **own)))
