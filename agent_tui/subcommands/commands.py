"""The subcommands that are built with click: tool, config, auth, models, doctor, completion."""

import json
import os
from pathlib import Path

import click

from agent_tui.run.options import PROVIDERS, RunOptions
from agent_tui.subcommands.acp import acp
from agent_tui.subcommands.batch import batch
from agent_tui.subcommands.shared import DIRECTORY, Word
from agent_tui.subcommands.skills import skills


@click.command(help="Run one tool without a model and print its result as JSON.")
@click.argument("name", required=False, default="")
@click.option(
    "--json", "arguments", default="", metavar="OBJECT", help="The tool's arguments as a JSON object."
)
@click.option(
    "--batch", default="", metavar="FILE|-", help='JSON lines {"name", "input"}, run in one context.'
)
@click.option("--list", "list_all", is_flag=True, help="Print the names and schemas of all tools.")
@click.option("--yes", is_flag=True, help="Allow what the calls need.")
@DIRECTORY
def tool(name: str, arguments: str, batch: str, list_all: bool, yes: bool, directory: Path | None) -> int:
    """Run tools from a shell."""
    from agent_tui.wiring import run_tools

    workspace = RunOptions(directory=directory).enter_directory()
    if sum([bool(name), bool(batch), list_all]) != 1:
        raise click.UsageError("Name one tool, or give --batch FILE, or --list.")
    return run_tools(workspace, name=name, arguments=arguments, batch=batch, list_all=list_all, yes=yes)


@click.group(help="Show and change settings.")
def config() -> None:
    """Group of the settings commands."""


@config.command("path", help="Print the settings files, weakest first.")
@DIRECTORY
def config_path(directory: Path | None) -> int:
    """Print where settings live."""
    from agent_tui.config.layers import settings_layers
    from agent_tui.config.paths import user_paths

    workspace = RunOptions(directory=directory).enter_directory()
    for layer in settings_layers(user_paths(), workspace, trusted=True):
        click.echo(f"{layer.name:16} {layer.file}{'' if layer.file.exists() else '  (not there)'}")
    return 0


@config.command("get", help="Print one setting, or all of them, with where they come from.")
@click.argument("key", required=False, default="")
@DIRECTORY
def config_get(key: str, directory: Path | None) -> int:
    """Print settings."""
    from agent_tui.protocol.near_names import did_you_mean
    from agent_tui.run.settings import settings_of_a_run

    loaded = settings_of_a_run(RunOptions(), RunOptions(directory=directory).enter_directory())
    values = {
        f"{s}.{n}": v
        for s, table in loaded.settings.model_dump(mode="json").items()
        for n, v in table.items()
    }
    if key and key not in values:
        meant = did_you_mean(key, values, otherwise="; 'agent-tui config get' lists them", end=".")
        raise click.UsageError(f"No setting named {key!r}{meant}")
    for name in [key] if key else values:
        click.echo(f"{name} = {json.dumps(values[name])}  # {loaded.origins.get(name, 'default')}")
    return 0


@config.command("set", help="Write one setting into a settings file; comments stay.")
@click.argument("key")
@click.argument("value")
@click.option("--scope", type=Word(["user", "project", "private"]), default="user", show_default=True)
@DIRECTORY
def config_set(key: str, value: str, scope: str, directory: Path | None) -> int:
    """Change a setting."""
    from agent_tui.subcommands.settings import set_setting

    workspace = RunOptions(directory=directory).enter_directory()
    click.echo(set_setting(key, value, scope=scope, workspace=workspace))
    return 0


@config.command("unset", help="Take one setting out of a settings file; comments stay.")
@click.argument("key")
@click.option("--scope", type=Word(["user", "project", "private"]), default="user", show_default=True)
@DIRECTORY
def config_unset(key: str, scope: str, directory: Path | None) -> int:
    """Let a weaker file, or the default, count again."""
    from agent_tui.subcommands.settings import unset_setting

    workspace = RunOptions(directory=directory).enter_directory()
    click.echo(unset_setting(key, scope=scope, workspace=workspace))
    return 0


@config.command("validate", help="Check the settings files; exit 1 when something is wrong.")
@DIRECTORY
def config_validate(directory: Path | None) -> int:
    """Check settings."""
    from agent_tui.extensions.plain import plain
    from agent_tui.run.found_problems import found_problems

    problems = found_problems(RunOptions(directory=directory).enter_directory())
    for problem in problems:
        click.echo(plain(problem))
    if not problems:
        click.echo("no problems")
        return 0
    click.echo("1 problem" if len(problems) == 1 else f"{len(problems)} problems")
    return 1


@click.group(help="Keep the keys of providers, in the keyring or in a file only you can read.")
def auth() -> None:
    """Group of the key commands."""


@auth.command("set", help="Store the key of PROVIDER; it is asked for, or read from standard input.")
@click.argument("provider")
@click.option("--no-keyring", is_flag=True, help="Use the 0600 file also when there is a keyring.")
def auth_set(provider: str, no_keyring: bool) -> int:
    """Store a key."""
    from agent_tui.providers import kept_keys as keys
    from agent_tui.subcommands.auth import read_key

    keys.refuse_inside()
    keys.checked_provider(provider)
    click.echo(keys.set_key(provider, read_key(), key_file=_key_file(), use_keyring=not no_keyring))
    return 0


@auth.command("status", help="Say for each provider where its key comes from; never the key.")
def auth_status() -> int:
    """List where keys come from."""
    from agent_tui.providers import kept_keys as keys

    for line in keys.status_lines(os.environ, key_file=_key_file()):
        click.echo(line)
    return 0


@auth.command("remove", help="Forget the stored key of PROVIDER.")
@click.argument("provider")
def auth_remove(provider: str) -> int:
    """Forget a key."""
    from agent_tui.providers import kept_keys as keys

    click.echo(keys.forget_key(provider, key_file=_key_file()))
    return 0


def _key_file() -> Path:
    from agent_tui.config.paths import user_paths

    return user_paths().keys


@click.command(help="List the models of the provider in use.")
@click.option("--provider", type=Word(PROVIDERS), default=None)
@click.option("--base-url", default="")
def models(provider: str | None, base_url: str) -> int:
    """List models."""
    from agent_tui.wiring import list_models

    options = RunOptions(provider=provider, base_url=base_url)
    for name in list_models(options, options.enter_directory()):
        click.echo(name)
    return 0


@click.command(help="Check the terminal, the sandbox, programs, keys, settings, and what is plugged in.")
@click.option("--json", "as_json", is_flag=True)
@DIRECTORY
def doctor(as_json: bool, directory: Path | None) -> int:
    """Check the machine; exit 1 when something needs attention. What works as it is, and could be better, is a hint."""
    from agent_tui.extensions.plain import plain
    from agent_tui.run.doctor import examine

    checks = examine(RunOptions(directory=directory).enter_directory())
    if as_json:
        click.echo(json.dumps([check.__dict__ for check in checks], ensure_ascii=False))
    else:
        for check in checks:
            click.echo(plain(f"{check.mark:4} {check.name}: {check.text}"))
    return 0 if all(check.ok for check in checks) else 1


@click.command(help="Print the completion script for a shell.")
@click.argument("shell", type=Word(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print a completion script."""
    from click.shell_completion import get_completion_class

    from agent_tui.subcommands.root import root_command

    kind = get_completion_class(shell)
    assert kind is not None  # the choice above lists only shells that click knows
    click.echo(kind(root_command(lambda _options: 0), {}, "agent-tui", "_AGENT_TUI_COMPLETE").source())
    return 0


@click.command(
    help="Show the program in a browser on this machine. Flags after -- are those of each page's program."
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; a free one by default.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@DIRECTORY
def serve(port: int, flags: tuple[str, ...], directory: Path | None) -> int:
    """Serve pages on loopback."""
    from agent_tui.subcommands.serve import serve as serve_here

    workspace = RunOptions(directory=directory).enter_directory()
    serve_here(flags, port=port, workspace=workspace, tell=click.echo)
    return 0


COMMANDS: dict[str, click.Command] = {
    "tool": tool,
    "config": config,
    "auth": auth,
    "models": models,
    "doctor": doctor,
    "serve": serve,
    "completion": completion,
    "acp": acp,
    "batch": batch,
    "skills": skills,
}


def run_subcommand(name: str, arguments: list[str]) -> int:
    """Run the subcommand `name` and give its exit code."""
    done: object = COMMANDS[name].main(arguments, prog_name=f"agent-tui {name}", standalone_mode=False)
    return done if isinstance(done, int) else 0
