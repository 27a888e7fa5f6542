import base64
import os
from pathlib import Path

import pytest

from agent_tui.ui.app import AgentApp
from agent_tui.ui.clipboard import OSC_52_BYTES, Clipboard
from tests.support.screens import stage


def program(folder: Path, name: str, *, code: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(
        f'#!/bin/sh\necho "$0 $*" >> "{folder}/calls"\ncat > "{folder}/{name}.got"\nexit {code}\n'
    )
    file.chmod(0o755)
    return file


def surroundings(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin", **more}


def test_the_terminal_gets_one_osc_52() -> None:
    sent: list[str] = []
    Clipboard(sent.append, {}).put("grün")

    assert sent == [f"\x1b]52;c;{base64.b64encode('grün'.encode()).decode()}\x07"]


def test_more_than_terminals_take_is_not_sent_to_them() -> None:
    sent: list[str] = []
    Clipboard(sent.append, {}).put("x" * OSC_52_BYTES)

    assert sent == []


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("wl-copy", {"WAYLAND_DISPLAY": "wayland-0"}),
        ("xclip", {"DISPLAY": ":0"}),
        ("xsel", {"DISPLAY": ":0"}),
        ("pbcopy", {}),
        ("clip.exe", {}),
        ("tmux", {"TMUX": "/tmp/tmux-0/default,1,0"}),
    ],
)
def test_the_program_that_is_there_gets_the_text(
    tmp_path: Path, name: str, variables: dict[str, str]
) -> None:
    folder = program(tmp_path / "bin", name).parent
    clipboard = Clipboard(lambda _: None, surroundings(folder, **variables))

    assert clipboard.hand_over("a\tb\nc")
    assert (folder / f"{name}.got").read_text() == "a\tb\nc"


def test_over_ssh_no_program_of_the_far_desktop_is_asked(tmp_path: Path) -> None:
    folder = program(tmp_path / "bin", "xclip").parent
    clipboard = Clipboard(lambda _: None, surroundings(folder, DISPLAY=":0", SSH_TTY="/dev/pts/1"))

    assert not clipboard.hand_over("x")
    assert not (folder / "calls").exists()


def test_in_tmux_the_buffer_and_the_desktop_get_it(tmp_path: Path) -> None:
    folder = program(tmp_path / "bin", "tmux").parent
    program(folder, "wl-copy")
    clipboard = Clipboard(lambda _: None, surroundings(folder, WAYLAND_DISPLAY="w", TMUX="t"))

    clipboard.hand_over("x")

    assert (folder / "calls").read_text() == f"{folder}/tmux load-buffer -w -\n{folder}/wl-copy \n"


def test_a_program_that_fails_took_nothing(tmp_path: Path) -> None:
    folder = program(tmp_path / "bin", "pbcopy", code=1).parent

    assert not Clipboard(lambda _: None, surroundings(folder)).hand_over("x")


def test_a_program_of_a_relative_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin", "pbcopy")
    monkeypatch.chdir(tmp_path)

    assert Clipboard(lambda _: None, {"PATH": f"bin{os.pathsep}."}).commands() == []


async def test_what_is_copied_on_the_screen_reaches_the_desktops_program(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = program(tmp_path / "bin", "xclip").parent
    for name in ("SSH_TTY", "SSH_CONNECTION", "TMUX", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in surroundings(folder, DISPLAY=":0").items():
        monkeypatch.setenv(name, value)
    async with stage(workspace) as here:
        with monkeypatch.context() as shown:
            shown.setattr(AgentApp, "is_headless", False)
            here.app.actions.copy("a reply")
        got = folder / "xclip.got"
        await here.until(lambda: got.exists() and got.read_text() == "a reply")

        assert here.app.clipboard == "a reply"
