import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.conftest import PROGRAM, Place, Served
from tests.e2e.test_offline import OPEN, READY, grace
from tests.support.fake_servers import Script, Tool, message
from tests.support.patience import until_now
from tests.support.terminal import Terminal

Serve = Callable[[Script], AbstractContextManager[Served]]
WROTE = Tool("w1", "write", {"file_path": "new.txt", "content": "by the agent\n"})


def session_ids(place: Place) -> list[str]:
    return [line.split()[0] for line in place.run("sessions", "list").stdout.splitlines() if " turn" in line]


def session_files(place: Place) -> list[Path]:
    return sorted((place.home / ".local/share/agent-tui/sessions").glob("*/*.jsonl"))


def say(terminal: Terminal, text: str, until: str) -> None:
    terminal.send(f"{text}\r")
    terminal.until(until)
    terminal.quiet(0.3)


def test_continue_goes_on_with_the_conversation_and_resume_finds_it_by_name(
    place: Place, serve: Serve
) -> None:
    with serve([message("First."), message("Second."), message("Third.")]) as served:
        assert place.run("-p", "say alpha", "--name", "petals", **served.env).returncode == 0
        assert place.run("-p", "say beta", "--continue", **served.env).returncode == 0
        assert place.run("-p", "say gamma", "--resume", "petals", **served.env).returncode == 0
        texts = json.dumps(served.requests[-1]["messages"])

    assert len(session_ids(place)) == 1
    assert [texts.count(word) for word in ("alpha", "First.", "beta", "Second.", "gamma")] == [1, 1, 1, 1, 1]


def test_x28_continue_without_a_session_says_so_and_begins_one(place: Place) -> None:
    done = place.run("-p", "help", "--continue")

    assert done.returncode == 0
    assert "no earlier session here" in done.stderr


def test_session_in_use_is_exit_75_headless_and_a_copy_on_the_screen(place: Place, serve: Serve) -> None:
    with serve([message("The first answer."), message("From the copy.")]) as served:
        with place.terminal(**served.env) as first:
            first.until(READY)
            say(first, "remember petals", "The first answer.")
            (original,) = session_ids(place)

            headless = place.run("-p", "go on", "--continue", **served.env)
            with place.terminal("--continue", **served.env) as second:
                screen = second.until("this is a copy of it")
                say(second, "go on", "From the copy.")

        copied = json.dumps(served.requests[-1]["messages"])

    assert headless.returncode == 75
    assert "in use" in headless.stderr or "another" in headless.stderr
    assert "remember petals" in screen
    assert "remember petals" in copied
    assert original in session_ids(place)
    assert len(session_ids(place)) == 2


def test_fork_session_leaves_the_original_and_session_id_names_a_new_one(place: Place) -> None:
    assert place.run("-p", "help", "--session-id", "mine-1").returncode == 0
    before = session_files(place)[0].read_bytes()

    forked = place.run("-p", "help", "--resume", "mine-1", "--fork-session")

    assert forked.returncode == 0, forked.stderr
    assert "copy" in forked.stderr
    assert len(session_ids(place)) == 2
    assert next(p for p in session_files(place) if p.stem == "mine-1").read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p", "x", "--fork-session"],
        ["-p", "x", "--session-id", "a", "--continue"],
        ["-p", "--resume"],
    ],
    ids=" ".join,
)
def test_session_flags_that_mean_nothing_are_exit_2(place: Place, arguments: list[str]) -> None:
    done = place.run(*arguments)

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_resume_without_an_id_opens_the_picker(place: Place) -> None:
    place.run("-p", "read README.md", "--name", "petals")

    with place.terminal("resume") as terminal:
        terminal.until("Enter opens")
        terminal.until("Counts petals.")
        terminal.send("\r")
        screen = terminal.until("read README.md")

    assert "petals" in screen


def test_interrupted_turn_is_explained_once_and_can_be_continued(place: Place, serve: Serve) -> None:
    calls = message("I wait.", tools=[Tool("b1", "bash", {"command": "sleep 50"})])
    config = place.home / ".config/agent-tui/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\nallow = ["Bash(sleep 50)"]\n')
    with serve([calls, message("Here I am again.")]) as served:
        with subprocess.Popen(
            [*PROGRAM, "-p", "wait", "--output-format", "stream-json"],
            cwd=place.project,
            env=place.env(**served.env),
            stdout=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdout is not None
            for line in program.stdout:
                if json.loads(line)["type"] == "tool_started":
                    break
            program.send_signal(signal.SIGKILL)
        with place.terminal("--continue", **served.env) as terminal:
            screen = terminal.until("The last turn was interrupted")
            say(terminal, "continue", "Here I am again.")
        results = json.dumps(served.requests[-1]["messages"])

    assert screen.count("The last turn was interrupted") == 1
    assert "Bash: sleep 50 (interrupted)" in screen
    assert "Interrupted: the program ended" in results


def deferred(place: Place, served: Served) -> tuple[str, str]:
    done = place.run("-p", "write it", "--on-approval", "defer", **served.env)
    assert done.returncode == 3
    assert not (place.project / "new.txt").exists()
    (session_id,) = session_ids(place)
    listed = place.run("approvals", "list").stdout
    return session_id, listed.split()[0]


def test_deferred_approval_is_shown_allowed_and_run_once(place: Place, serve: Serve) -> None:
    with serve([message("I write.", tools=[WROTE]), message("It is written.")]) as served:
        session_id, call_id = deferred(place, served)
        shown = place.run("approvals", "show", call_id).stdout
        waiting = place.run("-p", "--resume", session_id, **served.env)
        allowed = place.run("approvals", "allow", call_id)
        done = place.run("-p", "--resume", session_id, **served.env)
        again = place.run("-p", "--resume", session_id, **served.env)

    assert "+by the agent" in shown
    assert waiting.returncode == 3
    assert allowed.returncode == 0, allowed.stderr
    assert done.returncode == 0, done.stderr
    assert "It is written." in done.stdout
    assert (place.project / "new.txt").read_text() == "by the agent\n"
    assert again.returncode == 2


def test_deferred_approval_that_is_denied_does_not_run(place: Place, serve: Serve) -> None:
    with serve([message("I write.", tools=[WROTE]), message("I leave it.")]) as served:
        session_id, call_id = deferred(place, served)
        place.run("approvals", "deny", call_id, "--reason", "not now")
        done = place.run("-p", "--resume", session_id, **served.env)
        results = json.dumps(served.requests[-1]["messages"])

    assert done.returncode == 0, done.stderr
    assert "not now" in results
    assert not (place.project / "new.txt").exists()


def test_p11_forged_or_changed_answer_is_refused_with_the_reason(place: Place, serve: Serve) -> None:
    with serve([message("I write.", tools=[WROTE]), message("No.")]) as served:
        session_id, call_id = deferred(place, served)
        place.run("approvals", "allow", call_id)
        key = place.home / ".local/state/agent-tui/approvals.key"
        key.write_bytes(bytes(reversed(key.read_bytes())))
        done = place.run("-p", "--resume", session_id, **served.env)

    assert done.returncode == 3
    assert "signature is not ours" in done.stderr
    assert not (place.project / "new.txt").exists()


def test_p10_command_of_the_agent_cannot_approve_anything(place: Place, serve: Serve) -> None:
    with serve([message("I write.", tools=[WROTE])]) as served:
        _, call_id = deferred(place, served)

    refused = place.run("approvals", "allow", call_id, AGENT_TUI_CHILD="1")

    assert refused.returncode == 1
    assert "cannot approve" in refused.stderr


def test_pending_approval_is_asked_again_on_the_screen_and_never_run_unasked(
    place: Place, serve: Serve
) -> None:
    with serve([message("I write.", tools=[WROTE]), message("It is written.")]) as served:
        deferred(place, served)
        with place.terminal("--continue", **served.env) as terminal:
            terminal.until("Approvals were open")
            assert not (place.project / "new.txt").exists()
            terminal.send("/pending")
            terminal.until("› /pending")
            terminal.quiet(0.3)
            terminal.send("\r")
            grace(terminal)
            terminal.send("y\r")
            terminal.until("It is written.")

    assert (place.project / "new.txt").read_text() == "by the agent\n"


def test_undo_and_redo_move_files_and_conversation_and_spare_what_the_person_wrote(
    place: Place, serve: Serve
) -> None:
    calls = [WROTE, Tool("b1", "bash", {"command": "echo changed > README.md; rm tests/test_petals.py"})]
    readme, new = place.project / "README.md", place.project / "new.txt"
    gone, before = place.project / "tests/test_petals.py", (place.project / "README.md").read_bytes()
    with (
        serve([message("I change.", tools=calls), message("Changed.")]) as served,
        place.terminal(**served.env) as terminal,
    ):
        terminal.until(READY)
        terminal.send("change things\r")
        grace(terminal)
        for key in ("y", "y", "\r"):
            terminal.send(key)
            terminal.quiet(0.2)
        terminal.until(lambda text: OPEN not in text and "Changed." in text)
        assert readme.read_text() == "changed\n"
        assert not gone.exists()
        new.write_text("by hand\n")

        terminal.send("/undo\r")
        terminal.until("changed meanwhile")
        terminal.send("\r")
        terminal.until("Left as they are: new.txt")
        undone = (readme.read_bytes(), gone.exists(), new.read_text())
        terminal.send("\x15/redo\r")
        terminal.until("changed meanwhile")
        terminal.send("\r")
        terminal.until(lambda _: not gone.exists())
        terminal.quiet(0.3)

    assert undone == (before, True, "by hand\n")
    assert readme.read_text() == "changed\n"
    assert new.read_text() == "by hand\n"


def test_diff_and_export_show_what_the_session_did(place: Place, serve: Serve) -> None:
    with (
        serve([message("I write.", tools=[WROTE]), message("Written.")]) as served,
        place.terminal(**served.env) as terminal,
    ):
        terminal.until(READY)
        terminal.send("write it\r")
        grace(terminal)
        terminal.send("y\r")
        terminal.until("Written.")
        terminal.send("/diff session\r")
        shown = terminal.until("by the agent")
        terminal.send("r")
        terminal.until("new.txt is as it was before this session")
        gone = not (place.project / "new.txt").exists()
        terminal.send("u")
        terminal.until("again as it was before you took it back")
        terminal.send("\x1b")
        terminal.until(READY)
        terminal.quiet(0.2)
        terminal.send("/export html out.html\r")
        terminal.until("Written to")

    assert "Changes of this session · 1 file · +1 -0" in shown
    assert gone
    assert (place.project / "new.txt").read_text() == "by the agent\n"
    page = (place.project / "out.html").read_text()
    assert "write it" in page
    assert "<script" not in page


def test_program_that_was_killed_leaves_no_reader_behind(place: Place, serve: Serve) -> None:
    with (
        serve([message("I write.", tools=[WROTE]), message("Written.")]) as served,
        place.terminal(**served.env) as terminal,
    ):
        terminal.until(READY)
        terminal.send("write it\r")
        grace(terminal)
        children = readers(place)
        os.kill(terminal.pid, signal.SIGKILL)
        assert children
        until_now(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))


def readers(place: Place) -> list[str]:
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"checkpoint_worker" in line and os.fsencode(place.project) in line:
                found.append(entry.name)
    return found
