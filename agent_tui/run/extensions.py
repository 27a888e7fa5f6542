"""Finds and loads the extensions of a run, as settings and trust say."""

from pathlib import Path

from agent_tui.config.paths import Paths
from agent_tui.config.settings import Settings
from agent_tui.extensions.plugged.discover import Findings, Places, find_extensions
from agent_tui.extensions.plugged.host import ExtensionHost
from agent_tui.extensions.plugged.plug import Pace

PROJECT_EXTENSIONS = Path(".agent-tui") / "extensions"


def found_extensions(settings: Settings, paths: Paths, workspace: Path, *, trusted: bool) -> Findings:
    """Find what there is; nothing when extensions are switched off. Runs nothing."""
    if not settings.extensions.enabled:
        return Findings()
    places = extension_places(paths, workspace, trusted=trusted)
    return find_extensions(places, disabled=settings.extensions.disable)


def extension_places(paths: Paths, workspace: Path, *, trusted: bool) -> Places:
    """Give where extensions are looked for."""
    return Places(user=paths.user_extensions, project=workspace / PROJECT_EXTENSIONS if trusted else None)


def load_extensions(
    settings: Settings, paths: Paths, workspace: Path, *, trusted: bool, pace: Pace | None = None
) -> tuple[ExtensionHost, list[str]]:
    """Load the extensions; give a sentence for each that failed. Programs are started by the host's `start`.

    Must not run on the event loop: code is imported, each file for at most five seconds.
    """
    host = ExtensionHost(workspace, pace=pace)
    return host, host.load(found_extensions(settings, paths, workspace, trusted=trusted))


def load_project_extensions(
    host: ExtensionHost, settings: Settings, paths: Paths, workspace: Path
) -> list[str]:
    """Load what a project brings that was trusted just now, besides what is there; give a sentence for each fault."""
    found = found_extensions(settings, paths, workspace, trusted=True)
    news = Findings([one for one in found.found if one.origin == "project" and one.name not in host.names()])
    kept = [one.name for one in found.found if one.origin == "project" and one.name in host.names()]
    notices = [
        f"The project's extension {name!r} takes the place of yours from the next start." for name in kept
    ]
    return [*notices, *host.load(news)]
