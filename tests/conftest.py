import os
import re
import socket
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.left_running import LeftRunning

KEEP = {
    "PATH",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "VIRTUAL_ENV",
    "TERM",
    "CI",
    "SSL_CERT_FILE",
    "PYTHONDONTWRITEBYTECODE",
}


ATTACK = re.compile(r"_h_[cdfpst]\d+_")


LEFT_RUNNING = LeftRunning()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None]:
    """Let no test leave a program behind: it would be found by another test, when its remains are collected."""
    yield
    LEFT_RUNNING.check()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if ATTACK.search(item.name):
            item.add_marker("attack")


@pytest.fixture(autouse=True)
def _isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name not in KEEP and not name.startswith(
            ("PYTEST", "COV", "HYPOTHESIS", "PIP_", "AGENT_TUI_TEST")
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name, folder in {
        "CONFIG": ".config",
        "DATA": ".local/share",
        "STATE": ".local/state",
        "CACHE": ".cache",
    }.items():
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / folder))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "test@example.invalid")


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
            host = str(address[0])
            if not (host.startswith("127.") or host in {"::1", "localhost"}):
                raise OSError(f"a test must not reach {host}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    folder.mkdir()
    return folder
