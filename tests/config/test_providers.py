import pytest

from agent_tui.config.settings import ModelSettings
from agent_tui.options import PROVIDERS, RunOptions
from agent_tui.providers import connect


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
