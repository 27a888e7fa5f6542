"""Shows what changed in the files: parts are taken back, and words about lines go to the model."""

from __future__ import annotations

from functools import partial

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.ui.changes import SCOPES, Changes, Comparison, Scope
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.change_rows import ChangeRow, about, rows_of
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.diff_question import DiffQuestion
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.widgets.editor import Editor, Field
from agent_tui.ui.widgets.rows import Rows


class ChangesScreen(Dialog[str]):
    """Every changed file with its hunks and lines. Gives the words for the model, "" when there are none.

    What cannot be taken back without loss of the person's own work is asked about, with its difference.
    """

    DEFAULT_CSS = """
    ChangesScreen {
        & > .frame { width: 100%; height: 100%; max-height: 100%; background: $background; }
        & Rows { height: 1fr; }
        & Field { display: none; margin-top: 1; }
        & .said { color: $muted; height: auto; max-height: 4; margin-top: 1; }
    }
    """

    def __init__(self, keys: Keymap, changes: Changes, scope: Scope, first: Comparison) -> None:
        super().__init__(keys, "changes", "list")
        self._changes, self._shown = changes, first
        self._scope: Scope = scope
        self._comments: dict[tuple[str, ...], tuple[ChangeRow, str]] = {}
        self._lines: list[ChangeRow] = []
        self._rows = Rows(can_focus=True)
        self._field = Field(keys, ("field", "edit"), placeholder="what should the model do about this line?")
        self._said = Static("", classes="said", markup=False)
        self._frame = Frame(self.keys)

    def compose(self) -> ComposeResult:
        """Lay out the lines, the field for words, and the line that says what was done."""
        with self._frame:
            yield self._rows
            yield self._field
            yield self._said

    def on_mount(self) -> None:
        """Show the comparison."""
        self._show()
        self.set_focus(self._rows)

    def act(self, action: str) -> None:
        """Move, take back, comment, send or leave."""
        if self._rows.perform(action, wrap=False):
            return
        match action:
            case "next_hunk" | "previous_hunk":
                self._jump("hunk", 1 if action == "next_hunk" else -1)
            case "next_file" | "previous_file":
                self._jump("file", 1 if action == "next_file" else -1)
            case "comment" | "choose":
                self._comment()
            case "remove":
                self._drop_comment()
            case "revert" | "revert_file" | "unrevert" | "scope":
                self._change(action)
            case "send":
                self._send()
            case "cancel":
                self._leave()
            case _:
                pass

    def on_editor_act(self, event: Editor.Act) -> None:
        """Keep or drop what is written about a line."""
        event.stop()
        if event.action not in ("accept", "cancel"):
            return
        text, line = self._field.text.strip(), self._line
        if event.action == "accept" and line is not None:
            self._comments.pop(line.key, None)
            if text:
                self._comments[line.key] = (line, text)
        self._field.display = False
        self.set_focus(self._rows)
        self._show()

    @property
    def _line(self) -> ChangeRow | None:
        at = self._rows.cursor
        return self._lines[at] if 0 <= at < len(self._lines) else None

    def _show(self) -> None:
        shown = self._shown
        notes = {key: text for key, (_, text) in self._comments.items()}
        at = self._line
        self._lines = rows_of(shown.changes, notes)
        cursor = next((i for i, line in enumerate(self._lines) if at and line.key == at.key), None)
        self._rows.set_rows([line.content for line in self._lines], cursor=cursor)
        counts = f"+{sum(c.added for c in shown.changes)} -{sum(c.removed for c in shown.changes)}"
        files = "1 file" if len(shown.changes) == 1 else f"{len(shown.changes)} files"
        self._frame.border_title = Content(clean_line(f"{shown.title} · {files} · {counts}"))
        self._frame.legend = self._keys_line()

    def _keys_line(self) -> str:
        send = [("changes", "send", f"sends {len(self._comments)}")] if self._comments else []
        return self.keys.legend(
            *send,
            ("changes", "revert", "takes back"),
            ("changes", "unrevert", "undoes that"),
            ("changes", "comment", "comments"),
            ("changes", "scope", "scope"),
            ("list", "cancel", "closes"),
        )

    def _say(self, text: str) -> None:
        self._said.update(Content(clean_line(text)))

    def _jump(self, kind: str, step: int) -> None:
        at = self._rows.cursor + step
        while 0 <= at < len(self._lines):
            if self._lines[at].kind == kind:
                self._rows.move_to(at)
                return
            at += step

    def _comment(self) -> None:
        line = self._line
        if line is None:
            return
        self._field.display = True
        self._field.put(self._comments[line.key][1] if line.key in self._comments else "")
        self.set_focus(self._field)

    def _drop_comment(self) -> None:
        line = self._line
        if line is not None and self._comments.pop(line.key, None):
            self._show()

    def _change(self, action: str) -> None:
        line = self._line
        match action:
            case "scope":
                scope: Scope = SCOPES[(SCOPES.index(self._scope) + 1) % len(SCOPES)]
                self.run_worker(partial(self._compare, scope), group="changes", exclusive=True)
            case "unrevert":
                self.run_worker(partial(self._unrevert), group="changes", exclusive=True)
            case _ if line is not None:
                hunk = line.hunk if action == "revert" and line.hunk >= 0 else None
                self.run_worker(partial(self._revert, line.path, hunk), group="changes", exclusive=True)
            case _:
                pass

    async def _compare(self, scope: Scope, said: str = "") -> None:
        self._say("Looking at the files ...")
        try:
            self._shown = await self._changes.compare(scope)
        except AgentTuiError as error:
            self._say(str(error))
            return
        self._scope = scope
        self._show()
        self._say(said if self._shown.changes or said else self._shown.nothing)

    async def _revert(self, path: str, hunk: int | None, *, sure: bool = False) -> None:
        try:
            done = await self._changes.revert(path, hunk, sure=sure)
        except AgentTuiError as error:
            self._say(str(error))
            return
        if not done.asks:
            await self._compare(self._scope, done.said)
            return
        question = DiffQuestion(
            self.keys, done.said, done.asks, yes="Take it back too", no="Leave it as it is"
        )
        self.program.push_screen(question, partial(self._answered, path, hunk))

    def _answered(self, path: str, hunk: int | None, yes: bool | None) -> None:
        if yes:
            self.run_worker(partial(self._revert, path, hunk, sure=True), group="changes", exclusive=True)
        else:
            self._say(f"{path} stays as it is.")

    async def _unrevert(self) -> None:
        try:
            said = await self._changes.undo_revert()
        except AgentTuiError as error:
            self._say(str(error))
            return
        await self._compare(self._scope, said)

    def _send(self) -> None:
        if not self._comments:
            self._say("There is no comment to send yet.")
            return
        self.finish(about(self._shown.since, list(self._comments.values())))

    def _leave(self) -> None:
        if not self._comments:
            self.finish("")
            return
        words = "\n".join(text for _, text in self._comments.values())
        question = DiffQuestion(
            self.keys,
            "What you wrote was not sent.",
            words,
            yes="Send it to the model",
            no="Drop it",
        )
        self.program.push_screen(question, self._left)

    def _left(self, send: bool | None) -> None:
        if send is None:
            return
        self.finish(about(self._shown.since, list(self._comments.values())) if send else "")
