from pathlib import Path

from agent_tui.config.layers import settings_layers
from agent_tui.config.load import load
from agent_tui.config.paths import Paths
from agent_tui.conversation.settings_desk import SettingsFiles


class SettingsWorld:
    """Real settings files of a user and a project below `root`."""

    def __init__(self, root: Path, *, trusted: bool = True) -> None:
        self.paths = Paths(root / "c", root / "d", root / "s", root / "k")
        self.workspace = root / "proj"
        self.trusted = trusted
        self.rule_problems: list[str] = []

    @property
    def desk(self) -> SettingsFiles:
        return SettingsFiles(
            paths=self.paths,
            workspace=self.workspace,
            load=lambda trusted: load(settings_layers(self.paths, self.workspace, trusted=trusted)),
            trusted=lambda: self.trusted,
            more_problems=lambda _told: self.rule_problems,
        )

    def user(self, text: str) -> Path:
        return self._write(self.paths.user_config, text)

    def project(self, text: str) -> Path:
        return self._write(self.workspace / ".agent-tui" / "config.toml", text)

    def _write(self, file: Path, text: str) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file
