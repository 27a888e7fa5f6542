"""Checks the extensions for doctor: loads each as a start would and says what is wrong with it."""

import asyncio
from pathlib import Path

from agent_tui.config.paths import Paths
from agent_tui.run.checks import Check


def extension_checks(workspace: Path, paths: Paths) -> list[Check]:
    """Load the person's extensions, packages' and a trusted project's; a line for each. Must not run on a loop."""
    from agent_tui.extensions.trust import TrustStore
    from agent_tui.run.extensions import found_extensions
    from agent_tui.run.options import RunOptions
    from agent_tui.run.settings import loaded_settings

    trusted = TrustStore(paths.state).verdict(workspace).trusted
    settings = loaded_settings(RunOptions(), workspace, trusted=trusted).settings
    if not settings.extensions.enabled:
        return [Check("extensions", True, "switched off")]
    findings = found_extensions(settings, paths, workspace, trusted=trusted)
    if not findings.found:
        return [Check("extensions", True, "none")]

    from agent_tui.extensions.plugged.host import ExtensionHost, Row

    async def rows() -> list[Row]:
        host = ExtensionHost(workspace)
        await asyncio.to_thread(host.load, findings)
        host.start()
        try:
            await host.settled()
            return host.rows()
        finally:
            await host.aclose()

    return [
        Check(f"extension {row.name}", not row.problem, f"{row.where}: {row.problem or row.offers}")
        for row in asyncio.run(rows())
    ]
