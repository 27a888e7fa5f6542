import asyncio
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.display import ChangePreview, DisplayResult
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Permission
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.testing import make_context
from agent_tui.toolkit.tool import Tool

FILE_TOOLS = ("read", "write", "edit", "patch", "list", "todowrite", "todoread")


def load_file_tools() -> dict[str, Tool[Any]]:
    loaded = load_tools(tools_dir(), source="test_files")
    assert not [failure for failure in loaded.failures if failure.path.stem in FILE_TOOLS]
    return {tool.name: tool for tool in loaded.tools if tool.name in FILE_TOOLS}


@dataclass
class FileWorld:
    """A workspace with the file tools, driven as a round would drive them."""

    ctx: ToolContext
    tools: dict[str, Tool[Any]]
    calls: int = 0
    asked: list[Permission] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.ctx.workspace

    def next_round(self) -> None:
        self.ctx.files.start_round()

    def call_context(self, call_id: str = "") -> ToolContext:
        self.calls += 1
        return replace(self.ctx, call_id=call_id or f"c{self.calls}")

    def run(self, name: str, **arguments: Any) -> ToolResult:
        """One call in a round of its own: permissions, preview, approval as shown, run."""
        self.next_round()
        return self.run_in_round(name, **arguments)

    def run_in_round(self, name: str, **arguments: Any) -> ToolResult:
        tool, ctx = self.tools[name], self.call_context()
        try:
            params = tool.params_type.model_validate(arguments)
            self.asked = list(tool.permissions(params, ctx))
            shown = asyncio.run(preview_of(tool, params, ctx))
            if isinstance(shown, ChangePreview):
                ctx.files.expect(ctx.call_id, shown.bases)
            return tool.run(params, ctx)
        except ToolError as error:
            return ToolResult.error(str(error))

    def only_run(self, name: str, *, call_id: str = "", **arguments: Any) -> ToolResult:
        """The run alone, as for a call that a rule allows."""
        tool, ctx = self.tools[name], self.call_context(call_id)
        try:
            return tool.run(tool.params_type.model_validate(arguments), ctx)
        except ToolError as error:
            return ToolResult.error(str(error))

    def preview(self, name: str, *, call_id: str = "", **arguments: Any) -> ChangePreview:
        tool, ctx = self.tools[name], self.call_context(call_id)
        params = tool.params_type.model_validate(arguments)
        tool.permissions(params, ctx)
        shown = asyncio.run(preview_of(tool, params, ctx))
        assert isinstance(shown, ChangePreview)
        return shown

    def shown(self, name: str, result: ToolResult, **arguments: Any) -> DisplayResult:
        tool = self.tools[name]
        return tool.display.display_content(tool.params_type.model_validate(arguments), result)

    def put(self, name: str, data: bytes | str, *, mode: int | None = None) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        if mode is not None:
            path.chmod(mode)
        return path

    def read_all(self, *names: str) -> None:
        self.next_round()
        for name in names:
            result = self.run_in_round("read", file_path=name)
            assert not result.is_error, result.output
        self.next_round()

    def files(self) -> dict[str, bytes]:
        return snapshot(self.root)


async def preview_of(tool: Tool[Any], params: Any, ctx: ToolContext) -> DisplayResult | None:
    return await tool.preview(params, ctx)


def make_file_world(workspace: Path, tools: dict[str, Tool[Any]]) -> FileWorld:
    return FileWorld(make_context(workspace), tools)


def snapshot(root: Path) -> dict[str, bytes]:
    """Every regular file below `root` by its relative name."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def mode_of(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def edits(*pairs: tuple[str, str]) -> Sequence[JsonObject]:
    return [{"old_string": old, "new_string": new} for old, new in pairs]
