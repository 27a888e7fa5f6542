import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.errors import AuthError, BadResponse, UsageError
from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.providers.anthropic import AnthropicProvider
from agent_tui.providers.base import Completed, ProviderRequest
from agent_tui.providers.connect import PROVIDERS, ProviderSpec, choose, connect, list_models
from agent_tui.providers.keys import find_key, remove_key, store_key
from agent_tui.providers.offline import OfflineProvider
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from tests.support.fake_servers import (
    Answer,
    ChatServer,
    MessagesServer,
    Recorded,
    completion,
    json_answer,
    message,
    status,
)


@pytest.mark.parametrize(
    ("spec", "environ", "expected"),
    [
        ({}, {}, ("offline", "offline", "no key is set")),
        (
            {},
            {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"},
            ("anthropic", "claude-sonnet-5-5", "by ANTHROPIC_API_KEY"),
        ),
        ({}, {"ANTHROPIC_AUTH_TOKEN": "a"}, ("anthropic", "claude-sonnet-5-5", "by ANTHROPIC_AUTH_TOKEN")),
        ({}, {"OPENAI_API_KEY": "o"}, ("openai", "gpt-6.2-sol", "by OPENAI_API_KEY")),
        ({"provider": "offline"}, {"ANTHROPIC_API_KEY": "a"}, ("offline", "offline", "named")),
        ({"provider": "openai"}, {"ANTHROPIC_API_KEY": "a"}, ("openai", "gpt-6.2-sol", "named")),
        ({"model": "gpt-5.5"}, {"ANTHROPIC_API_KEY": "a"}, ("openai", "gpt-5.5", "by the model's name")),
        (
            {"model": "claude-opus-5-5"},
            {"OPENAI_API_KEY": "o"},
            ("anthropic", "claude-opus-5-5", "by the model's name"),
        ),
        ({"model": "ollama/qwen3"}, {"OPENAI_API_KEY": "o"}, ("ollama", "qwen3", "named")),
        ({"model": "openrouter/z/m"}, {}, ("openrouter", "z/m", "named")),
        ({"provider": "openrouter", "model": "openai/m"}, {}, ("openrouter", "openai/m", "named")),
        ({"model": "qwen3"}, {"OPENAI_API_KEY": "o"}, ("openai", "qwen3", "by OPENAI_API_KEY")),
        (
            {"base_url": "http://h:1", "model": "m"},
            {"ANTHROPIC_API_KEY": "a"},
            ("openai", "m", "by the base URL"),
        ),
    ],
)
def test_the_provider_follows_what_was_named_then_the_keys(
    spec: dict[str, Any], environ: dict[str, str], expected: tuple[str, str, str]
) -> None:
    choice = choose(ProviderSpec(**spec), environ=environ)

    assert (choice.provider, choice.model, choice.reason) == expected


def test_base_urls_come_from_the_environment_of_their_provider() -> None:
    env = {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_BASE_URL": "http://h:1/", "OPENAI_BASE_URL": "http://h:2"}

    assert choose(ProviderSpec(), environ=env).base_url == "http://h:1"
    assert choose(ProviderSpec(provider="openai", model="m"), environ=env).base_url == "http://h:2/v1"
    assert (
        choose(ProviderSpec(provider="ollama", model="m"), environ=env).base_url
        == "http://127.0.0.1:11434/v1"
    )


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"provider": "nobody"}, "No provider named 'nobody'"),
        (
            {"provider": "anthropic", "model": "opnai:x"},
            "No provider named 'opnai', as the model 'opnai:x' has it",
        ),
        ({"provider": "openai", "model": "opnai:x"}, "did you mean 'openai'"),
        ({"base_url": "http://h:1"}, "agent-tui models --base-url http://h:1/v1"),
        ({"provider": "azure", "model": "m"}, "AZURE_OPENAI_ENDPOINT"),
    ],
)
def test_what_is_missing_is_named(spec: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        choose(ProviderSpec(**spec), environ={})


@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name != "offline"])
def test_a96_every_provider_can_be_made(provider: str) -> None:
    spec = ProviderSpec(provider=provider, model="m", api_key="k")
    made = connect(spec, environ={"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"})

    assert made.model == "m"
    assert isinstance(made.inner, AnthropicProvider | OpenAICompatibleProvider)


def test_without_a_key_the_offline_model_answers() -> None:
    assert isinstance(connect(ProviderSpec(), environ={}).inner, OfflineProvider)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "openrouter"])
def test_a_missing_key_says_which_variable_to_set(provider: str) -> None:
    with pytest.raises(AuthError, match=rf"Set [A-Z_]+KEY, or store one with /login {provider},"):
        connect(ProviderSpec(provider=provider, model="m"), environ={})


@pytest.mark.parametrize(
    ("given", "stored", "advice"),
    [
        ({"OPENAI_API_KEY": "sk-a"}, "", "It comes from OPENAI_API_KEY, which wins over a stored key"),
        ({}, "sk-b", "Set OPENAI_API_KEY, or store one with /login openai"),
    ],
)
async def test_a_refused_key_says_how_to_put_another_in_its_place(
    tmp_path: Path, given: dict[str, str], stored: str, advice: str
) -> None:
    file = tmp_path / "keys.json"
    if stored:
        store_key("openai", stored, key_file=file, use_keyring=False)
    async with ChatServer([status(401)]) as server:
        spec = ProviderSpec(provider="openai", model="m", base_url=server.url, key_file=file)
        made = connect(spec, environ=given)
        with pytest.raises(AuthError, match=advice):
            async with made.stream(request()) as deltas:
                [delta async for delta in deltas]
        await made.aclose()


@pytest.mark.parametrize("provider", ["ollama", "lmstudio", "llamacpp", "vllm"])
async def test_a_local_server_needs_no_key_and_gets_none(provider: str) -> None:
    async with ChatServer([completion("hi")]) as server:
        spec = ProviderSpec(provider=provider, model="m", base_url=server.url)
        made = connect(spec, environ={"OPENAI_API_KEY": "sk-secret"})
        async with made.stream(request()) as deltas:
            last = [delta async for delta in deltas][-1]
        await made.aclose()

    assert isinstance(last, Completed)
    assert "sk-secret" not in str(server.requests[0].headers)


async def test_the_environment_of_anthropic_reaches_a_loopback_server() -> None:
    async with MessagesServer([message("hi")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_AUTH_TOKEN": "tok"}
        made = connect(ProviderSpec(), environ=env)
        async with made.stream(request()) as deltas:
            last = [delta async for delta in deltas][-1]
        await made.aclose()

    assert isinstance(last, Completed)
    assert server.requests[0].headers["authorization"] == "Bearer tok"


async def test_models_of_a_server_are_listed_without_naming_one() -> None:
    async with ChatServer(models=["a", "b"]) as server, MessagesServer(models=["c"]) as claude:
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": claude.url}

        assert await list_models(ProviderSpec(base_url=server.url), environ={}) == ["a", "b"]
        assert await list_models(ProviderSpec(), environ=env) == ["c"]
        assert await list_models(ProviderSpec(provider="offline"), environ={}) == ["offline"]
        assert await list_models(ProviderSpec(), environ={}) == ["offline"]


class Pages(ChatServer):
    def _answer(self, request: Recorded) -> Answer:
        return Answer(chunks=(b"<title>welcome</title>",), headers={"content-type": "text/html"})


async def test_a_web_page_in_the_place_of_a_list_is_one_sentence() -> None:
    async with Pages() as server:
        with pytest.raises(BadResponse, match="did not answer with a list of models"):
            await list_models(ProviderSpec(base_url=server.url), environ={})


class Listless(ChatServer):
    def _answer(self, request: Recorded) -> Answer:
        return json_answer({"error": {"message": "no such page"}}, code=404)


async def test_a_server_that_lists_no_models_is_not_said_to_lack_one_that_nobody_named() -> None:
    async with Listless() as server:
        with pytest.raises(BadResponse, match=r"lists no models \(404\)\. Name one with --model"):
            await list_models(ProviderSpec(base_url=server.url), environ={})


def test_fallback_models_share_the_provider() -> None:
    spec = ProviderSpec(
        provider="anthropic", model="claude-opus-5-5", api_key="k", fallbacks=("claude-sonnet-5-5",)
    )

    assert connect(spec, environ={}).model == "claude-opus-5-5"


def test_a_fallback_may_be_of_another_provider() -> None:
    spec = ProviderSpec(provider="anthropic", api_key="k", fallbacks=("openai:gpt-5.5", "claude-opus-5-5"))

    made = connect(spec, environ={"OPENAI_API_KEY": "o"})

    assert [(one.name, one.model) for one in made.all] == [
        ("anthropic", "claude-sonnet-5-5"),
        ("openai", "gpt-5.5"),
        ("anthropic", "claude-opus-5-5"),
    ]


def test_a_stored_key_chooses_its_provider_when_the_environment_has_none(tmp_path: Path) -> None:
    key_file = tmp_path / "keys.json"
    store_key("openai", "k", key_file=key_file, use_keyring=False)
    spec = ProviderSpec(key_file=key_file)

    assert choose(spec, environ={}).provider == "openai"
    assert choose(spec, environ={"ANTHROPIC_API_KEY": "a"}).provider == "anthropic"
    assert remove_key("openai", key_file=key_file) == [str(key_file)]
    assert choose(spec, environ={}).provider == "offline"


def request() -> ProviderRequest:
    return ProviderRequest(system="s", messages=(UserMessage(content=(TextBlock(text="hi"),)),))


def test_choosing_and_connecting_imports_no_sdk() -> None:
    script = (
        "import sys; from agent_tui.providers.connect import ProviderSpec, connect;"
        "connect(ProviderSpec(provider='anthropic', api_key='k'));"
        "connect(ProviderSpec(provider='openai', api_key='k'));"
        "print([m for m in ('anthropic', 'openai', 'httpx', 'httpx2', 'keyring') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )

    assert done.stdout.strip() == "[]"


def test_warming_up_loads_the_sdk_and_leaves_the_interpreter_as_it_was_and_nothing_to_collect() -> None:
    script = (
        "import gc, sys, threading; from agent_tui.providers.connect import warm_up;"
        "before = gc.get_threshold(), sys.getswitchinterval();"
        "t = threading.Thread(target=warm_up, args=('openai',)); t.start(); t.join();"
        "warm_up('offline');"
        "print('openai' in sys.modules, before == (gc.get_threshold(), sys.getswitchinterval()));"
        "print(len(gc.get_objects()) < 50_000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )

    assert done.stdout.split() == ["True", "True", "True"]


def script_printing(folder: Path, text: str, *, code: int = 0) -> str:
    path = folder / "key.sh"
    path.write_text(f"#!/bin/sh\nprintf '{text}'\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


def test_a_key_is_taken_from_the_first_place_that_has_one(tmp_path: Path) -> None:
    key_file = tmp_path / "keys.json"
    store_key("openai", "from-file", key_file=key_file, use_keyring=False)
    command = script_printing(tmp_path, "from-command\\nsecond line\\n")
    names = ("A_KEY", "B_KEY")

    def find(environ: dict[str, str], command: str = "") -> tuple[str, str]:
        found = find_key("openai", names, environ=environ, command=command, key_file=key_file)
        assert found is not None
        return found.value, found.source

    assert find({"B_KEY": " b ", "A_KEY": ""}, command) == ("b", "B_KEY")
    assert find({}, command) == ("from-command", "the key command")
    assert find({}) == ("from-file", str(key_file))
    assert find_key("other", names, environ={}, key_file=key_file) is None


@pytest.mark.parametrize(
    ("text", "code", "words"), [("", 0, "printed nothing"), ("x", 3, "ended with code 3")]
)
def test_a_key_command_that_fails_says_how(tmp_path: Path, text: str, code: int, words: str) -> None:
    command = script_printing(tmp_path, text, code=code)
    with pytest.raises(AuthError, match=words):
        find_key("openai", (), environ={}, command=command)


def test_a_key_command_may_leave_an_agent_running(tmp_path: Path) -> None:
    command = tmp_path / "key.sh"
    command.write_text(f"#!/bin/sh\nsleep 300 & echo $! > {tmp_path / 'agent'}\nprintf 'from-command\\n'\n")
    command.chmod(0o755)

    found = find_key("openai", (), environ={}, command=str(command))
    os.kill(int((tmp_path / "agent").read_text()), signal.SIGKILL)

    assert found is not None
    assert found.value == "from-command"


@pytest.mark.parametrize("command", ["/no/such/program", "unclosed 'quote"])
def test_a_key_command_that_cannot_run_says_so(command: str) -> None:
    with pytest.raises(AuthError, match="cannot be run"):
        find_key("openai", (), environ={}, command=command)


def test_a_fallback_of_a_provider_that_there_is_not_is_refused_before_a_request() -> None:
    spec = ProviderSpec(provider="anthropic", api_key="k", fallbacks=("claude-opus-5-5", "antropic:claude-x"))

    with pytest.raises(UsageError, match=r"No provider named 'antropic'.* did you mean 'anthropic'"):
        connect(spec, environ={})


@pytest.mark.parametrize(
    "spec",
    [
        ProviderSpec(provider="ollama", model="qwen3:8b"),
        ProviderSpec(provider="openai", model="ft:gpt-4.1:org::id"),
        ProviderSpec(provider="openai", model="some:model", base_url="http://127.0.0.1:1/v1"),
        ProviderSpec(provider="anthropic", model="some:model", base_url="http://127.0.0.1:1"),
        ProviderSpec(provider="bedrock", model="anthropic.claude-x-v1:0"),
    ],
    ids=lambda spec: spec.model,
)
def test_a_colon_stays_where_names_of_models_have_one(spec: ProviderSpec) -> None:
    assert choose(spec, environ={}).model == spec.model
