from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent_tui.providers.connect import ProviderSpec, choose
from agent_tui.providers.loopback import LocalServer
from agent_tui.run import models


async def test_server_on_this_machine_is_named_with_the_way_to_use_it() -> None:
    async def found() -> Sequence[LocalServer]:
        server = LocalServer("ollama", "Ollama", "http://127.0.0.1:11434/v1", ("qwen3:8b",))
        return [server, replace(server, models=())]

    assert list(await models.local_servers(found)) == [
        "Ollama answers on port 11434. To use it: /model ollama:qwen3:8b"
    ]


def test_command_that_is_offered_leads_to_that_server() -> None:
    choice = choose(models.named_model(ProviderSpec(), "ollama:qwen3:8b"), environ={})

    assert (choice.provider, choice.model, choice.base_url) == (
        "ollama",
        "qwen3:8b",
        "http://127.0.0.1:11434/v1",
    )


@pytest.mark.parametrize("name", ["claude-x", "qwen3:8b", "ollama/qwen3"])
def test_name_without_a_provider_stays_whole(name: str) -> None:
    assert models.named_model(ProviderSpec(), name).model == name
