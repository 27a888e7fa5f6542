"""What is known of servers that speak chat completions: where they listen and how they differ."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Reasoning = Literal["none", "effort", "openrouter"]


@dataclass(frozen=True)
class Profile:
    """One kind of server.

    `key_variables` are environment variables in order, `url_variable` the one that holds the base URL. `port` is
    where a local one listens. `max_tokens_field` is the name of the output limit. `usage_option` says that usage
    must be asked for. `sends_reasoning_back` names the field in which reasoning of tool-calling replies must go
    back, "" for none. `strict_ids` is the length that call ids must have exactly (letters and digits), 0 for any.
    """

    name: str
    title: str
    base_url: str
    key_variables: tuple[str, ...] = ()
    url_variable: str = ""
    port: int = 0
    max_tokens_field: str = "max_tokens"
    usage_option: bool = True
    reasoning: Reasoning = "none"
    sends_reasoning_back: str = ""
    strict_ids: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_local(self) -> bool:
        """Whether it runs on the person's machine and needs no key."""
        return self.port > 0


OPENAI = Profile(
    "openai",
    "OpenAI",
    "https://api.openai.com/v1",
    ("OPENAI_API_KEY",),
    url_variable="OPENAI_BASE_URL",
    max_tokens_field="max_completion_tokens",
    reasoning="effort",
)
COMPATIBLE = Profile(
    "compatible", "The server", "", ("OPENAI_API_KEY",), sends_reasoning_back="reasoning_content"
)

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        OPENAI,
        Profile(
            "ollama", "Ollama", "http://127.0.0.1:11434/v1", port=11434, sends_reasoning_back="reasoning"
        ),
        Profile(
            "lmstudio",
            "LM Studio",
            "http://127.0.0.1:1234/v1",
            port=1234,
            sends_reasoning_back="reasoning_content",
        ),
        Profile(
            "llamacpp",
            "llama.cpp",
            "http://127.0.0.1:8080/v1",
            port=8080,
            sends_reasoning_back="reasoning_content",
        ),
        Profile("vllm", "vLLM", "http://127.0.0.1:8000/v1", port=8000, sends_reasoning_back="reasoning"),
        Profile(
            "openrouter",
            "OpenRouter",
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY",),
            reasoning="openrouter",
            sends_reasoning_back="reasoning",
            headers={"x-title": "agent-tui"},
        ),
        Profile(
            "gemini",
            "Gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            reasoning="effort",
        ),
        Profile(
            "deepseek",
            "DeepSeek",
            "https://api.deepseek.com/v1",
            ("DEEPSEEK_API_KEY",),
            sends_reasoning_back="reasoning_content",
        ),
        Profile(
            "cohere", "Cohere", "https://api.cohere.ai/compatibility/v1", ("COHERE_API_KEY", "CO_API_KEY")
        ),
        Profile("azure", "Azure OpenAI", "", ("AZURE_OPENAI_API_KEY",), url_variable="AZURE_OPENAI_ENDPOINT"),
        Profile(
            "mistral",
            "Mistral",
            "https://api.mistral.ai/v1",
            ("MISTRAL_API_KEY",),
            usage_option=False,
            strict_ids=9,
        ),
    )
}


def profile_for(provider: str, base_url: str) -> Profile:
    """Give the profile of a provider's name, or of the server a base URL points to."""
    if provider in PROFILES and (provider != "openai" or not base_url):
        return PROFILES[provider]
    if ".openai.azure.com" in base_url:
        return PROFILES["azure"]
    for profile in PROFILES.values():
        if not profile.base_url:
            continue
        host = profile.base_url.split("/", 3)[2]
        if f"//{host.replace('127.0.0.1', 'localhost')}" in base_url or f"//{host}" in base_url:
            return profile
    return COMPATIBLE


def normal_base_url(base_url: str) -> str:
    """Give the URL that `/chat/completions` follows: with a version, without the endpoint itself.

    A URL whose path is empty gets `/v1`; one with a path of its own is kept.
    """
    url = base_url.strip().rstrip("/")
    for ending in ("/chat/completions", "/responses", "/completions", "/models"):
        url = url.removesuffix(ending)
    if "://" not in url:
        url = f"http://{url}"
    host_and_path = url.split("://", 1)[1]
    if host_and_path.endswith(".openai.azure.com"):
        return f"{url}/openai/v1"
    return url if "/" in host_and_path else f"{url}/v1"
