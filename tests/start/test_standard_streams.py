import os
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO, TextIOWrapper
from pathlib import Path

import pytest

from agent_tui import cli
from agent_tui.cli import guarded
from agent_tui.protocol.errors import UsageError
from agent_tui.run.standard_streams import refusal
from agent_tui.sessions.commands import main as sessions
from tests.support.patience import RUN_S


def run(
    arguments: Sequence[str], home: Path, *, closing: str = "", stdout: int = subprocess.PIPE, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the program by a shell, which can start it with standard streams closed."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closing}', "sh", sys.executable, "-m", "agent_tui", *arguments],
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **env},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=RUN_S,
        check=False,
    )


def test_closed_streams_are_no_fault(tmp_path: Path) -> None:
    without_output = run(["tool", "list", "--json", '{"path": "."}'], tmp_path, closing="<&- >&-")
    without_all = run(["sessions", "list"], tmp_path, closing="<&- >&- 2>&-")

    assert (without_output.returncode, without_output.stderr) == (0, "")
    assert without_all.returncode == 0
    assert not (tmp_path / ".local/state/agent-tui/agent-tui.log").exists()


def test_character_that_the_output_cannot_encode_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "petal \N{SUNFLOWER}.md").write_text("")

    done = run(["tool", "list", "--json", '{"path": "."}'], tmp_path, PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stderr) == (0, "")
    assert "petal \\U0001f33b.md" in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--version"], ["completion", "bash"], ["sessions", "list"]])
def test_output_that_takes_nothing_is_one_sentence(tmp_path: Path, arguments: list[str]) -> None:
    full = os.open("/dev/full", os.O_WRONLY)

    done = run(arguments, tmp_path, stdout=full)

    os.close(full)
    assert done.stderr == (
        "agent-tui: standard output cannot be written: No space left on device;"
        " send it elsewhere, or free some space\n"
    )
    assert done.returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["sessions", "list"],
        ["sessions", "--help"],
        ["permissions", "list"],
        ["config", "get"],
        ["tool", "--list"],
        ["-q", "--provider", "offline", "-p", "help"],
    ],
    ids=" ".join,
)
def test_reader_that_left_is_told_nothing(tmp_path: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = run(arguments, tmp_path, stdout=writing)

    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
    log = tmp_path / ".local/state/agent-tui/agent-tui.log"
    assert not log.exists() or "BrokenPipe" not in log.read_text()


def test_write_that_kept_nothing_back_is_seen_as_a_reader_that_left(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        code = guarded(lambda: fail(ExceptionGroup("a turn", [BrokenPipeError()])))

    assert (code, capfd.readouterr().err) == (141, "")


def test_broken_pipe_of_another_program_is_no_reader_that_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert guarded(lambda: fail(BrokenPipeError(32, "Broken pipe"))) == 1
    assert "Details: " in capsys.readouterr().err


def test_stream_that_refuses_is_silent_from_then_on(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    with TextIOWrapper(os.fdopen(writing, "wb")) as stream:
        stream.write("lost")

        assert isinstance(refusal(stream), BrokenPipeError)
        assert refusal(stream) is None


def fail(error: Exception) -> int:
    raise error


def test_value_of_megabytes_does_not_hide_what_is_wrong_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    guarded(lambda: fail(UsageError(f"--model {'x' * 1_000_000} is too long")))

    said = capsys.readouterr().err
    assert len(said) < 2_100
    assert said.startswith("agent-tui: --model xxx")
    assert said.endswith("xxx is too long\n")


def test_value_cannot_act_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    guarded(lambda: fail(UsageError("no profile a\x1b]0;title\x07 \u202e\x9b2J\nhere")))

    assert capsys.readouterr().err == r"agent-tui: no profile a\x1b]0;title\x07 \u202e\x9b2J" + "\nhere\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(28, "No space left on device"),
            "agent-tui cannot go on: No space left on device; free some space there.",
        ),
        (
            OSError(36, "File name too long", "/x" * 1_000),
            f"agent-tui cannot go on: '{'/x' * 100}': File name too long; use a shorter name.",
        ),
        (
            ExceptionGroup("of a task group", [PermissionError(13, "Permission denied", "/x")]),
            "agent-tui cannot go on: '/x': Permission denied; change its permissions.",
        ),
    ],
)
def test_what_the_machine_refuses_is_told_with_a_way_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    said: str,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    code = guarded(lambda: fail(error))

    log = tmp_path / "agent-tui/agent-tui.log"
    assert (code, capsys.readouterr().err) == (1, f"{said} Details: {log}\n")
    assert "Traceback" in log.read_text()


def test_surrogates_of_a_file_name_fit_into_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    guarded(lambda: fail(ValueError("\udcff")))

    assert r"\udcff" in capsys.readouterr().err
    assert r"\udcff" in (tmp_path / "agent-tui/agent-tui.log").read_text()


def test_fault_of_a_thread_goes_to_the_log(tmp_path: Path) -> None:
    code = (
        "import sys, threading; from agent_tui import cli; cli.main(['--version']);"
        "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=True,
    )

    assert done.stderr == ""
    assert "ZeroDivisionError" in (tmp_path / ".local/state/agent-tui/agent-tui.log").read_text()


@pytest.mark.parametrize("arguments", [["sessions", "list"], ["mcp", "list"], ["permissions", "list"]])
def test_directory_that_was_removed_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    code = cli.main(arguments)

    assert code == 2
    assert capsys.readouterr().err == (
        "agent-tui: cannot work in the current directory: No such file or directory; name a directory with -C DIR\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-C", "x" * 5_000], "name too long; name a directory with -C DIR"),
        (["--add-dir", "nowhere"], "--add-dir: 'nowhere' is no directory that can be read"),
        (["--file", "x" * 5_000], "--file: there is no 'xxx"),
        (
            ["--output-last-message", "/nodir/x"],
            "--output-last-message: cannot write '/nodir/x': No such file",
        ),
        (["-o", "notes.md/x"], "--output-last-message: cannot write 'notes.md/x': Not a directory"),
        (["--mcp-config", "nofile.json"], "--mcp-config: 'nofile.json': there is no such file"),
        (["--mcp-config", "notes.md"], "--mcp-config: 'notes.md': is not valid JSON"),
        (["--mcp-config", "[]"], "--mcp-config must be an object"),
        (
            ["--mcp-config", '{"servrs": {}}'],
            "--mcp-config: has no table of servers; give a file or a JSON text",
        ),
        (["--mcp-config", f"[{'1,' * 3000}1]"], "--mcp-config must be an object"),
        (["--settings", "nofile"], "--settings: 'nofile' cannot be read: No such file or directory\n"),
        (
            ["--settings", "notes.md"],
            "'notes.md' is not valid JSON, as which a file not called .toml is read: ",
        ),
        (["--settings", "{"], "--settings is not valid JSON: "),
        (["--settings", "/dev/zero"], "--settings: '/dev/zero' holds more than 1,000,000 bytes"),
        (["--system-prompt-file", "/dev/zero"], "'/dev/zero' holds more than 1,000,000 bytes"),
        (["--fallback-model", "offline,foo"], "Who has the model 'foo'?"),
        (["--mcp-config", '{"mcpServers": 5}'], "--mcp-config: mcpServers: a table is expected"),
        (["--image", "notes.md"], "notes.md is no image that a model can see"),
    ],
)
def test_flag_that_names_nothing_usable_is_refused_with_the_name(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    (tmp_path / "notes.md").write_text("petals")
    monkeypatch.chdir(tmp_path)

    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        code = cli.main(["-p", "--provider", "offline", "list", *arguments])

    assert code in (1, 2)
    assert said in capsys.readouterr().err


def test_nothing_else_is_written_where_nothing_refuses() -> None:
    assert refusal(StringIO()) is None


def test_reader_that_leaves_in_the_middle_is_told_nothing(tmp_path: Path) -> None:
    def say(text: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        sessions(["list"], root=tmp_path, workspace=tmp_path, say=say)
