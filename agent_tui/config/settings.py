"""Every setting with its type, default and meaning."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

ProviderName = Literal[
    "",
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
]
Mode = Literal["default", "accept-edits", "plan", "auto", "dont-ask", "bypass"]


class Section(BaseModel):
    """A table of the settings file; unknown keys are reported by the loader, not here."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class ModelSettings(Section):
    """[model]: which model answers."""

    provider: ProviderName = Field(default="", description="empty: by the keys there are")
    name: str = Field(default="", description="empty: the provider's default")
    base_url: str = Field(default="", description="an OpenAI-compatible or Anthropic-compatible server")
    effort: Literal["", "low", "medium", "high", "max"] = ""
    fallback: tuple[str, ...] = Field(default=(), description="models tried when the first is overloaded")
    key_command: str = Field(default="", description="prints the API key; run without a shell")
    max_output_tokens: Annotated[int, Field(ge=0)] = 0
    facts: dict[str, dict[str, JsonValue]] = Field(
        default={}, description="rows over the bundled table of models, by the model's name"
    )


class PermissionSettings(Section):
    """[permissions]: the mode to start in; the lists beside it are read by `permissions.sources`."""

    mode: Mode = "default"


class ToolSettings(Section):
    """[tools]: which tool files count, and how the calls of a round run."""

    override: tuple[str, ...] = Field(
        default=(), description="bundled tools that a user's tool of the same name replaces"
    )
    disable: tuple[str, ...] = ()
    rounds: Literal["parallel", "serial", "atomic"] = Field(
        default="parallel",
        description="parallel: calls that only read overlap; serial: one after the other; atomic: serial, and never cut",
    )


class ExtensionSettings(Section):
    """[extensions]: code of others that adds tools and commands."""

    enabled: bool = Field(default=True, description="false leaves all of them out")
    disable: tuple[str, ...] = Field(default=(), description="names of extensions to leave out")


class UiSettings(Section):
    """[ui]: the screen."""

    theme: str = "dark"
    notify: Literal["auto", "osc9", "osc777", "bell", "off"] = "auto"
    progress: bool | None = Field(
        default=None,
        description="show a running turn in the terminal's tab or taskbar; default: on where it is known to work",
    )
    row_diff: bool | None = Field(
        default=None, description="write rows by difference; default: on where it is known to work"
    )
    low_approvals: bool = Field(
        default=False, description="let a round of calls take half the screen at most, as a single call does"
    )
    mouse: bool = True
    keys: Literal["", "default", "emacs", "vim"] = Field(
        default="", description="preset of the keymap; empty: the one chosen last"
    )
    status: tuple[str, ...] = Field(
        default=(), description='segments of the status line, "|" between left and right; empty: the usual'
    )


class LimitSettings(Section):
    """[limits]: where a turn pauses. 0 means no limit."""

    max_rounds: Annotated[int, Field(ge=0)] = 64
    max_budget_usd: Annotated[float, Field(ge=0)] = 0.0
    max_tokens: Annotated[int, Field(ge=0)] = 0


class ShellSettings(Section):
    """[shell]: commands."""

    env_deny: tuple[str, ...] = Field(
        default=(), description="environment variables that commands do not get; globs"
    )


class SandboxSettings(Section):
    """[sandbox]: how commands are confined."""

    mode: Literal["auto", "off"] = "auto"


class Settings(Section):
    """All settings. Scalars of a higher layer override, permission lists merge."""

    model: ModelSettings = ModelSettings()
    permissions: PermissionSettings = PermissionSettings()
    tools: ToolSettings = ToolSettings()
    extensions: ExtensionSettings = ExtensionSettings()
    ui: UiSettings = UiSettings()
    limits: LimitSettings = LimitSettings()
    shell: ShellSettings = ShellSettings()
    sandbox: SandboxSettings = SandboxSettings()
