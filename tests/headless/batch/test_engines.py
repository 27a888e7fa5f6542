import socket
from collections.abc import Iterator
from typing import Any

import pytest

from agent_tui.headless.batch.engines import _dask_client, _join_ray
from agent_tui.protocol.errors import AgentTuiError


class Ray:
    """Takes the place of the package; it would try a closed port for half a minute."""

    def __init__(self) -> None:
        self.joined: list[str | None] = []

    def init(self, *, address: str | None, **_: Any) -> None:
        self.joined.append(address)


class Dask:
    """Takes the place of the package `distributed`."""

    def Client(self, address: str, **_: Any) -> None:
        raise AssertionError(address)


@pytest.fixture
def bound() -> Iterator[socket.socket]:
    """A port of this machine where nobody listens, and nobody else can."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held


def place(held: socket.socket) -> str:
    host, port = held.getsockname()
    return f"{host}:{port}"


@pytest.mark.parametrize("kind", ["", "ray://"])
def test_a_ray_cluster_that_is_not_there_is_told_before_ray_begins_to_wait(
    bound: socket.socket, kind: str
) -> None:
    ray = Ray()

    with pytest.raises(
        AgentTuiError, match=rf"no Ray cluster answers at '{kind}127.0.0.1:\d+': Connection refused"
    ):
        _join_ray(ray, f"{kind}{place(bound)}", 2)

    assert ray.joined == []


def test_a_dask_scheduler_that_is_not_there_is_told_before_dask_begins_to_wait(bound: socket.socket) -> None:
    with (
        pytest.raises(
            AgentTuiError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:\d+': Connection refused"
        ),
        _dask_client(Dask(), f"tcp://{place(bound)}", 2),
    ):
        raise AssertionError


def test_a_ray_cluster_whose_port_is_open_is_joined(bound: socket.socket) -> None:
    bound.listen()
    ray = Ray()

    _join_ray(ray, place(bound), 2)

    assert ray.joined == [place(bound)]


@pytest.mark.parametrize("address", ["auto", "", "head:not-a-port", "anyscale://cluster:1", "[::1"])
def test_an_address_without_a_port_of_ours_is_left_to_ray(address: str) -> None:
    ray = Ray()

    _join_ray(ray, address, 2)

    assert ray.joined == [address or None]
