"""Says how a server's program is started: which file, in which folder, with which variables. Starts nothing."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.toolkit.environment import child_environment

INHERITED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "USER", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"),
)


@dataclass(frozen=True)
class Launch:
    """How a server is started."""

    program: str
    cwd: Path
    variables: Mapping[str, str]


def launch_of(spec: ServerSpec, workspace: Path, environ: Mapping[str, str]) -> Launch:
    """Find the program of a server: a path relative to its folder, or a name in PATH outside the workspace.

    It sees a short list of variables, and what is configured for it. No key of ours is among them. Raises ServerFault.
    """
    cwd = workspace / Path(os.path.expanduser(spec.cwd))
    base = {name: environ[name] for name in INHERITED if name in environ}
    variables = {**child_environment(workspace, base=base).variables, **spec.env, "AGENT_TUI_CHILD": "1"}
    path = variables.get("PATH", os.defpath)
    return Launch(_find_command(spec.command, cwd=cwd, workspace=workspace, path=path), cwd, variables)


def _find_command(command: str, *, cwd: Path, workspace: Path, path: str) -> str:
    if "/" in command:
        program = cwd / Path(os.path.expanduser(command))
        if not (program.is_file() and os.access(program, os.X_OK)):
            raise ServerFault(f"there is no program {command!r}", lasting=True)
        return str(program)
    places = [
        entry
        for entry in path.split(os.pathsep)
        if os.path.isabs(entry) and not Path(os.path.realpath(entry)).is_relative_to(workspace)
    ]
    found = shutil.which(command, path=os.pathsep.join(places)) if places else None
    if found is None:
        raise ServerFault(f"there is no program {command!r} in PATH", lasting=True)
    return found
