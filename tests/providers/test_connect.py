import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.errors import AgentTuiError, AuthError, UsageError
from agent_tui.protocol.messages import TextBlock, TokenUsage, UserMessage
from agent_tui.providers import keys as keys_module
from agent_tui.providers.anthropic import AnthropicProvider
from agent_tui.providers.base import Completed, ModelInfo, ProviderRequest
from agent_tui.providers.connect import PROVIDERS, ProviderSpec, choose, connect, list_models
from agent_tui.providers.keys import find_key, read_key_file, remove_key, store_key
from agent_tui.providers.loopback import probe
from agent_tui.providers.models import cost_usd, load_table, server_effort
from agent_tui.providers.offline import OfflineProvider
from agent_tui.providers.openai_compatible import OpenAICompatibleProvider
from tests.support.fake_servers import (
    ChatServer,
    MessagesServer,
    completion,
    json_answer,
    message,
    page,
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
        ({"base_url": "http://h:1"}, "agent-tui models --base-url http://h:1/v1"),
        ({"provider": "azure", "model": "m"}, "AZURE_OPENAI_ENDPOINT"),
    ],
)
def test_what_is_missing_is_named(spec: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        choose(ProviderSpec(**spec), environ={})  # type: ignore[arg-type]


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
        made = connect(ProviderSpec(headers={"x-team": "t"}), environ=env)
        async with made.stream(request()) as deltas:
            last = [delta async for delta in deltas][-1]
        await made.aclose()

    assert isinstance(last, Completed)
    assert server.requests[0].headers["authorization"] == "Bearer tok"
    assert server.requests[0].headers["x-team"] == "t"


async def test_models_of_a_server_are_listed_without_naming_one() -> None:
    async with ChatServer(models=["a", "b"]) as server, MessagesServer(models=["c"]) as claude:
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": claude.url}

        assert await list_models(ProviderSpec(base_url=server.url), environ={}) == ["a", "b"]
        assert await list_models(ProviderSpec(), environ=env) == ["c"]
        assert await list_models(ProviderSpec(provider="offline"), environ={}) == ["offline"]


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


def test_warming_up_loads_the_sdk_and_leaves_the_interpreter_as_it_was() -> None:
    script = (
        "import gc, sys, threading; from agent_tui.providers.connect import warm_up;"
        "before = gc.get_threshold(), sys.getswitchinterval();"
        "t = threading.Thread(target=warm_up, args=('openai',)); t.start(); t.join();"
        "warm_up('offline');"
        "print('openai' in sys.modules, before == (gc.get_threshold(), sys.getswitchinterval()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )

    assert done.stdout.strip() == "True True"


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


def test_the_key_file_is_private_from_its_first_moment(tmp_path: Path) -> None:
    key_file = tmp_path / "state" / "keys.json"
    previous = os.umask(0)
    try:
        store_key("a", "1", key_file=key_file, use_keyring=False)
        store_key("b", "2", key_file=key_file, use_keyring=False)
    finally:
        os.umask(previous)

    assert key_file.stat().st_mode & 0o777 == 0o600
    assert key_file.parent.stat().st_mode & 0o777 == 0o700
    assert read_key_file(key_file) == {"a": "1", "b": "2"}
    assert [p.name for p in key_file.parent.iterdir()] == ["keys.json"]


def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    key_file = tmp_path / "keys.json"
    store_key("a", "1", key_file=key_file, use_keyring=False)
    key_file.chmod(0o644)

    with pytest.raises(AuthError, match="chmod 600"):
        read_key_file(key_file)


@pytest.mark.parametrize("text", ["not json", "[1]"])
def test_a_broken_key_file_says_so_without_its_content(tmp_path: Path, text: str) -> None:
    key_file = tmp_path / "keys.json"
    key_file.write_text(text)
    key_file.chmod(0o600)

    with pytest.raises(AuthError, match=r"keys\.json"):
        read_key_file(key_file)


def test_a_link_in_place_of_the_key_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("{}")
    (tmp_path / "keys.json").symlink_to(tmp_path / "real")

    with pytest.raises(AuthError, match="cannot be read"):
        read_key_file(tmp_path / "keys.json")


def test_a_removed_key_is_gone(tmp_path: Path) -> None:
    key_file = tmp_path / "keys.json"
    store_key("a", "1", key_file=key_file, use_keyring=False)

    assert remove_key("a", key_file=key_file) == [str(key_file)]
    assert remove_key("a", key_file=key_file) == []
    assert read_key_file(key_file) == {}


class FakeRing:
    def __init__(self, *, broken: bool = False) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.broken = broken

    def get_password(self, service: str, name: str) -> str | None:
        if self.broken:
            raise RuntimeError("locked")
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, password: str) -> None:
        if self.broken:
            raise RuntimeError("locked")
        self.kept[service, name] = password

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


@pytest.mark.parametrize("broken", [False, True])
def test_the_keyring_is_used_when_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    ring, key_file = FakeRing(broken=broken), tmp_path / "keys.json"
    monkeypatch.setattr(keys_module, "_keyring", lambda: ring)

    place = store_key("openai", "sk", key_file=key_file)
    found = find_key("openai", (), environ={}, key_file=key_file)

    assert place == (str(key_file) if broken else "the keyring")
    assert found is not None
    assert (found.value, found.source) == ("sk", place)
    assert remove_key("openai", key_file=key_file) == [place]


def test_a_key_never_shows_in_a_repr() -> None:
    found = find_key("x", ("K",), environ={"K": "sk-secret"})

    assert "sk-secret" not in repr(found)
    assert "sk-secret" not in repr(ProviderSpec(api_key="sk-secret"))


async def test_servers_on_loopback_are_found_and_only_asked_for_their_models() -> None:
    async with (
        ChatServer(models=["llama3", "qwen3"]) as ollama,
        ChatServer(lambda _: page("<html>", code=200)) as other,
    ):
        other.listing = lambda: {"hello": "world"}  # type: ignore[method-assign]
        gone = "http://127.0.0.1:9/v1"
        found = await probe(
            [("ollama", ollama.url), ("llamacpp", other.url), ("lmstudio", gone)], timeout_s=10.0
        )

    assert [(s.provider, s.title, s.models, s.base_url) for s in found] == [
        ("ollama", "Ollama", ("llama3", "qwen3"), ollama.url)
    ]
    assert found[0].port == int(ollama.url.split(":")[2].split("/")[0])
    assert ollama.requests == []
    assert [get.path for get in ollama.gets] == ["/v1/models"]


async def test_a_server_that_says_who_it_is_gets_its_own_name() -> None:
    async with ChatServer() as server:
        server.listing = lambda: {"data": [{"id": "m", "owned_by": "vllm"}]}  # type: ignore[method-assign]
        found = await probe([("llamacpp", server.url)])

    assert [(s.provider, s.title) for s in found] == [("vllm", "vLLM")]


async def test_a_port_that_never_answers_is_not_waited_for() -> None:
    import asyncio

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with asyncio.timeout(5):
        assert await probe([("vllm", f"http://127.0.0.1:{port}/v1")], timeout_s=0.05) == []
    server.close()


def test_every_row_of_the_table_names_its_source_and_date() -> None:
    table = load_table()

    assert len(table.rows) > 15
    assert all(row.source.startswith("https://") and row.checked is not None for row in table.rows)
    assert len({(row.provider, row.name) for row in table.rows}) == len(table.rows)


def test_an_unknown_model_is_unknown_and_not_guessed() -> None:
    assert load_table().facts("anthropic", "brand-new").info == ModelInfo(name="brand-new")


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-sonnet-9", "adaptive"),
        ("claude-opus-4-6-20260205", "adaptive"),
        ("claude-opus-4-20250514", "budget"),
        ("claude-sonnet-4-5-20250929", "budget"),
        ("claude-3-5-haiku-20241022", "none"),
        ("my-model", "none"),
    ],
)
def test_a_claude_models_name_tells_how_it_thinks(model: str, thinking: str) -> None:
    assert load_table().facts("anthropic", model).thinking == thinking


def test_a_dated_name_has_the_facts_of_its_model() -> None:
    info = load_table().facts("openai", "gpt-5.5-2026-04-23").info

    assert (info.name, info.context_tokens) == ("gpt-5.5-2026-04-23", 1_050_000)


def test_users_override_and_add_rows() -> None:
    table = load_table(
        {
            "claude-sonnet-5-5": {"input_usd_per_mtok": 1.0},
            "my-model": {"provider": "ollama", "context_tokens": 32_768, "input_usd_per_mtok": 0},
        }
    )

    assert table.facts("anthropic", "claude-sonnet-5-5").info.input_usd_per_mtok == 1.0
    assert table.facts("anthropic", "claude-sonnet-5-5").info.output_usd_per_mtok == 10.0
    assert table.facts("ollama", "my-model").info.context_tokens == 32_768


@pytest.mark.parametrize("fields", [{"prise": 1}, {"context_tokens": -5}, {"input_usd_per_mtok": "cheap"}])
def test_a_wrong_override_names_the_field(fields: dict[str, Any]) -> None:
    with pytest.raises(AgentTuiError, match=r"model\.facts\.m1\."):
        load_table({"m1": fields})


def test_h81_a_price_counts_cache_and_long_prompts() -> None:
    info = load_table().facts("anthropic", "claude-haiku-5-5").info
    usage = TokenUsage(
        input_tokens=40_000, output_tokens=10_000, cache_read_tokens=50_000, cache_write_tokens=8_000
    )
    longer = usage + TokenUsage(cache_read_tokens=10_000)

    short = 40_000 * 0.1 + 50_000 * 0.01 + 8_000 * 0.125 + 10_000 * 0.5
    assert cost_usd(usage, info) == pytest.approx(short / 1e6)
    assert cost_usd(longer, info) == pytest.approx((short + 10_000 * 0.01) * 5 / 1e6)


def test_h81_an_unknown_price_is_no_price() -> None:
    assert cost_usd(TokenUsage(input_tokens=5), ModelInfo(name="m")) is None


@pytest.mark.parametrize(
    ("model", "effort", "word"),
    [
        ("gpt-6.2-sol", "max", "max"),
        ("gpt-5.5", "max", "xhigh"),
        ("claude-sonnet-4-6", "max", "high"),
        ("gpt-6.2-sol", "", ""),
    ],
)
def test_effort_is_said_in_the_models_own_words(model: str, effort: Any, word: str) -> None:
    provider = "anthropic" if model.startswith("claude") else "openai"

    assert server_effort(effort, load_table().facts(provider, model)) == word


async def test_a_probe_ignores_a_list_that_is_an_error() -> None:
    async with ChatServer() as server:
        server._answer = lambda request: json_answer({"data": []}, code=401)  # type: ignore[method-assign]

        assert await probe([("vllm", server.url)]) == []


def test_rows_from_third_parties_are_marked_and_their_numbers_are_not_used() -> None:
    table = load_table()
    unconfirmed = [row for row in table.rows if not row.confirmed]

    assert {row.name for row in unconfirmed} == {"deepseek-v4-pro", "deepseek-v4-flash"}
    assert all("github.com" not in row.source for row in table.rows if row.confirmed)
    for row in unconfirmed:
        info = table.facts(row.provider, row.name).info
        assert (info.context_tokens, info.max_output_tokens, info.input_usd_per_mtok) == (None, None, None)


def test_a_row_the_user_writes_counts_and_brings_no_number_that_was_not_confirmed() -> None:
    table = load_table({"deepseek-v4-pro": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0}})

    info = table.facts("deepseek", "deepseek-v4-pro").info

    assert (info.input_usd_per_mtok, info.output_usd_per_mtok, info.context_tokens) == (1.0, 2.0, None)
