import shutil
from pathlib import Path

import pytest

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.bwrap import BWRAP, BwrapSandbox
from agent_tui.sandbox.interface import Confinement, Profile
from agent_tui.sandbox.network import HeldNetwork
from agent_tui.sandbox.proxied import ProxiedNetwork

HERE = Path("/")


@pytest.mark.parametrize(
    "confinement",
    [
        Confinement(Profile.READ_ONLY),
        Confinement(Profile.WORKSPACE),
        Confinement(Profile.WORKSPACE, hosts=("a.example",)),
    ],
    ids=["read only", "workspace", "hosts"],
)
def test_a_sandbox_that_is_closed_makes_nothing_anew(tmp_path: Path, confinement: Confinement) -> None:
    (tmp_path / "proj").mkdir()
    sandbox = BwrapSandbox(tmp_path / "proj", home=tmp_path / "home", temp=tmp_path / "tmp")
    sandbox.close()

    with pytest.raises(SandboxError, match="closed"):
        sandbox.launch(["true"], cwd=HERE, confinement=confinement, env={})
    with pytest.raises(SandboxError, match="closed"):
        sandbox.warm_up()

    assert [path.name for path in tmp_path.iterdir()] == ["proj"]


@pytest.mark.parametrize("kind", ["held", "proxied"])
def test_a_network_that_is_closed_starts_no_other_holder(tmp_path: Path, kind: str) -> None:
    nsenter = Path(shutil.which("true") or "/bin/true")
    network = (
        HeldNetwork(BWRAP, nsenter=nsenter)
        if kind == "held"
        else ProxiedNetwork(BWRAP, ["a.example"], nsenter=nsenter)
    )
    network.close()

    with pytest.raises(SandboxError, match="closed"):
        network.prefix()
