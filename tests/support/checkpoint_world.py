import os
import stat
from pathlib import Path
from typing import Any

from agent_tui.agent.checkpointed import CheckpointedRounds
from agent_tui.agent.checkpoints import Checkpoints
from agent_tui.agent.rewind import Rewind
from agent_tui.protocol.tools import ToolCall
from agent_tui.sessions.store import SessionStore
from tests.support.agent_world import FakeRounds, FakeTools
from tests.support.session_world import said, user


def state(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        if ".git" in path.relative_to(root).parts:
            continue
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_file():
            found[name] = ("file", stat.S_IMODE(path.stat().st_mode), path.read_bytes())
    return found


class Scene:
    def __init__(self, workspace: Path, tmp_path: Path, checkpoints: Checkpoints) -> None:
        self.store = SessionStore(tmp_path / "sessions")
        self.session = self.store.create(workspace)
        self.said: list[str] = []
        self.workspace = workspace
        self.action: Any = None
        inner = FakeRounds(answer=lambda _call: str(self.action()))
        tools = FakeTools()
        tools.readable = lambda name: name == "read"

        async def say(text: str) -> None:
            self.said.append(text)

        self.rounds = CheckpointedRounds(
            inner, checkpoints=checkpoints, tools=tools, keep=self.session.checkpoint, say=say
        )
        self.rewind = Rewind(self.session, checkpoints)

    async def turn(self, prompt: str, action: Any, *, tool: str = "bash") -> None:
        self.action = action
        await self.session.user_message(user(prompt), turn_id="t", text=prompt)
        await self.rounds.run([ToolCall(call_id="c", name=tool)], turn_id="t", round_index=0)
        await self.session.assistant_message(said("done"), turn_id="t")

    def prompts(self) -> list[str]:
        return [b.text for b in self.session.replay() if b.kind == "user"]
