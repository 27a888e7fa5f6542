"""Asks the person the questions of a tool: one tab each, options and free text."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.keymap import Keymap
from agent_tui.ui.look import spans
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.safe import clean, clean_line
from agent_tui.ui.screens.dialog import Dialog
from agent_tui.ui.screens.frame import Frame
from agent_tui.ui.transcript.view import Transcript
from agent_tui.ui.widgets.editor import Editor, Field
from agent_tui.ui.widgets.rows import Rows

if TYPE_CHECKING:
    from agent_tui.toolkit.context import Question

Answers = list[list[str]]


class QuestionScreen(Dialog[Answers | None]):
    """Gives one list of answers per question, or None when declined.

    Enter chooses and goes on, Space marks where several answers are possible, typing in the field below answers
    in the person's own words.
    """

    DEFAULT_CSS = """
    QuestionScreen {
        align: center bottom;
        & > .frame { width: 100%; max-height: 80%; }
        & .tabs { height: 1; color: $muted; display: none; }
        & Transcript { height: 1fr; min-height: 4; display: none; }
        &.-detailed > .frame { height: 80%; }
        & .question { height: auto; max-height: 8; margin: 0 0 1 0; text-style: bold; }
        & Rows { height: auto; max-height: 10; }
        & Field { margin-top: 1; }
    }
    """

    def __init__(
        self,
        keys: Keymap,
        questions: Sequence[Question],
        *,
        clock: Callable[[], float] = time.monotonic,
        grace_s: float = 0.5,
        palette: Palette = Palette.DARK,
    ) -> None:
        super().__init__(keys, "question", "list")
        self._details = Transcript(palette)
        self._clock, self._ready_at = clock, clock() + grace_s
        self._questions = list(questions)
        self._answers: Answers = [[] for _ in self._questions]
        self._at = 0
        self._tabs = Static("", classes="tabs", markup=False)
        self._text = Static("", classes="question", markup=False)
        self._rows = Rows(can_focus=True)
        self._field = Field(keys, ("field", "edit"), placeholder="or answer in your own words")

    def compose(self) -> ComposeResult:
        """Lay out tabs, question, options and the free answer."""
        with Frame(self.keys) as frame:
            frame.border_title = Content("Question")
            frame.legend = self._subtitle()
            yield self._tabs
            yield self._details
            yield self._text
            yield self._rows
            yield self._field

    def _subtitle(self) -> str:
        reads = [("list", "page_down", "reads on")] if any(q.details for q in self._questions) else []
        answers = (
            ("list", "choose", "answers"),
            ("question", "own_words", "free text"),
            ("list", "cancel", "declines"),
        )
        return self.keys.legend(*reads, *answers)

    def on_mount(self) -> None:
        """Show the first question."""
        self._show(0)

    @property
    def _question(self) -> Question:
        return self._questions[self._at]

    def _show(self, index: int) -> None:
        self._at = index
        question = self._question
        self._tabs.display = len(self._questions) > 1
        self._tabs.update(Content("   ").join([self._tab(i) for i in range(len(self._questions))]))
        self._show_details(question.details)
        self._text.update(Content(clean(question.question)))
        self._rows.display = bool(question.options)
        self._field.load_text("")
        self._draw()
        self.set_focus(self._rows if question.options else self._field)

    def _show_details(self, text: str) -> None:
        """Show what is to be read before answering, as tall as the screen allows."""
        self._details.display = bool(text)
        self.set_class(bool(text), "-detailed")
        if text:
            self._details.load([ReplayBlock(kind="assistant", text=text)])
            self._details.go_home()

    def _tab(self, index: int) -> Content:
        question = self._questions[index]
        mark = "✓ " if self._answers[index] else "○ "
        style = "bold $accent" if index == self._at else "$muted"
        return Content.styled(f"{mark}{clean_line(question.header or f'Question {index + 1}')}", style)

    def _draw(self) -> None:
        chosen = self._answers[self._at]
        self._rows.set_rows(
            [self._row(option.label, option.description, chosen) for option in self._question.options]
        )

    def _row(self, label: str, description: str, chosen: Sequence[str]) -> Content:
        if self._question.multiple:
            mark = "[x] " if label in chosen else "[ ] "
        else:
            mark = "● " if label in chosen else "○ "
        return spans((mark, "$accent"), clean_line(label), (f"  {clean_line(description)}", "$muted"))

    def on_editor_act(self, event: Editor.Act) -> None:
        """Take or leave the free answer."""
        event.stop()
        if self._clock() < self._ready_at:
            return
        match event.action:
            case "accept":
                if text := self._field.text.strip():
                    self._answers[self._at] = [*self._marked(), text]
                    self._advance()
                elif self._question.multiple and self._answers[self._at]:
                    self._advance()
            case "cancel" if self._question.options and self._field.text:
                self._field.load_text("")
                self.set_focus(self._rows)
            case "cancel":
                self.finish(None)
            case "scope" if self._question.options:
                self.set_focus(self._rows)
            case _:
                pass

    def _marked(self) -> list[str]:
        return self._answers[self._at] if self._question.multiple else []

    def take_key(self, event: events.Key) -> None:
        """Know keys of its own besides those of every list; what was typed ahead answers nothing."""
        if self._clock() < self._ready_at:
            if event.key not in ("ctrl+c", "ctrl+q"):
                event.stop()
            return
        press = self.keys.press(self.contexts, event.key, event.character)
        if press.action or press.pending:
            event.stop()
            self.act(press.action)
        elif event.character is not None and event.character.isdigit():
            event.stop()
            self._rows.move_to(int(event.character) - 1)

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """Answer by a click."""
        event.stop()
        self.act("choose")

    def act(self, action: str) -> None:
        """Move, answer or decline."""
        match action:
            case "up":
                self._rows.move(-1)
            case "down":
                self._rows.move(1)
            case "choose":
                self._choose()
            case "own_words":
                self.set_focus(self._field)
            case "previous_question" | "next_question":
                step = 1 if action == "next_question" else -1
                self._show((self._at + step) % len(self._questions))
            case "mark":
                self._toggle()
            case "page_up" | "page_down":
                self._details.scroll_page(-1 if action == "page_up" else 1)
            case "cancel":
                self.finish(None)
            case _:
                pass

    def _toggle(self) -> None:
        if not self._question.options:
            return
        label = self._question.options[self._rows.cursor].label
        chosen = self._answers[self._at]
        if not self._question.multiple:
            self._answers[self._at] = [label]
        elif label in chosen:
            chosen.remove(label)
        else:
            chosen.append(label)
        self._draw()

    def _choose(self) -> None:
        if not self._question.options:
            return
        if not (self._question.multiple and self._answers[self._at]):
            self._answers[self._at] = [self._question.options[self._rows.cursor].label]
        self._advance()

    def _advance(self) -> None:
        open_ones = [index for index, answer in enumerate(self._answers) if not answer]
        if open_ones:
            self._show(open_ones[0])
        else:
            self.finish(self._answers)
