"""The subcommand that lists skills and shows one, as the model would find them in a directory."""

import json
from pathlib import Path

import click

from agent_tui.run.options import RunOptions
from agent_tui.subcommands.shared import DIRECTORY


@click.group(help="List the skills there are, and show one.")
def skills() -> None:
    """Group of the commands about skills."""


@skills.command(
    "list", help="List the skills of this directory and yours; what is wrong goes to standard error."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@DIRECTORY
def skills_list(as_json: bool, directory: Path | None) -> int:
    """List the skills; exit 1 when one cannot be used."""
    from agent_tui.run.texts import skill_library

    found = skill_library(RunOptions(directory=directory).enter_directory()).find()
    if as_json:
        rows = [
            {
                "name": skill.name,
                "description": skill.description,
                "origin": skill.origin,
                "path": str(skill.path),
                "argument_hint": skill.argument_hint,
                "for_model": skill.for_model,
                "allowed_tools": skill.allowed_tools,
            }
            for skill in found.skills
        ]
        problems = [str(fault) for fault in found.faults]
        click.echo(json.dumps({"skills": rows, "problems": problems}, ensure_ascii=False))
        return 1 if problems else 0
    width = max((len(skill.name) for skill in found.skills), default=0)
    for skill in found.skills:
        mine = "" if skill.for_model else ", yours only"
        click.echo(f"{skill.name:{width}}  {skill.description} ({skill.origin}{mine})")
    if not found.skills:
        click.echo("There are no skills here. They live in .agents/skills/NAME/SKILL.md.")
    for fault in found.faults:
        click.echo(str(fault), err=True)
    return 1 if found.faults else 0


@skills.command("info", help="Show all there is to know of the skill NAME.")
@click.argument("name")
@DIRECTORY
def skills_info(name: str, directory: Path | None) -> int:
    """Show a skill. Raises UsageError for a name that there is not."""
    from agent_tui.protocol.errors import ToolError, UsageError
    from agent_tui.run.texts import skill_library

    try:
        click.echo(skill_library(RunOptions(directory=directory).enter_directory()).describe(name))
    except ToolError as error:
        raise UsageError(str(error)) from error
    return 0
