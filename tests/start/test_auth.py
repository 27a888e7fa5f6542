import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.protocol.errors import UsageError
from agent_tui.providers.kept_keys import cleaned_key, forget_key, key_names, set_key, status_lines
from agent_tui.providers.keys import read_key_file
from tests.support.patience import RUN_S


def test_a_key_is_kept_in_a_file_only_its_owner_reads(tmp_path: Path) -> None:
    key_file = tmp_path / "state" / "keys.json"

    said = set_key("openai", " sk-abc \n", key_file=key_file, use_keyring=False)

    assert str(key_file) in said
    assert read_key_file(key_file) == {"openai": "sk-abc"}
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600


def test_status_names_the_place_and_never_the_key(tmp_path: Path) -> None:
    key_file = tmp_path / "keys.json"
    set_key("deepseek", "sk-secret-1", key_file=key_file, use_keyring=False)

    lines = status_lines({"ANTHROPIC_API_KEY": "sk-secret-2"}, key_file=key_file)

    assert len(lines) == len(key_names())
    assert any(line.split() == ["anthropic", "key", "from", "ANTHROPIC_API_KEY"] for line in lines)
    assert any(line.startswith("deepseek") and str(key_file) in line for line in lines)
    assert any("set OPENAI_API_KEY" in line for line in lines)
    assert "secret" not in " ".join(lines)


def test_a_removed_key_is_gone(tmp_path: Path) -> None:
    key_file = tmp_path / "keys.json"
    set_key("openai", "sk-abc", key_file=key_file, use_keyring=False)

    assert str(key_file) in forget_key("openai", key_file=key_file)
    assert read_key_file(key_file) == {}
    assert "No key" in forget_key("openai", key_file=key_file)


@pytest.mark.parametrize("given", ["“sk-x1”", "'sk-x1'", '"sk-x1"\n', "\tsk-x1 "])
def test_cf_07_quotes_and_blanks_around_a_key_are_taken_off(given: str) -> None:
    assert cleaned_key(given) == "sk-x1"


@pytest.mark.parametrize("given", ["", "  \n", "two words", "schlüssel", "a\x00b"])
def test_cf_07_what_is_no_key_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="no key"):
        cleaned_key(given)


@pytest.mark.parametrize("provider", ["nobody", "ollama", "bedrock"])
def test_a_provider_without_a_key_of_ours_is_refused(provider: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=provider):
        set_key(provider, "k", key_file=tmp_path / "keys.json")


def run(*arguments: str, home: Path, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agent_tui", "auth", *arguments],
        input=stdin,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", **env},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_S,
    )


def test_the_command_reads_the_key_from_standard_input_and_the_agent_may_not(tmp_path: Path) -> None:
    inside = run("set", "openai", home=tmp_path, stdin="sk-abc\n", AGENT_TUI_CHILD="1")
    done = run("set", "openai", "--no-keyring", home=tmp_path, stdin="sk-abc\n")

    assert (inside.returncode, done.returncode) == (2, 0)
    assert "by a person" in inside.stderr
    assert "sk-abc" not in done.stdout + done.stderr
    assert read_key_file(tmp_path / ".local/state/agent-tui/keys.json") == {"openai": "sk-abc"}
