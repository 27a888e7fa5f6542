"""Vim's normal, insert and visual modes as a machine that is fed one key after the other."""

from __future__ import annotations

from collections.abc import Callable

from agent_tui.ui.vim.motions import Find, Motion, find, move
from agent_tui.ui.vim.objects import text_object
from agent_tui.ui.vim.operators import OPERATORS, operate
from agent_tui.ui.vim.state import Change, Fed, Memory, Mode, Page, Pending
from agent_tui.ui.vim.words import (
    big,
    end_of_words,
    first_non_blank,
    left_of,
    line_end,
    line_start,
    resting_place,
    right_of,
    small,
)

_FINDS = {
    "find": (True, False),
    "find_back": (False, False),
    "till": (True, True),
    "till_back": (False, True),
}
_OBJECTS = {"insert": "inner", "append": "around"}
_SELECTED = {"undo": "lower", "upper_selected": "upper"}
_SHORT = {
    "delete_character": ("delete", "right"),
    "delete_before": ("delete", "left"),
    "delete_to_end": ("delete", "line_end"),
    "change_to_end": ("change", "line_end"),
    "change_character": ("change", "right"),
}
_WHOLE = {"change_line": "change", "yank_line": "yank"}
_OUTER = ("up", "down")
_WORDS = {"word": small, "big_word": big}


class Vim:
    """The modes. `take` is fed keymap actions of the context "vim"; `raw` says that a character is wanted instead.

    Insert mode is the editor's own; it tells `escape` when the person leaves it.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self.mode: Mode = "insert"
        self._pending = Pending()
        self._memory = Memory()
        self._keys: list[Fed] = []
        self._anchor = 0
        self._goal: int | None = None
        self._before_insert = ("", 0)
        self._replaying = False
        self._commands: dict[str, Callable[[], None]] = {
            "insert": lambda: self._insert_at(self._page.at),
            "append": lambda: self._insert_at(self._after_cursor()),
            "insert_first": lambda: self._insert_at(first_non_blank(self._page.text, self._page.at)),
            "append_last": lambda: self._insert_at(line_end(self._page.text, self._page.at)),
            "open_below": lambda: self._open(line_end(self._page.text, self._page.at), "\n", 1),
            "open_above": lambda: self._open(line_start(self._page.text, self._page.at), "\n", 0),
            "put": lambda: self._put(after=True),
            "put_before": lambda: self._put(after=False),
            "undo": self._undo,
            "redo": self._redo,
            "repeat": self._repeat,
            "join": self._join,
            "switch_case": self._switch_case,
            "visual": lambda: self._visual("visual"),
            "visual_line": lambda: self._visual("visual line"),
        }

    @property
    def raw(self) -> bool:
        """Whether the next character is taken as it is: what to find, to replace with, which object."""
        return bool(self._pending.waits)

    @property
    def counting(self) -> bool:
        """Whether a count was begun, so that 0 belongs to it."""
        return bool(self._pending.count)

    @property
    def hint(self) -> str:
        """The keys of a command that was begun, such as "2d"."""
        pending = self._pending
        return f"{pending.operator_count}{OPERATORS.get(pending.operator, '')}{pending.count}"

    def begin(self) -> None:
        """Start anew in insert mode, as for an empty prompt; the register stays."""
        self.mode = "insert"
        self._pending, self._keys = Pending(), []
        self._memory.undo.clear()
        self._memory.redo.clear()
        self._before_insert = (self._page.text, self._page.at)

    def escape(self) -> bool:
        """Leave what was begun, or the mode; tell whether there was anything to leave."""
        if self.mode == "insert":
            self._leave_insert()
            return True
        had = not self._pending.empty or self.mode != "normal"
        self._rest()
        return had

    def take(self, action: str, character: str = "") -> str:
        """Take one key; give an action of the prompt that has to be done instead, or ""."""
        if self._pending.empty and self.mode == "normal":
            self._keys = []
        self._keys.append(Fed(action, character))
        goal, self._goal = self._goal, None
        if self._pending.waits:
            self._take_character(character)
        elif action == "digit":
            self._pending.count += character
        elif action in _OBJECTS and (self._pending.operator or self.mode != "normal"):
            self._pending.waits = _OBJECTS[action]
        elif action in _FINDS or action == "replace":
            self._pending.waits = action
        elif action in _SELECTED and self.mode != "normal":
            self._take_operator(_SELECTED[action])
        elif action in OPERATORS:
            self._take_operator(action)
        elif (motion := self._motion(action, goal)) is not None:
            self._follow(motion, action)
        elif action in _OUTER and self.mode == "normal" and not self._pending.operator:
            self._pending = Pending()
            return action
        else:
            self._command(action)
        return ""

    # Motions

    def _motion(self, action: str, goal: int | None) -> Motion | None:
        text, at, count = self._page.text, self._page.at, self._pending.total
        if action in ("again", "again_back"):
            return self._find_again(reverse=action == "again_back")
        if action in _WORDS and self._pending.operator == "change" and text[at : at + 1].strip():
            return Motion(end_of_words(text, at, count or 1, _WORDS[action]), "inclusive")
        motion = move(action, text, at, count)
        if motion is not None and action in ("up", "down"):
            self._goal = at - line_start(text, at) if goal is None else goal
            start = line_start(text, motion.to)
            return Motion(min(start + self._goal, line_end(text, start)), "lines")
        return motion

    def _find_again(self, *, reverse: bool) -> Motion | None:
        sought = self._memory.find
        if sought is None:
            return None
        wanted = Find(sought.character, sought.forward is not reverse, sought.before)
        return find(wanted, self._page.text, self._page.at, self._pending.total or 1, again=True)

    def _take_character(self, character: str) -> None:
        waits, self._pending.waits = self._pending.waits, ""
        count = self._pending.total or 1
        if waits == "replace":
            self._replace(character, count)
        elif waits in _FINDS:
            self._memory.find = sought = Find(character, *_FINDS[waits])
            motion = find(sought, self._page.text, self._page.at, count)
            if motion is None:
                self._drop()
            else:
                self._follow(motion, waits)
        else:
            self._object(character, around=waits == "around")

    def _object(self, which: str, *, around: bool) -> None:
        found = text_object(self._page.text, self._page.at, which, around=around)
        if found is None:
            self._drop()
        elif self._pending.operator:
            self._operate(*found, by_lines=which == "p")
        else:
            self._anchor = found[0]
            self._pending = Pending()
            self._page.go(max(found[0], left_of(self._page.text, found[1])))
            self._show_selection()

    def _follow(self, motion: Motion, action: str) -> None:
        if not self._pending.operator:
            self._pending = Pending()
            self._page.go(motion.to if self.mode != "normal" else resting_place(self._page.text, motion.to))
            self._show_selection()
            return
        text, at = self._page.text, self._page.at
        start, end = sorted((at, motion.to))
        if motion.reach == "lines":
            self._operate(line_start(text, start), _with_break(text, line_end(text, end)), by_lines=True)
            return
        if motion.reach == "inclusive":
            end = right_of(text, end)
        elif action in ("word", "big_word") and "\n" in text[start:end]:
            last = text.rfind("\n", start, end)
            if not text[last + 1 : end].strip() and last > start:
                end = last  # the last word of a line goes without the line's end
        self._operate(start, end)

    # Operators

    def _take_operator(self, action: str) -> None:
        if self.mode != "normal":
            start, end, by_lines = self._selected()
            self._pending.operator = action
            self._operate(start, end, by_lines=by_lines)
        elif self._pending.operator == action:
            self._whole_lines(action)
        elif self._pending.operator:
            self._drop()
        else:
            self._pending = Pending(operator=action, operator_count=self._pending.count)

    def _whole_lines(self, operator: str) -> None:
        text, at = self._page.text, self._page.at
        end = line_end(text, at)
        for _ in range((self._pending.total or 1) - 1):
            end = line_end(text, min(len(text), end + 1))
        self._pending.operator = operator
        self._operate(line_start(text, at), _with_break(text, end), by_lines=True)

    def _selected(self) -> tuple[int, int, bool]:
        text = self._page.text
        start, end = sorted((self._anchor, self._page.at))
        if self.mode == "visual line":
            return line_start(text, start), _with_break(text, line_end(text, end)), True
        return start, min(len(text), max(right_of(text, end), end + 1)), False

    def _operate(self, start: int, end: int, *, by_lines: bool = False) -> None:
        operator = self._pending.operator
        text = self._page.text
        self._pending, self.mode = Pending(), "normal"
        if operator in ("delete", "change", "yank"):
            self._memory.register, self._memory.by_lines = text[start:end], by_lines
        if operator == "yank":
            self._page.go(resting_place(text, start))
            return
        self._keep()
        cursor = operate(operator, self._page, start, end, by_lines=by_lines)
        if operator == "change":
            self._insert_at(cursor, kept=True)
        else:
            self._page.go(resting_place(self._page.text, cursor))
            self._changed()

    # Commands

    def _command(self, action: str) -> None:
        if action in _SHORT and self.mode != "normal":
            self._take_operator(_SHORT[action][0])
        elif action in _SHORT:
            self._pending.operator, motion = _SHORT[action]
            found = move(motion, self._page.text, self._page.at, self._pending.total)
            if found is not None and (found.to != self._page.at or self._pending.operator == "change"):
                self._follow(found, motion)
            else:
                self._drop()
        elif action in _WHOLE and self.mode == "normal":
            self._whole_lines(_WHOLE[action])
        elif (do := self._commands.get(action)) is not None and not self._pending.operator:
            do()
        else:
            self._drop()

    def _drop(self) -> None:
        self._pending = Pending()

    def _rest(self) -> None:
        self._pending, self.mode = Pending(), "normal"
        self._page.go(resting_place(self._page.text, self._page.at))

    def _visual(self, mode: Mode) -> None:
        self._pending = Pending()
        if self.mode == mode:
            self._rest()
            return
        if self.mode == "normal":
            self._anchor = self._page.at
        self.mode = mode
        self._show_selection()

    def _show_selection(self) -> None:
        if self.mode in ("visual", "visual line"):
            self._page.mark(self._anchor, self._page.at)

    # Insert mode

    def _after_cursor(self) -> int:
        return right_of(self._page.text, self._page.at)

    def _insert_at(self, at: int, *, kept: bool = False) -> None:
        if not kept:
            self._keep()
        self._pending, self.mode = Pending(), "insert"
        self._page.go(at)
        self._before_insert = (self._page.text, self._page.at)

    def _open(self, at: int, text: str, forward: int) -> None:
        self._keep()
        self._page.replace(at, at, text)
        self._insert_at(at + forward, kept=True)

    def _leave_insert(self) -> None:
        text, at = self._before_insert
        now, rest = self._page.text, len(text) - at
        same_ends = now.startswith(text[:at]) and now.endswith(text[at:]) and len(now) >= len(text)
        typed = now[at : len(now) - rest] if same_ends else ""
        if not self._replaying:
            self._memory.change = Change(tuple(self._keys), typed)
        self._pending, self.mode, self._keys = Pending(), "normal", []
        here = self._page.at
        self._page.go(resting_place(now, left_of(now, here)))

    # Changes

    def _keep(self) -> None:
        """Remember the text as it is before a change."""
        if not self._replaying:
            self._memory.undo.append((self._page.text, self._page.at))
            self._memory.redo.clear()

    def _changed(self) -> None:
        if not self._replaying:
            self._memory.change = Change(tuple(self._keys))

    def _undo(self) -> None:
        self._swap(self._memory.undo, self._memory.redo)

    def _redo(self) -> None:
        self._swap(self._memory.redo, self._memory.undo)

    def _swap(self, source: list[tuple[str, int]], target: list[tuple[str, int]]) -> None:
        for _ in range(self._pending.total or 1):
            now = self._page.text
            while source and source[-1][0] == now:
                source.pop()
            if not source:
                break
            text, at = source.pop()
            target.append((now, self._page.at))
            self._page.replace(0, len(now), text)
            self._page.go(resting_place(text, at))
        self._drop()

    def _repeat(self) -> None:
        change, count = self._memory.change, self._pending.total
        self._drop()
        if not change.keys:
            return
        keys = list(change.keys)
        if count is not None:
            keys = [*(Fed("digit", digit) for digit in str(count)), *(k for k in keys if k.action != "digit")]
        self._keep()
        self._replaying = True
        try:
            for key in keys:
                self.take(key.action, key.character)
            if self.mode == "insert":
                self._page.replace(self._page.at, self._page.at, change.typed)
                self._leave_insert()
        finally:
            self._replaying = False
        self._keys = []

    def _put(self, *, after: bool) -> None:
        text, register = self._page.text, self._memory.register * (self._pending.total or 1)
        self._pending, self.mode = Pending(), "normal"
        if not register:
            return
        self._keep()
        if self._memory.by_lines:
            register = register.rstrip("\n")
            at = line_end(text, self._page.at) if after else line_start(text, self._page.at)
            self._page.replace(at, at, f"\n{register}" if after else f"{register}\n")
            self._page.go(first_non_blank(self._page.text, at + 1 if after else at))
        else:
            at = self._after_cursor() if after else self._page.at
            self._page.replace(at, at, register)
            self._page.go(resting_place(self._page.text, at + len(register) - 1))
        self._changed()

    def _replace(self, character: str, count: int) -> None:
        text = self._page.text
        start, end = (self._page.at, self._page.at) if self.mode == "normal" else self._selected()[:2]
        if self.mode == "normal":
            for _ in range(count):
                end = right_of(text, end)
        self._pending, self.mode = Pending(), "normal"
        if start == end:
            return
        self._keep()
        new = "".join(one if one == "\n" else character for one in text[start:end])
        self._page.replace(start, end, new)
        self._page.go(resting_place(self._page.text, start + max(0, len(new) - 1)))
        self._changed()

    def _switch_case(self) -> None:
        if self.mode != "normal":
            self._take_operator("swap_case")
            return
        text, end = self._page.text, self._page.at
        for _ in range(self._pending.total or 1):
            end = right_of(text, end)
        start = self._page.at
        self._drop()
        self._keep()
        self._page.replace(start, end, text[start:end].swapcase())
        self._page.go(resting_place(self._page.text, end))
        self._changed()

    def _join(self) -> None:
        count = max(1, (self._pending.total or 2) - 1)
        self._pending, self.mode = Pending(), "normal"
        self._keep()
        for _ in range(count):
            text = self._page.text
            end = line_end(text, self._page.at)
            if end >= len(text):
                break
            after = text[end + 1 :]
            indent = len(after) - len(after.lstrip(" \t"))
            self._page.replace(end, end + 1 + indent, " " if text[end - 1 : end].strip() else "")
            self._page.go(resting_place(self._page.text, end))
        self._changed()


def _with_break(text: str, end: int) -> int:
    """Take a line's end with it, if it has one."""
    return min(len(text), end + 1)
