import io
from pathlib import Path

import pytest

from agent_tui.cli import main


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["tool", "raed"], "no tool named 'raed'; did you mean 'read'?"),
        (["-p", "x", "--tools", "raed"], "did you mean 'read'?"),
        (["config", "get", "ui.thme"], "No setting named 'ui.thme'; did you mean 'ui.theme'?"),
        (["config", "set", "theme", "nord"], "is not a setting; did you mean 'ui.theme'?"),
        (["auth", "remove", "antropic"], "no provider 'antropic' takes a key; did you mean 'anthropic'?"),
        (["-p", "x", "--provider", "antropic"], "did you mean 'anthropic'"),
        (["-p", "x", "--agent", "explor"], "did you mean 'explore'?"),
        (["-p", "x", "--permission-mode", "pln"], "did you mean 'plan'?"),
        (["-p", "x", "--setting-sources", "usr"], "did you mean 'user'?"),
        (["-p", "x", "--effort", "hig"], "did you mean 'high'?"),
        (["permissions", "lst"], "did you mean 'list'?"),
        (["sessions", "lst"], "did you mean 'list'?"),
        (["mcp", "lst"], "did you mean 'list'?"),
        (["approvals", "lst"], "did you mean 'list'?"),
        (["config", "gte"], "Did you mean 'get'?"),
        (["completion", "bsh"], "did you mean 'bash'?"),
        (["config", "set", "ui.theme", "nord", "--scope", "usr"], "did you mean 'user'?"),
        (["config", "set", "ui.theme", "nord", "--scop", "user"], "--scope"),
        (["-p", "x", "--output-format", "jsn"], "did you mean 'json'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refused_name_comes_with_what_may_be_meant(
    workspace: Path,
    arguments: list[str],
    meant: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))

    try:
        code = main(arguments)
    except SystemExit as left:
        code = int(str(left.code))

    said = capsys.readouterr().err
    assert code in (1, 2)
    assert meant in said
