"""Checks the MCP servers for doctor, as far as that goes without starting or asking one."""

import os
from pathlib import Path

from agent_tui.config.paths import Paths
from agent_tui.extensions.mcp.faults import ServerFault
from agent_tui.extensions.mcp.launch import launch_of
from agent_tui.extensions.mcp.spec import ServerSpec
from agent_tui.extensions.trust import TrustStore
from agent_tui.run.checks import Check
from agent_tui.run.mcp_files import configured
from agent_tui.run.options import RunOptions


def server_checks(workspace: Path, paths: Paths) -> list[Check]:
    """Give a line for each server; one that is described wrongly is told with the settings."""
    servers = configured(RunOptions(), paths, workspace, trusted=True).servers
    if not servers:
        return [Check("mcp servers", True, "none")]
    trusted = TrustStore(paths.state).verdict(workspace).trusted
    return [_check(spec, workspace, trusted=trusted) for spec in servers if not spec.problem]


def _check(spec: ServerSpec, workspace: Path, *, trusted: bool) -> Check:
    name = f"mcp server {spec.name}"
    if not spec.enabled:
        return Check(name, True, f"{spec.origin}, switched off in {spec.file}")
    if spec.origin == "project" and not trusted:
        what = spec.target if spec.url else spec.command  # arguments may be secrets
        return Check(name, False, f"not started, the project is not trusted: {what} of {spec.file}")
    whose = "project, trusted" if spec.origin == "project" else spec.origin
    if spec.url:
        return Check(name, True, f"{whose}, {spec.target}, not asked; 'agent-tui mcp test' asks it")
    try:
        program = launch_of(spec, workspace, os.environ).program
    except ServerFault as fault:
        return Check(name, False, f"{whose}, {fault}; install it or correct {spec.file}")
    return Check(name, True, f"{whose}, {program}, not started; 'agent-tui mcp test' starts it")
