import threading
from pathlib import Path

import pytest

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox import bwrap
from agent_tui.sandbox.bwrap import BwrapSandbox
from agent_tui.sandbox.interface import Confinement, Profile
from agent_tui.sandbox.late import LateSandbox
from agent_tui.sandbox.mounts import Found


def unreadable(workspace: Path, *_rest: object, **_options: object) -> None:
    raise PermissionError(13, "Permission denied", str(workspace / "d" / ".git"))


def test_strength_does_not_wait_for_the_search_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, ended = threading.Event(), threading.Event()

    def slow(*_: object) -> Found:
        may_end.wait(10)
        ended.set()
        return Found()

    monkeypatch.setattr(BwrapSandbox, "_look_around", slow)
    made = BwrapSandbox(tmp_path / "proj", home=tmp_path / "home", temp=tmp_path / "tmp")
    late = LateSandbox(lambda: made)

    strength, waited = late.strength, ended.is_set()
    may_end.set()
    late.close()

    assert (strength, waited) == (made.strength, False)


def test_a_git_folder_that_cannot_be_read_takes_nobody_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bwrap, "survey", unreadable)
    made = BwrapSandbox(tmp_path / "proj", home=tmp_path / "home", temp=tmp_path / "tmp")
    late = LateSandbox(lambda: made)

    assert late.strength is made.strength
    with pytest.raises(SandboxError, match=r"d/\.git cannot be looked at: Permission denied"):
        late.launch(["true"], cwd=tmp_path, confinement=Confinement(Profile.WORKSPACE), env={})
    late.close()
