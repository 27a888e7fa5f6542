import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.checkpointed import CheckpointedRounds
from agent_tui.agent.checkpoints import Checkpoints
from agent_tui.agent.environment import Surroundings
from agent_tui.agent.rewind import Rewind
from agent_tui.conversation.changes import NOTHING_KEPT, SessionChanges
from agent_tui.conversation.past import SessionPast
from agent_tui.protocol.errors import AgentTuiError, NothingThereError
from agent_tui.protocol.tools import ToolCall
from agent_tui.sessions.session import Session
from agent_tui.sessions.store import CHECKPOINTS, SessionStore
from tests.support.agent_world import FakeRounds, FakeTools
from tests.support.session_world import said, user

LINES = [f"line {number}\n" for number in range(1, 21)]


@dataclass
class Here:
    record: Session
    checkpoints: Checkpoints | None
    surroundings: Surroundings
    told: list[str] = field(default_factory=list)
    busy: bool = False

    def __post_init__(self) -> None:
        self.workspace = self.record.workspace
        self.changes = SessionChanges(workspace=self.workspace, opened=lambda: self, reload=self._reload)
        self.action: Callable[[], object] = lambda: None
        tools = FakeTools()
        tools.readable = lambda name: False
        assert self.checkpoints is not None
        self.rounds = CheckpointedRounds(
            FakeRounds(answer=lambda _call: str(self.action())),
            checkpoints=self.checkpoints,
            tools=tools,
            keep=self.record.checkpoint,
            say=self._reload,
            busy=lambda: self.busy,
        )

    async def _reload(self, note: str) -> None:
        self.told.append(note)

    async def turn(self, action: Callable[[], object], prompt: str = "go") -> None:
        self.action = action
        await self.record.user_message(user(prompt), turn_id="t", text=prompt)
        await self.rounds.run([ToolCall(call_id="c", name="bash")], turn_id="t", round_index=0)
        await self.record.assistant_message(said("done"), turn_id="t")

    def write(self, name: str, *changed: tuple[int, str]) -> None:
        lines = list(LINES)
        for number, text in changed:
            lines[number - 1] = text
        (self.workspace / name).write_text("".join(lines))

    def lines(self, name: str) -> list[str]:
        return (self.workspace / name).read_text().splitlines(keepends=True)


@pytest.fixture
async def here(workspace: Path, tmp_path: Path) -> AsyncIterator[Here]:
    store = SessionStore(tmp_path / "sessions")
    checkpoints = Checkpoints(workspace, tmp_path / "sessions" / CHECKPOINTS)
    session = store.create(workspace)
    yield Here(session, checkpoints, Surroundings(workspace, trusted=True))
    await checkpoints.aclose()
    session.close()


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout


async def test_a_turn_and_a_session_are_compared_with_what_was_before_them(here: Here) -> None:
    here.write("a.txt")
    await here.turn(lambda: here.write("a.txt", (1, "first\n")), "one")
    await here.turn(lambda: here.write("a.txt", (1, "first\n"), (20, "last\n")), "two")

    turn, session = await here.changes.compare("turn"), await here.changes.compare("session")

    assert [(c.path, c.added, c.removed, c.conflict) for c in turn.changes] == [("a.txt", 1, 1, "")]
    assert [(c.path, c.added, c.removed, c.conflict) for c in session.changes] == [("a.txt", 2, 2, "")]
    assert "-line 20\n+last" in turn.changes[0].diff
    assert "line 1\n" not in turn.changes[0].diff


async def test_one_hunk_goes_back_and_comes_again_the_rest_stays(here: Here) -> None:
    here.write("a.txt")
    await here.turn(lambda: here.write("a.txt", (1, "first\n"), (20, "last\n")))
    await here.changes.compare("turn")

    done = await here.changes.revert("a.txt", 0)
    taken = here.lines("a.txt")
    said_again = await here.changes.undo_revert()

    assert (done.done, done.said) == (True, "part 1 of a.txt is as it was before this turn.")
    assert (taken[0], taken[-1]) == ("line 1\n", "last\n")
    assert "again" in said_again
    assert (here.lines("a.txt")[0], here.lines("a.txt")[-1]) == ("first\n", "last\n")
    assert "part 1 of a.txt" in here.told[0]


async def test_a_whole_file_goes_back_created_deleted_and_changed_in_mode(here: Here) -> None:
    here.write("gone.txt")
    here.write("run.sh")
    modes = (here.workspace / "run.sh").stat().st_mode

    def act() -> None:
        (here.workspace / "gone.txt").unlink()
        (here.workspace / "run.sh").chmod(0o755)
        (here.workspace / "deep").mkdir()
        (here.workspace / "deep/new.txt").write_text("new\n")

    await here.turn(act)
    for path in ("gone.txt", "run.sh", "deep/new.txt"):
        await here.changes.compare("turn")
        assert (await here.changes.revert(path)).done

    assert here.lines("gone.txt") == LINES
    assert (here.workspace / "run.sh").stat().st_mode == modes
    assert not (here.workspace / "deep").exists()
    assert (await here.changes.compare("turn")).changes == []


async def test_what_the_person_wrote_since_is_asked_about_with_its_difference(here: Here) -> None:
    here.write("a.txt")
    await here.turn(lambda: here.write("a.txt", (1, "first\n")))
    here.write("a.txt", (1, "first, by hand\n"), (20, "mine\n"))

    (view,) = (await here.changes.compare("turn")).changes
    asked = await here.changes.revert("a.txt")
    untouched = here.lines("a.txt")
    sure = await here.changes.revert("a.txt", sure=True)

    assert view.conflict == "changed by hand since the agent's last round"
    assert (asked.done, "-first\n+first, by hand" in asked.asks) == (False, True)
    assert untouched[0] == "first, by hand\n"
    assert sure.done
    assert here.lines("a.txt") == LINES


async def test_a_hunk_without_the_persons_lines_needs_no_question(here: Here) -> None:
    here.write("a.txt")
    await here.turn(lambda: here.write("a.txt", (1, "first\n")))
    here.write("a.txt", (1, "first\n"), (20, "mine\n"))
    await here.changes.compare("turn")

    its, mine = await here.changes.revert("a.txt", 0), await here.changes.revert("a.txt", 1)

    assert (its.done, its.asks) == (True, "")
    assert mine.done is False
    assert here.lines("a.txt") == [*LINES[:-1], "mine\n"]


async def test_a_file_that_changed_since_it_was_shown_is_left_alone_however_sure(here: Here) -> None:
    here.write("a.txt")
    await here.turn(lambda: here.write("a.txt", (1, "first\n"), (20, "last\n")))
    await here.changes.compare("turn")
    here.write("a.txt", (2, "in this very moment\n"))

    for hunk in (None, 0):
        done = await here.changes.revert("a.txt", hunk, sure=True)
        assert (done.done, "changed since it was shown" in done.said) == (False, True)

    assert here.lines("a.txt")[1] == "in this very moment\n"


async def test_what_changed_while_a_job_ran_is_marked_as_the_jobs_or_the_persons(here: Here) -> None:
    here.busy = True
    await here.turn(lambda: here.write("log.txt"))

    (view,) = (await here.changes.compare("turn")).changes
    asked = await here.changes.revert("log.txt")

    assert view.conflict == "changed by you or by a background job while the agent worked"
    assert (asked.done, bool(asked.asks)) == (False, True)


async def test_what_was_taken_back_is_not_brought_again_by_undo_unasked(here: Here) -> None:
    await here.turn(lambda: here.write("a.txt"), "one")
    await here.turn(lambda: here.write("b.txt"), "two")
    await here.changes.compare("session")
    await here.changes.revert("a.txt")

    await Rewind(here.record, here.checkpoints).undo()

    assert not (here.workspace / "a.txt").exists()
    assert not (here.workspace / "b.txt").exists()


async def test_taking_one_file_back_does_not_make_the_persons_other_files_the_agents(here: Here) -> None:
    await here.turn(lambda: here.write("a.txt"))
    here.write("mine.txt")
    await here.changes.compare("session")
    assert (await here.changes.revert("a.txt")).done

    again = await here.changes.compare("session")
    asked = await here.changes.revert("mine.txt")
    await Rewind(here.record, here.checkpoints).undo()

    assert [(view.path, bool(view.conflict)) for view in again.changes] == [("mine.txt", True)]
    assert (asked.done, bool(asked.asks)) == (False, True)
    assert here.lines("mine.txt") == LINES


async def test_bringing_one_file_back_does_not_make_the_persons_other_files_the_agents(here: Here) -> None:
    await here.turn(lambda: here.write("a.txt"))
    await here.changes.compare("session")
    assert (await here.changes.revert("a.txt")).done
    here.write("mine.txt")
    await here.changes.undo_revert()

    await Rewind(here.record, here.checkpoints).undo()

    assert not (here.workspace / "a.txt").exists()
    assert here.lines("mine.txt") == LINES


async def test_a_look_at_the_changes_does_not_hide_whose_they_are(here: Here) -> None:
    await here.turn(lambda: here.write("a.txt"), "one")
    here.write("a.txt", (1, "by hand\n"))
    await here.changes.compare("session")
    await here.turn(lambda: here.write("b.txt"), "two")

    first = Rewind(here.record, here.checkpoints).points()[0].entry_id
    await Rewind(here.record, here.checkpoints).to(first)

    assert here.lines("a.txt")[0] == "by hand\n"


async def test_binary_files_and_links_go_back_whole(here: Here) -> None:
    (here.workspace / "b.bin").write_bytes(b"\0\1\2")
    (here.workspace / "link").symlink_to("b.bin")

    def act() -> None:
        (here.workspace / "b.bin").write_bytes(b"\0\3")
        (here.workspace / "link").unlink()
        (here.workspace / "link").symlink_to("elsewhere")

    await here.turn(act)
    await here.changes.compare("turn")
    with pytest.raises(AgentTuiError, match="no part 1"):
        await here.changes.revert("b.bin", 0)
    for path in ("b.bin", "link"):
        await here.changes.compare("turn")
        assert (await here.changes.revert(path)).done

    assert (here.workspace / "b.bin").read_bytes() == b"\0\1\2"
    assert (here.workspace / "link").readlink() == Path("b.bin")


async def test_other_encodings_and_line_ends_survive_a_hunk(here: Here) -> None:
    file = here.workspace / "a.txt"
    old = [f"zeile {number} ä\r\n" for number in range(20)]
    file.write_bytes("".join(old).encode("utf-16"))
    new = ["erste\r\n", *old[1:19], "letzte"]
    await here.turn(lambda: file.write_bytes("".join(new).encode("utf-16")))
    await here.changes.compare("turn")

    await here.changes.revert("a.txt", 1)

    assert file.read_bytes().decode("utf-16") == "".join(["erste\r\n", *old[1:]])


async def test_what_was_taken_back_in_one_session_is_not_brought_back_in_the_next(
    here: Here, workspace: Path, tmp_path: Path
) -> None:
    store = SessionStore(tmp_path / "sessions")
    cleared = Here(store.create(workspace), here.checkpoints, here.surroundings)
    opened = [here, cleared]
    past = SessionPast(workspace=workspace, store=store, opened=lambda: opened[0], reload=here._reload)
    await here.turn(lambda: here.write("a.txt"))
    await past.changes.compare("turn")
    assert (await past.changes.revert("a.txt")).done

    opened.remove(here)
    said = await past.changes.undo_revert()

    assert said == "Nothing was taken back here."
    assert not (workspace / "a.txt").exists()
    cleared.record.close()


async def test_without_a_checkpoint_there_is_a_sentence(here: Here) -> None:
    with pytest.raises(NothingThereError, match=NOTHING_KEPT):
        await here.changes.compare("session")
    with pytest.raises(AgentTuiError, match="not among the changes"):
        await here.changes.revert("a.txt")
    assert "Nothing" in await here.changes.undo_revert()


async def branch(here: Here) -> None:
    """Make a repository whose branch `work` changed files, committed and not, since `main`."""
    folder = here.workspace
    git(folder, "init", "-q", "-b", "main")
    for name in ("a.txt", "gone.txt", "same.txt"):
        here.write(name)
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    git(folder, "checkout", "-qb", "work")
    here.write("a.txt", (1, "committed\n"))
    git(folder, "rm", "-q", "gone.txt")
    git(folder, "commit", "-qam", "work")
    git(folder, "checkout", "-q", "main")
    here.write("same.txt", (5, "main went on\n"))
    git(folder, "commit", "-qam", "main")
    git(folder, "checkout", "-q", "work")
    (folder / "noise.log").write_text("ignored\n")


async def test_a_branch_is_compared_with_its_merge_base(here: Here) -> None:
    await branch(here)
    here.write("a.txt", (1, "committed\n"), (20, "not committed\n"))
    (here.workspace / "new.txt").write_text("untracked\n")
    base = git(here.workspace, "merge-base", "main", "work")[:7]
    status = git(here.workspace, "status", "--porcelain")

    found = await here.changes.compare("branch")

    assert found.since == f"main ({base})"
    assert [(c.path, c.added, c.removed) for c in found.changes] == [
        ("a.txt", 2, 2),
        ("gone.txt", 0, 20),
        ("new.txt", 1, 0),
    ]
    assert {c.conflict for c in found.changes} == {"not changed by the agent alone"}
    assert git(here.workspace, "status", "--porcelain") == status


async def test_a_file_and_a_hunk_go_back_to_the_merge_base_when_the_person_is_sure(here: Here) -> None:
    await branch(here)
    here.write("a.txt", (1, "committed\n"), (20, "not committed\n"))
    found = await here.changes.compare("branch")

    asked = await here.changes.revert("a.txt", 0)
    assert not asked.done
    assert (await here.changes.revert("a.txt", 0, sure=True)).done
    await here.changes.compare("branch")
    gone = await here.changes.revert("gone.txt", sure=True)
    assert (gone.done, gone.said) == (True, f"gone.txt is as it was at {found.since}.")

    assert here.lines("a.txt") == [*LINES[:-1], "not committed\n"]
    assert here.lines("gone.txt") == LINES


async def test_what_the_agent_alone_changed_on_the_branch_goes_back_without_a_question(here: Here) -> None:
    await branch(here)
    await here.turn(lambda: here.write("same.txt", (3, "by the agent\n")))
    found = await here.changes.compare("branch")

    done = await here.changes.revert("same.txt")

    assert {c.path: c.conflict for c in found.changes}["same.txt"] == ""
    assert done.done
    assert here.lines("same.txt") == LINES


async def test_a_subfolder_of_a_repository_sees_only_its_own_files(workspace: Path, tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "sub").mkdir(parents=True)
    git(top, "init", "-q", "-b", "trunk")
    for name in ("outer.txt", "sub/inner.txt"):
        (top / name).write_text("1\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "base")
    for name in ("outer.txt", "sub/inner.txt", "sub/new.txt"):
        (top / name).write_text("2\n")
    store = SessionStore(tmp_path / "sessions")
    checkpoints = Checkpoints(top / "sub", tmp_path / "sessions" / CHECKPOINTS)
    session = store.create(top / "sub")
    inside = Here(session, checkpoints, Surroundings(top / "sub", trusted=True))

    found = await inside.changes.compare("branch")
    await checkpoints.aclose()
    session.close()

    assert found.since.startswith("trunk (")
    assert [c.path for c in found.changes] == ["inner.txt", "new.txt"]


async def test_git_runs_nothing_that_a_repository_names_and_is_not_asked_without_trust(
    here: Here, tmp_path: Path
) -> None:
    await branch(here)
    mark = tmp_path / "ran"
    for key in ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand"):
        git(here.workspace, "config", key, f"touch {mark}; true")
    git(here.workspace, "config", "diff.evil.textconv", f"touch {mark}; cat")
    (here.workspace / ".gitattributes").write_text("*.txt diff=evil\n")

    await here.changes.compare("branch")
    here.surroundings = Surroundings(here.workspace, trusted=False)
    with pytest.raises(AgentTuiError, match="trust"):
        await here.changes.compare("branch")

    assert not mark.exists()


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda folder: None, "in no git repository"),
        (lambda folder: git(folder, "init", "-q", "-b", "odd"), "No default branch"),
    ],
)
async def test_without_a_branch_to_compare_with_a_sentence_says_so(
    here: Here, prepare: Any, words: str
) -> None:
    prepare(here.workspace)

    with pytest.raises(AgentTuiError, match=words):
        await here.changes.compare("branch")
