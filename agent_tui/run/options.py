"""What one start of the program was asked to do."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agent_tui.run.counted import Counted, counted
from agent_tui.run.given_settings import settings_given

PROVIDERS = (
    "anthropic",
    "bedrock",
    "vertex",
    "openai",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
    "openrouter",
    "gemini",
    "deepseek",
    "cohere",
    "azure",
    "mistral",
    "offline",
)
"""What --provider takes; here so that a start need not import the providers."""
PICK = "?"
"""What --resume stands for when no session is named: the person picks one."""
EVERYTHING = "*"
"""What --debug stands for when no parts are named."""
MODES = {"acceptEdits": "accept-edits", "dontAsk": "dont-ask", "bypassPermissions": "bypass"}


@dataclass(frozen=True)
class RunOptions:
    """Flags of the command line; "" and None mean "not given"."""

    prompt: str = ""
    print_mode: bool = False
    output_format: str = "text"
    input_format: str = "text"
    permission_command: str = ""
    include_partial_messages: bool = False
    quiet: bool = False
    continue_last: bool = False
    resume: str = ""
    session_id: str = ""
    fork_session: bool = False
    on_approval: str = "deny"
    model: str = ""
    provider: str | None = None
    base_url: str = ""
    effort: str | None = None
    permission_mode: str | None = None
    max_rounds: int | None = None
    max_budget_usd: float | None = None
    max_tokens: int | None = None
    append_system_prompt: str = ""
    append_system_prompt_file: Path | None = None
    system_prompt: str = ""
    system_prompt_file: Path | None = None
    fallback_model: str = ""
    json_schema: str = ""
    output_last_message: Path | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: str | None = None
    name: str = ""
    ephemeral: bool = False
    directory: Path | None = None
    add_dirs: tuple[Path, ...] = ()
    theme: str = ""
    no_mouse: bool = False
    no_color: bool = False
    screen_reader: bool = False
    trust: bool = False
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    files: tuple[Path, ...] = ()
    images: tuple[Path, ...] = ()
    sandbox: str | None = None
    settings: str = ""
    config: tuple[str, ...] = ()
    agent: str = ""
    profile: str = ""
    setting_sources: str | None = None
    bare: bool = False
    safe_mode: bool = False
    permission_prompt_tool: str = ""
    no_alt_screen: bool = False
    verbose: bool = False
    debug: str = ""
    debug_file: Path | None = None

    @classmethod
    def from_flags(cls, given: Mapping[str, Any]) -> "RunOptions":
        """Build the options from parsed flags; --plan, --yolo and --afk are names of modes."""
        flags = dict(given)
        named = {
            "plan": flags.pop("plan", False),
            "bypass": flags.pop("bypass", False),
            "dont-ask": flags.pop("afk", False),
        }
        mode = flags.get("permission_mode")
        flags["permission_mode"] = next(
            (name for name, on in named.items() if on), MODES.get(mode or "", mode)
        )
        return cls(**flags)

    @cached_property
    def counted(self) -> Counted:
        """What of the person's and the project's configuration counts. Raises UsageError."""
        return counted(setting_sources=self.setting_sources, bare=self.bare, safe_mode=self.safe_mode)

    @property
    def opens_stored(self) -> bool:
        """Whether a stored session is asked for, so that there is something to show before the core is built."""
        return not self.ephemeral and (self.continue_last or self.resume not in ("", PICK))

    def enter_directory(self) -> Path:
        """Change to the directory that was named and give the workspace's real path. Raises UsageError."""
        from agent_tui.protocol.errors import UsageError

        try:
            if self.directory is not None:
                os.chdir(self.directory)
            return Path.cwd().resolve(strict=True)
        except OSError as error:
            where = repr(str(self.directory)) if self.directory else "the current directory"
            raise UsageError(
                f"cannot work in {where}: {error.strerror}; name a directory with -C DIR"
            ) from error

    def added_directories(self) -> list[Path]:
        """Give the real paths of the directories that --add-dir names. Raises UsageError."""
        from agent_tui.protocol.errors import UsageError

        for path in self.add_dirs:
            if not os.path.isdir(path):
                raise UsageError(f"--add-dir: {str(path)[:200]!r} is no directory that can be read")
        return [path.resolve() for path in self.add_dirs]

    @cached_property
    def given(self) -> Mapping[str, tuple[str, object]]:
        """What --settings and --config set, as `overrides` has it; read once, for a pipe gives it once. Raises UsageError."""
        return settings_given(self.settings, self.config)

    def overrides(self, environment: Mapping[str, str]) -> dict[str, tuple[str, object]]:
        """Give the settings that flags and environment variables set, as dotted key -> (source, value)."""
        found: dict[str, tuple[str, object]] = {}
        for key, variable in _ENVIRONMENT.items():
            if environment.get(variable):
                found[key] = (variable, environment[variable])
        found.update(self.given)
        provider, _, model = (
            self.model.partition(":") if self.model.partition(":")[0] in PROVIDERS else ("", "", self.model)
        )
        flags: dict[str, tuple[str, object]] = {
            "model.provider": ("--provider", self.provider or provider),
            "model.name": ("--model", model),
            "model.base_url": ("--base-url", self.base_url),
            "model.effort": ("--effort", self.effort),
            "model.fallback": ("--fallback-model", split_names(self.fallback_model)),
            "permissions.mode": ("--permission-mode", self.permission_mode),
            "sandbox.mode": ("--sandbox", self.sandbox),
            "ui.theme": ("--theme", self.theme),
            "limits.max_rounds": ("--max-turns", self.max_rounds),
            "limits.max_budget_usd": ("--max-budget-usd", self.max_budget_usd),
            "limits.max_tokens": ("--max-tokens", self.max_tokens),
        }
        found.update({key: pair for key, pair in flags.items() if pair[1] not in ("", None, [])})
        if not self.counted.code:
            found["extensions.enabled"] = (self.counted.flag, False)
        if self.safe_mode:
            found["model.key_command"] = ("--safe-mode", "")
        return found


def split_names(text: str) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


_ENVIRONMENT = {
    "model.provider": "AGENT_TUI_PROVIDER",
    "model.name": "AGENT_TUI_MODEL",
    "model.base_url": "AGENT_TUI_BASE_URL",
    "ui.theme": "AGENT_TUI_THEME",
    "extensions.enabled": "AGENT_TUI_EXTENSIONS",
}
