"""What each key of the program does, wherever it is not about editing a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_tui.permissions.modes import Mode, next_mode
from agent_tui.ui.pickers import Pickers
from agent_tui.ui.reading import Reading
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.talk import EFFORTS

if TYPE_CHECKING:
    from agent_tui.ui.actions import AppActions
    from agent_tui.ui.app import AgentApp


class KeyActions:
    """The keymap's actions by name."""

    def __init__(self, app: AgentApp, actions: AppActions) -> None:
        self._app = app
        self._actions = actions
        self._pickers = Pickers(app, actions)
        self.reading = Reading(app, actions.open_full)
        self._table = self._make_table()

    def perform(self, action: str) -> None:
        """Do an action; one that belongs to a field or a dialog does nothing here. May raise AgentTuiError."""
        if (do := self._table.get(action)) is not None:
            do()

    def _make_table(self) -> dict[str, Callable[[], object]]:
        transcript = self._app.transcript
        return {
            "interrupt": self._interrupt,
            "quit": self._actions.leave,
            "exit": self._exit,
            "escape": self._escape,
            "cycle_mode": self._cycle_mode,
            "reader": self.reading.open,
            "pager": lambda: self.reading.outside("pager"),
            "scrollback": lambda: self.reading.outside("scrollback"),
            "toggle_outputs": transcript.toggle_all,
            "previous_prompt": lambda: transcript.jump_prompt(-1),
            "next_prompt": lambda: transcript.jump_prompt(1),
            "open_full": self.reading.open_marked,
            "copy_block": self.reading.copy_marked,
            "toggle_block": self._toggle_block,
            "previous_block": lambda: self._move_block(-1),
            "next_block": lambda: self._move_block(1),
            "page_up": lambda: transcript.scroll_page(-1),
            "page_down": lambda: transcript.scroll_page(1),
            "line_up": lambda: transcript.scroll_rows(-1),
            "line_down": lambda: transcript.scroll_rows(1),
            "top": transcript.go_home,
            "bottom": transcript.go_end,
            "search": self._search,
            "next_match": lambda: self._actions.finder.step(1),
            "previous_match": lambda: self._actions.finder.step(-1),
            "redraw": self._redraw,
            "suspend": self._suspend,
            "background": self._actions.shell.to_background,
            "models": self._pickers.model,
            "sessions": self._pickers.session,
            "themes": self._pickers.theme,
            "new_session": lambda: self._actions.run_named("clear"),
            "compact": lambda: self._actions.run_named("compact"),
            "palette": self._pickers.command,
            "previous": self._pickers.command,
            "kill_line": self._pickers.command,
            "help": self._help,
            "sheet": lambda: self._actions.show_help("keys"),
            "history_search": self._pickers.earlier_prompt,
            "editor": self._edit_outside,
            "up": self._take_back,
            "tasks": self._tasks,
            "thinking": self._next_effort,
            "undo_turn": lambda: self._actions.run_named("undo"),
            "redo_turn": lambda: self._actions.run_named("redo"),
            "copy_reply": lambda: self._actions.run_named("copy"),
            "copy_selection": self._copy_selection,
            "yank": self._copy_selection,
            "paste_image": self._actions.attach_image,
            "submit_empty": self._submit_empty,
            "approvals": self._raise_approval,
            "stashed": lambda: self._app.status.show_hint("Draft put aside; the same key brings it back"),
            "unstashed": lambda: self._app.status.show_hint(""),
        }

    def _help(self) -> None:
        """Open the help sheet, in a dialog at its keys; once."""
        from agent_tui.ui.screens.help import Help

        screen = self._app.screen
        if not isinstance(screen, Help):
            context = screen.contexts[0] if isinstance(screen, Dialog) else "prompt"
            self._actions.show_help("keys" if self._app.in_dialog else "", context=context)

    def _search(self) -> None:
        self._actions.compose_prompt("/search ")
        self._app.status.show_hint("Write what to find in the conversation")

    def _tasks(self) -> None:
        """Show the task list, then the thinking too, then neither."""
        todos = self._app.todos
        if not todos.display:
            todos.show(True)
        elif not self._open_thoughts(wanted=True):
            self._open_thoughts(wanted=False)
            todos.show(False)

    def _open_thoughts(self, *, wanted: bool) -> bool:
        """Open or close all thinking; tell whether that changed anything."""
        transcript = self._app.transcript
        others = [
            index
            for index, block in enumerate(transcript.document.blocks)
            if block.data.kind == "thinking" and block.open != wanted
        ]
        for index in others:
            transcript.toggle(index)
        return bool(others)

    def _next_effort(self) -> None:
        talk = self._actions.backend.talk
        following = EFFORTS[(EFFORTS.index(talk.effort) + 1) % len(EFFORTS)] if talk.effort in EFFORTS else ""
        self._app.status.show_hint(talk.set_effort(following))
        self._actions.refresh_status()

    def _copy_selection(self) -> None:
        text = self._app.screen.get_selected_text()
        if text:
            self._app.copy_to_clipboard(text)
            self._app.status.show_hint(f"Copied {len(text):,} characters")

    def _interrupt(self) -> None:
        app = self._app
        if app.link is not None and app.link.approver.pending:
            app.link.approver.deny_all()
        if self._actions.busy or self._actions.drafts:
            self._stop_turn()
        elif app.in_dialog and isinstance(app.screen, Dialog):
            app.screen.act("cancel")
        elif self._actions.shell.end():
            pass
        elif app.prompt.text:
            app.prompt.clear_to_history()
        elif app.presses.arm_exit():
            self._actions.leave()

    def _stop_turn(self) -> None:
        self._app.activity.say("Stopping")
        self._app.driver.stop()

    def _exit(self) -> None:
        prompt = self._app.prompt
        if prompt.text:
            prompt.action_delete_right()
        elif self._app.presses.arm_exit():
            self._actions.leave()

    def _escape(self) -> None:
        app = self._app
        if app.transcript.needle:
            app.transcript.end_search()
            app.status.show_hint("")
        elif self._actions.busy or self._actions.drafts:
            if app.link is not None and app.link.approver.pending:
                app.link.approver.deny_all()
            self._stop_turn()
        elif self._actions.shell.end():
            pass
        elif app.transcript.cursor is not None:
            app.transcript.set_cursor(None)
        elif not app.presses.escape_twice():
            pass
        elif app.prompt.text:
            app.prompt.clear_to_history()
        else:
            self._actions.run_named("rewind")

    def _cycle_mode(self) -> None:
        mode = self._actions.backend.status().mode
        self._actions.switch_mode(next_mode(Mode(mode)).value)

    def _move_block(self, step: int) -> None:
        self._app.transcript.move_cursor(step)

    def _toggle_block(self) -> None:
        index = self._app.transcript.cursor
        if index is None:
            index = self._app.transcript.move_cursor(-1)
        if index is not None:
            self._app.transcript.toggle(index)

    def _redraw(self) -> None:
        self._app.redraw()

    def _suspend(self) -> None:
        self._app.action_suspend_process()

    def _take_back(self) -> None:
        text = self._app.driver.take_back()
        if text is not None:
            self._app.prompt.put(text)
        self._app.queue_changed()

    def _submit_empty(self) -> None:
        link = self._app.link
        if link is not None and link.approver.pending:
            link.approver.raise_screen()
        elif self._app.transcript.cursor is not None:
            self._toggle_block()

    def _raise_approval(self) -> None:
        if self._app.link is not None:
            self._app.link.approver.raise_screen()

    def _edit_outside(self) -> None:
        text = self._actions.edit_outside(self._app.prompt.expanded)
        if text is not None:
            self._app.prompt.put(text)
