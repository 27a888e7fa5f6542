import re
from pathlib import Path

from agent_tui.config.load import Layer, load
from agent_tui.config.paths import user_paths
from agent_tui.providers.connect import PROVIDERS, connect
from agent_tui.providers.kept_keys import key_names
from agent_tui.providers.profiles import PROFILES
from agent_tui.providers.retry import RetryPolicy
from agent_tui.run.models import provider_spec

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text()


def test_every_provider_is_on_the_page_with_its_variables() -> None:
    for name in PROVIDERS:
        assert f"`{name}`" in PAGE
    for variables in key_names().values():
        assert all(f"`{variable}`" in PAGE for variable in variables)
    for profile in PROFILES.values():
        assert not profile.is_local or str(profile.port) in PAGE


def test_the_rows_of_the_example_reach_the_model(tmp_path: Path) -> None:
    found = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "config.toml").write_text(
        f'[model]\nname = "qwen3-coder"\nbase_url = "http://127.0.0.1:9/v1"\n{found[1]}'
    )

    loaded = load([Layer("user", tmp_path / "config.toml")])
    info = connect(provider_spec(loaded.settings, user_paths()), environ={}).info

    assert not loaded.problems
    assert (info.context_tokens, info.max_output_tokens, info.input_usd_per_mtok) == (131072, 16384, 0.2)


def test_the_numbers_of_the_retries_are_the_programs() -> None:
    policy = RetryPolicy()

    assert (policy.attempts, policy.max_wait_s, policy.idle_s) == (10, 60.0, 300.0)
    assert (policy.attempts_before_fallback, policy.fallback_s) == (3, 300.0)
