"""Values nested deeper than Python goes are bad input like any other."""

import json
import tomllib
from pathlib import Path

import pytest

from agent_tui import cli
from agent_tui.agent.history import repair
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.messages import AssistantMessage, TextBlock, ToolUseBlock, UserMessage
from agent_tui.protocol.toml_text import parse_toml

DEEP = "[" * 100_000


def test_too_deep_is_no_json_and_no_toml() -> None:
    with pytest.raises(json.JSONDecodeError, match="nested too deeply"):
        parse_json(DEEP)
    with pytest.raises(tomllib.TOMLDecodeError, match="nested too deeply"):
        parse_toml(f"a = {DEEP}")


@pytest.fixture
def deep_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = tmp_path / "config/agent-tui"
    (config / "themes").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    for name in ("config.toml", "keymap.toml", "themes/mine.toml"):
        (config / name).write_text(f"a = {DEEP}")
    (tmp_path / ".mcp.json").write_text(DEEP)
    return config


@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "validate"],
        ["config", "set", "ui.theme", "dark"],
        ["mcp", "list"],
        ["permissions", "list"],
        ["doctor"],
    ],
)
def test_file_that_is_nested_too_deeply_is_named(
    deep_files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    cli.main(arguments)

    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert str(deep_files / "config.toml") in said
    assert "agent-tui made a mistake" not in said


def test_call_with_arguments_that_are_nested_too_deeply_is_repaired() -> None:
    call = ToolUseBlock(id="c1", name="read", arguments_json=DEEP)

    repaired = repair(
        [UserMessage(content=(TextBlock(text="go"),)), AssistantMessage(content=(call,))], "openai", "m"
    )

    block = repaired[1].content[0]
    assert isinstance(block, ToolUseBlock)
    assert json.loads(block.arguments_json) == {}
