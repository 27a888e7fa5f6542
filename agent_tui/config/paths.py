"""Where files of the user and of a project live."""

from dataclasses import dataclass
from pathlib import Path

APP = "agent-tui"
SOURCES = ("user", "project", "private")
"""The settings files that can be left out of a run; what the machine manages always counts."""


@dataclass(frozen=True)
class Paths:
    """Folders of the program; none of them is created by asking.

    `config` holds what the user writes, `data` sessions and history, `state` grants and keys, `cache` what can be
    thrown away. All four are refused by every file tool.
    """

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def user_config(self) -> Path:
        return self.config / "config.toml"

    @property
    def user_tools(self) -> Path:
        return self.config / "tools"

    @property
    def user_extensions(self) -> Path:
        return self.config / "extensions"

    @property
    def guardrails(self) -> Path:
        return self.config / "guardrails"

    @property
    def user_themes(self) -> Path:
        return self.config / "themes"

    @property
    def keymap(self) -> Path:
        return self.config / "keymap.toml"

    @property
    def sessions(self) -> Path:
        return self.data / "sessions"

    @property
    def history(self) -> Path:
        return self.data / "history.jsonl"

    @property
    def grants(self) -> Path:
        return self.state / "grants.jsonl"

    @property
    def audit(self) -> Path:
        return self.data / "audit.jsonl"

    @property
    def keys(self) -> Path:
        return self.state / "keys.json"

    @property
    def log(self) -> Path:
        return self.state / "agent-tui.log"

    def own(self) -> tuple[Path, ...]:
        """Give the folders that no tool may touch, as real paths."""
        return tuple(path.resolve() for path in (self.config, self.data, self.state, self.cache))


def user_paths() -> Paths:
    """Give the user's folders by the XDG rules, on every system."""
    from platformdirs.unix import Unix  # 4 ms, not needed for --version

    dirs = Unix(APP, appauthor=False)
    return Paths(
        config=Path(dirs.user_config_dir),
        data=Path(dirs.user_data_dir),
        state=Path(dirs.user_state_dir),
        cache=Path(dirs.user_cache_dir),
    )


MANAGED_CONFIG = Path("/etc/agent-tui/config.toml")
PROJECT_FOLDER = ".agent-tui"


def project_config(workspace: Path) -> Path:
    """Give the project's shared settings file."""
    return workspace / PROJECT_FOLDER / "config.toml"


def project_private_config(workspace: Path) -> Path:
    """Give the person's own settings file of the project, ignored by git."""
    return workspace / PROJECT_FOLDER / "config.local.toml"
