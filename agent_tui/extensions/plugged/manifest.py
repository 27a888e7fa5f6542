"""Reads the file that says how an extension of another language is started."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_tui.extensions.plugged.faults import ExtensionFault
from agent_tui.protocol.plain_reasons import first_misfit, unreadable
from agent_tui.protocol.small_file import read_small
from agent_tui.protocol.toml_text import TomlFault, parse_toml
from agent_tui.toolkit.environment import child_environment
from agent_tui.toolkit.programs import find_program

MAX_MANIFEST_BYTES = 65_536


class Manifest(BaseModel):
    """NAME.toml: `command` is the program with its arguments, `env` variables it gets, `inherit` names of the
    person's own variables that it may see although they look like keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: Annotated[tuple[str, ...], Field(min_length=1)]
    env: dict[str, str] = {}
    inherit: tuple[str, ...] = ()


@dataclass(frozen=True)
class Launch:
    """How a process is started: program with arguments, folder, variables."""

    argv: tuple[str, ...]
    cwd: Path
    variables: Mapping[str, str]


def read_manifest(path: Path) -> Manifest:
    """Read a manifest. Raises ExtensionFault."""
    try:
        text = read_small(path)
        if len(text) > MAX_MANIFEST_BYTES:
            raise ExtensionFault(f"has more than {MAX_MANIFEST_BYTES:,} bytes")
        return Manifest.model_validate(parse_toml(text))
    except ValidationError as error:
        raise ExtensionFault(first_misfit(error)) from error
    except TomlFault as error:
        raise ExtensionFault(f"not valid TOML: {error}") from error
    except OSError as error:
        raise ExtensionFault(unreadable(error)) from error
    except ValueError as error:
        raise ExtensionFault(str(error)) from error


def launch_of(manifest: Manifest, folder: Path, workspace: Path) -> Launch:
    """Find the program and put its variables together. Raises ExtensionFault.

    A program with `/` is relative to the manifest's `folder`, another is looked for in PATH outside the workspace.
    """
    program, *arguments = manifest.command
    if "/" in program:
        found = folder / Path(os.path.expanduser(program))
        if not (found.is_file() and os.access(found, os.X_OK)):
            raise ExtensionFault(f"there is no program {program!r}")
    else:
        found = find_program(program, outside=workspace)
        if found is None:
            raise ExtensionFault(f"there is no program {program!r} in PATH")
    variables = dict(child_environment(workspace).variables)
    # A module that Python compiled beside the manifest would change the content a person trusted.
    variables["PYTHONDONTWRITEBYTECODE"] = "1"
    variables.update({name: os.environ[name] for name in manifest.inherit if name in os.environ})
    variables.update(manifest.env)
    return Launch((str(found), *arguments), folder, variables)
