from collections.abc import Collection, Sequence

from agent_tui.protocol.errors import AgentTuiError, NothingThereError
from agent_tui.ui.changes import ChangeView, Comparison, Reverted
from agent_tui.ui.past import MoveView, PointView


class FakeChanges:
    """Files that differ as in `differing`; a path in `mine` asks before it is taken back."""

    def __init__(self, calls: list[tuple[object, ...]]) -> None:
        self.differing: dict[str, list[ChangeView]] = {"turn": [], "session": [], "branch": []}
        self.mine: dict[str, str] = {}
        self.problem = ""
        self.nothing = ""
        self._calls = calls
        self._scope = "turn"

    async def compare(self, scope: str) -> Comparison:
        if self.problem:
            raise AgentTuiError(self.problem)
        if self.nothing:
            raise NothingThereError(self.nothing)
        self._scope = scope
        return Comparison("main (1a2b3c4)" if scope == "branch" else f"this {scope}", self.differing[scope])

    async def revert(self, path: str, hunk: int | None = None, *, sure: bool = False) -> Reverted:
        self._calls.append(("revert", path, hunk, sure))
        if path in self.mine and not sure:
            return Reverted(f"{path} was changed by hand.", asks=self.mine[path])
        self.differing[self._scope] = [c for c in self.differing[self._scope] if c.path != path]
        return Reverted(f"{path} is back.", done=True)

    async def undo_revert(self) -> str:
        self._calls.append(("undo_revert",))
        return "It is there again."


class FakePast:
    """A session with the prompts in `views`; what is asked of it is kept in `calls`."""

    def __init__(self) -> None:
        self.views: list[PointView] = []
        self.plan: list[ChangeView] = []
        self.redo_plan: list[ChangeView] | None = None
        self.too_large: list[str] = []
        self.excerpts: dict[str, str] = {}
        self.hits: list[str] = []
        self.calls: list[tuple[object, ...]] = []
        self.changes = FakeChanges(self.calls)

    async def points(self) -> Sequence[PointView]:
        return self.views

    async def uncovered(self) -> Sequence[str]:
        return self.too_large

    async def preview(self, entry_id: str) -> Sequence[ChangeView]:
        return self.plan

    async def preview_redo(self) -> Sequence[ChangeView] | None:
        return self.redo_plan

    async def rewind(
        self, entry_id: str, *, conversation: bool = True, files: bool = True, allowed: Collection[str] = ()
    ) -> MoveView:
        self.calls.append(("rewind", entry_id, conversation, files, tuple(allowed)))
        return MoveView("It went back.", conversation, f"prompt of {entry_id}" if conversation else "")

    async def redo(self, *, allowed: Collection[str] = ()) -> MoveView | None:
        self.calls.append(("redo", tuple(allowed)))
        return MoveView("It is back.", True)

    async def go_to(self, entry_id: str) -> MoveView:
        self.calls.append(("go_to", entry_id))
        return MoveView("Another branch.", True)

    async def label(self, entry_id: str, label: str) -> None:
        self.calls.append(("label", entry_id, label))

    async def fork(self, entry_id: str = "") -> str:
        if not self.views:
            raise NothingThereError("There is nothing to copy yet.")
        self.calls.append(("fork", entry_id))
        return "copy-1"

    async def export(self, kind: str, path: str) -> str:
        self.calls.append(("export", kind, path))
        return f"Written to {path or kind}"

    async def export_picture(self, kind: str, path: str, svg: str) -> str:
        self.calls.append(("export_picture", kind, path, svg))
        return f"Written to {path or kind}"

    async def excerpt(self, session_id: str) -> str:
        return self.excerpts.get(session_id, "")

    async def rename(self, session_id: str, name: str) -> None:
        if name == "taken":
            raise AgentTuiError("The session is open in another program.")
        self.calls.append(("rename", session_id, name))

    async def search(self, text: str) -> Sequence[str]:
        return self.hits
