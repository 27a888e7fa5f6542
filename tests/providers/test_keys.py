import os
from pathlib import Path

import pytest

from agent_tui.protocol.errors import AuthError
from agent_tui.providers import keys as keys_module
from agent_tui.providers.connect import ProviderSpec
from agent_tui.providers.keys import find_key, read_key_file, remove_key, store_key
from agent_tui.providers.loopback import probe
from tests.support.fake_servers import (
    ChatServer,
    page,
)


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
        other.listing = lambda: {"hello": "world"}
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
        server.listing = lambda: {"data": [{"id": "m", "owned_by": "vllm"}]}
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
