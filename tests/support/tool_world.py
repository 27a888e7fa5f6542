import os
import shutil
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Permission
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.jobs import SessionJobs
from agent_tui.toolkit.testing import make_context
from agent_tui.toolkit.tool import Tool
from tests.support.patience import until

OWN = (
    "bash",
    "bash_output",
    "bash_kill",
    "glob",
    "grep",
    "webfetch",
    "websearch",
    "skill",
    "question",
    "exit_plan_mode",
)


@cache
def own_tools() -> dict[str, Tool[Any]]:
    loaded = load_tools(tools_dir(), source="test_own")
    assert not [failure for failure in loaded.failures if failure.path.stem in OWN]
    return {tool.name: tool for tool in loaded.tools}


@dataclass
class ToolWorld:
    """A workspace, jobs and live output; calls go as a round would send them."""

    ctx: ToolContext
    jobs: SessionJobs = field(default_factory=SessionJobs)
    live: list[str] = field(default_factory=list)
    asked: list[Permission] = field(default_factory=list)
    calls: int = 0

    @property
    def root(self) -> Path:
        return self.ctx.workspace

    async def run(self, tool_name: str, /, **arguments: Any) -> ToolResult:
        tool = own_tools()[tool_name]
        self.calls += 1
        ctx = replace(
            self.ctx, call_id=f"c{self.calls}", report=self._report, jobs=self.ctx.jobs or self.jobs
        )
        params = tool.params_type.model_validate(arguments)
        try:
            self.asked = list(tool.permissions(params, ctx))
            return await tool.run(params, ctx)
        except ToolError as error:
            return ToolResult.error(str(error))

    async def bash(self, command: str, **more: Any) -> ToolResult:
        return await self.run("bash", command=own(command), **more)

    async def timed_out(self, command: str, *, said: str) -> ToolResult:
        """Run what does not end by itself into a time limit that lets it say `said` first, however slow the machine."""
        for limit_ms in (1_000, 5_000):
            result = await self.bash(command, timeout=limit_ms)
            if said in result.output:
                return result
        return await self.bash(command, timeout=60_000)

    def permissions(self, tool_name: str, /, **arguments: Any) -> list[Permission]:
        tool = own_tools()[tool_name]
        return list(tool.permissions(tool.params_type.model_validate(arguments), self.ctx))

    async def preview(self, tool_name: str, /, **arguments: Any) -> DisplayResult | None:
        tool = own_tools()[tool_name]
        return await tool.preview(tool.params_type.model_validate(arguments), self.ctx)

    def shown(self, tool_name: str, result: ToolResult, /, **arguments: Any) -> DisplayResult:
        tool = own_tools()[tool_name]
        return tool.display.display_content(tool.params_type.model_validate(arguments), result)

    def title(self, tool_name: str, /, **arguments: Any) -> str:
        tool = own_tools()[tool_name]
        return tool.display.display_title(tool.params_type.model_validate(arguments))

    def summary(self, tool_name: str, result: ToolResult, /, **arguments: Any) -> str:
        tool = own_tools()[tool_name]
        return tool.compact_summary(tool.params_type.model_validate(arguments), result)

    def put(self, name: str, data: bytes | str = "") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    async def _report(self, text: str) -> None:
        self.live.append(text)


def make_world(workspace: Path) -> ToolWorld:
    return ToolWorld(make_context(workspace))


def body(result: ToolResult) -> str:
    """What the command printed, without the remarks below it."""
    return result.output.partition("(exit code:")[0]


def notes(result: ToolResult) -> list[str]:
    """The remarks below the output."""
    lines = result.output[len(body(result)) :].split("\n")
    return [line.removeprefix("(").removesuffix(")") for line in lines]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def own(text: str) -> str:
    """`text` with its long sleeps (`sleep 987.1`) told apart from those of other test processes."""
    return text.replace("987.", f"9{os.getpid()}.")


def processes_with(mark: str) -> list[int]:
    """Living processes of this test process whose command line holds `mark`."""
    mark = own(mark)
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in line and is_alive(int(entry.name)):
            found.append(int(entry.name))
    return found


async def gone(mark: str) -> bool:
    """Wait until no process holds `mark` any more."""
    try:
        await until(lambda: not processes_with(mark))
    except TimeoutError:
        return False
    return True


def path_without_rg(tmp_path: Path) -> str:
    """A PATH that has git and the rest but no rg."""
    folder = tmp_path / "bin-without-rg"
    folder.mkdir(exist_ok=True)
    for name in ("git", "bash", "env"):
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    return str(folder)
