import stat
from pathlib import Path

import pytest

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.proxied import ProxiedNetwork


def test_missing_nsenter_is_named_before_anything_is_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(f"#!/bin/sh\ntouch {started}\n")
    bwrap.chmod(stat.S_IRWXU)
    network = ProxiedNetwork(bwrap, ["a.example"], nsenter=tmp_path / "nsenter")

    with pytest.raises(SandboxError, match=r"/nsenter is missing, .* install util-linux$"):
        network.prefix()

    assert not started.exists()
