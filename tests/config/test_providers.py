import pytest

from agent_tui.config.settings import ModelSettings
from agent_tui.providers import connect
from agent_tui.providers.connect import ProviderSpec
from agent_tui.run.models import named_model
from agent_tui.run.options import PROVIDERS, RunOptions


def test_flag_and_setting_take_every_provider_there_is() -> None:
    assert PROVIDERS == connect.PROVIDERS
    for name in connect.PROVIDERS:
        assert ModelSettings.model_validate({"provider": name}).provider == name


@pytest.mark.parametrize(
    ("given", "provider", "model"),
    [
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
        ("qwen3:8b", "", "qwen3:8b"),
        ("anthropic:claude-x", "anthropic", "claude-x"),
    ],
)
def test_model_flag_may_name_its_provider(given: str, provider: str, model: str) -> None:
    found = RunOptions(model=given).overrides({})

    assert found.get("model.provider", ("", ""))[1] == provider
    assert found["model.name"][1] == model


@pytest.mark.parametrize(
    ("provider", "name", "expected"),
    [
        ("openai", "claude-opus-5-5", ("anthropic", "claude-opus-5-5")),
        ("anthropic", "offline", ("offline", "offline")),
        ("anthropic", "ollama:qwen3", ("ollama", "qwen3")),
        ("azure", "gpt-5.5", ("azure", "gpt-5.5")),
        ("ollama", "qwen3", ("ollama", "qwen3")),
        ("", "claude-opus-5-5", ("", "claude-opus-5-5")),
    ],
)
def test_a_model_chosen_by_its_name_brings_its_provider(
    provider: str, name: str, expected: tuple[str, str]
) -> None:
    spec = named_model(ProviderSpec(provider=provider, model="m"), name)

    assert (spec.provider, spec.model) == expected


@pytest.mark.parametrize(
    ("provider", "name", "kept"),
    [
        ("anthropic", "deepseek:x", ""),
        ("anthropic", "gpt-5.5", ""),
        ("", "deepseek:x", ""),
        ("anthropic", "anthropic:claude-opus-5-5", "pass show key"),
        ("anthropic", "claude-opus-5-5", "pass show key"),
    ],
)
def test_the_command_for_a_key_is_run_for_no_other_provider(provider: str, name: str, kept: str) -> None:
    spec = named_model(ProviderSpec(provider=provider, model="m", key_command="pass show key"), name)

    assert spec.key_command == kept
