import inspect
import os
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_tui.agent.checkpointed import CheckpointedRounds
from agent_tui.agent.checkpoints import Checkpoints
from agent_tui.agent.rewind import Rewind
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.tools import BatchResult, ToolCall
from agent_tui.sessions.store import CHECKPOINTS, SessionStore
from agent_tui.toolkit.testing import make_context
from tests.support.agent_world import FakeRounds, FakeTools
from tests.support.file_world import load_file_tools, preview_of
from tests.support.session_world import said, user
from tests.support.tool_world import ToolWorld

TURNS = int(os.environ.get("AGENT_TUI_TEST_TURNS", "50"))
NAMES = ("a.txt", "b.txt", "deep/c.txt", "deep/er/d.txt", "mit ü.txt", "run.sh")
COMMANDS = (
    "echo {n} > '{one}'",
    "mkdir -p deep/er && printf 'x\\0{n}' > '{one}'",
    "rm -f '{one}'",
    "rm -rf deep",
    "mv -f '{one}' '{two}'",
    "chmod 755 '{one}'; chmod 600 '{two}'",
    "ln -sf '{one}' link-{m}",
    "ln -sfn deep folder-link",
    "cp -a '{one}' '{two}'; touch -d 2001-01-01 '{two}'",
    "sed -i 's/1/2/' '{one}'",
    "rm -f '{one}'; mkdir '{one}'; echo inside > '{one}/file'",
    "echo '*.log' >> .gitignore; echo {n} > noise.log",
    "echo nothing",
)


class RealRounds:
    """Runs the bundled tools as a round would, without asking."""

    def __init__(self, root: Path, data: Path) -> None:
        self._shell = ToolWorld(make_context(root, data_dir=data))
        self._files = load_file_tools()
        self._answer = FakeRounds()
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def run(self, calls: Sequence[ToolCall], **more: Any) -> BatchResult:
        for name, arguments in self.calls:
            if name == "bash":
                await self._shell.run("bash", **arguments)
            else:
                await self._file_tool(name, arguments)
        return await self._answer.run(calls, **more)

    async def _file_tool(self, name: str, arguments: dict[str, Any]) -> None:
        tool, ctx = self._files[name], self._shell.ctx
        ctx.files.start_round()
        params = tool.params_type.model_validate(arguments)
        try:
            await preview_of(tool, params, ctx)
            answer = tool.run(params, ctx)
            assert not inspect.isawaitable(answer)
        except ToolError:
            return  # a target that is a folder, a file that was not read: as a model would meet it

    def cancel(self) -> None: ...


class Turns:
    def __init__(self, workspace: Path, data: Path, checkpoints: Checkpoints) -> None:
        self.root = workspace
        self.session = SessionStore(data / "sessions").create(workspace)
        self.inner = RealRounds(workspace, data / "outputs")
        tools = FakeTools()
        tools.readable = lambda name: False
        self.troubles: list[str] = []

        async def say(text: str) -> None:
            self.troubles.append(text)

        self.rounds = CheckpointedRounds(
            self.inner, checkpoints=checkpoints, tools=tools, keep=self.session.checkpoint, say=say
        )
        self.rewind = Rewind(self.session, checkpoints)

    async def play(self, number: int, calls: list[tuple[str, dict[str, Any]]]) -> None:
        self.inner.calls = calls
        await self.session.user_message(user(f"turn {number}"), turn_id="t", text=f"turn {number}")
        await self.rounds.run([ToolCall(call_id=f"c{number}", name="bash")], turn_id="t", round_index=0)
        await self.session.assistant_message(said("done"), turn_id="t")


def some_calls(rng: random.Random, number: int) -> list[tuple[str, dict[str, Any]]]:
    calls: list[tuple[str, dict[str, Any]]] = []
    for _ in range(rng.randint(1, 3)):
        one, two = rng.sample(NAMES, 2)
        match rng.randint(0, 3):
            case 0:
                calls += [
                    ("read", {"file_path": one}),
                    ("write", {"file_path": one, "content": f"1 {number}\n" * 9}),
                ]
            case 1:
                edit = {"file_path": one, "old_string": "1", "new_string": "one", "replace_all": True}
                calls += [("read", {"file_path": one}), ("edit", edit)]
            case _:
                command = rng.choice(COMMANDS).format(one=one, two=two, n=number, m=number % 3)
                calls.append(("bash", {"command": command}))
    return calls


def state(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix == ".log":
            continue  # ignored, so it is not covered
        if path.is_symlink():
            found[str(path.relative_to(root))] = ("link", os.readlink(path))
        elif path.is_file():
            found[str(path.relative_to(root))] = (path.stat().st_mode, path.read_bytes())
    return found


@pytest.fixture
async def turns(workspace: Path, tmp_path: Path) -> AsyncIterator[Turns]:
    checkpoints = Checkpoints(workspace, tmp_path / "sessions" / CHECKPOINTS)
    made = Turns(workspace, tmp_path, checkpoints)
    yield made
    await checkpoints.aclose()
    await made.session.aclose()


async def test_tools_and_commands_of_random_turns_are_undone_and_redone_byte_for_byte(turns: Turns) -> None:
    rng = random.Random(50)
    states = [state(turns.root)]
    for number in range(TURNS):
        await turns.play(number, some_calls(rng, number))
        states.append(state(turns.root))

    for expected in reversed(states[:-1]):
        await turns.rewind.undo()
        assert state(turns.root) == expected
    for expected in states[1:]:
        await turns.rewind.redo()
        assert state(turns.root) == expected
    assert turns.troubles == []
    assert len({str(one) for one in states}) > TURNS // 2


async def test_what_is_written_by_hand_between_random_turns_is_in_its_place_after_every_move(
    turns: Turns,
) -> None:
    rng = random.Random(51)
    mine = turns.root / "mine.txt"
    for number in range(TURNS // 3):
        await turns.play(number, some_calls(rng, number))
        mine.write_text(f"by hand {number}\n")

    for _ in range(TURNS * 2):
        if rng.random() < 0.5:
            await turns.rewind.undo()
        else:
            await turns.rewind.redo()
        assert mine.read_text() == f"by hand {TURNS // 3 - 1}\n"
