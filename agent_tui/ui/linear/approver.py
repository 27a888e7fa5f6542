"""Asks about the calls of a round as a numbered list, all in one go; whatever goes wrong is a no."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence

from agent_tui.protocol.permissions import Decision, PermissionRequest, Risk, Scope, Verdict
from agent_tui.ui.approver import Announcements
from agent_tui.ui.linear.choosing import choose
from agent_tui.ui.linear.lines import Lines
from agent_tui.ui.render.safe import vis
from agent_tui.ui.screens.approval import preview
from agent_tui.ui.screens.approval.grouping import Grouper
from agent_tui.ui.screens.approval.labels import call_name, group_label, one_line, settled_words
from agent_tui.ui.screens.approval.round import Round, Row

SHOWN_LINES = 40
_FOR_ALL = (
    "Allow all once",
    "Allow all for this session",
    "Deny all",
    "Decide call by call",
    "Read a call in full",
    "Stop the turn and deny all",
)
_FOR_ONE = (
    "Allow once",
    "Allow for this session",
    "Always allow in this project",
    "Always allow in every project",
    "Deny",
    "Deny and say why",
    "Always deny in this project",
    "Read it in full",
    "Stop the turn and deny all",
)
_ANSWERS: dict[int, tuple[Decision, Scope]] = {
    0: (Decision.ALLOW, Scope.ONCE),
    1: (Decision.ALLOW, Scope.SESSION),
    2: (Decision.ALLOW, Scope.PROJECT),
    3: (Decision.ALLOW, Scope.USER),
    4: (Decision.DENY, Scope.ONCE),
    6: (Decision.DENY, Scope.PROJECT),
}
_WITH_WORDS, _IN_FULL, _STOP = 5, 7, 8


class LinearApprover:
    """Answers reviews one after the other. An empty line, the end of the input and Ctrl+C deny what is open.

    `stop` ends the turn. What rules settled is told before a review by `announce`.
    """

    def __init__(self, lines: Lines, grouper: Grouper, stop: asyncio.Event) -> None:
        self._lines, self._grouper, self._stop = lines, grouper, stop
        self._one_at_a_time = asyncio.Lock()
        self._announced = Announcements()

    def announce(self, order: Sequence[str], settled: Sequence[PermissionRequest]) -> None:
        """Keep what rules settled, to be told beside the review of the same round."""
        self._announced.add(order, settled)

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Ask the person; a call that is missing in the answer is denied."""
        if not requests:
            return {}
        async with self._one_at_a_time:
            round_ = Round(self._grouper)
            told = self._announced.take(requests)
            round_.append(requests, asyncio.Event(), settled=told.settled, order=told.order)
            self._lines.bell()
            self._tell(round_)
            if len(round_.rows) == 1:
                await self._decide_one(round_, round_.rows[0], "")
            else:
                await self._decide_all(round_)
            round_.send_all()
            return round_.answers([request.call_id for request in requests])

    # Telling

    def _tell(self, round_: Round) -> None:
        count = len(round_.rows)
        self._lines.say(f"Approval: {_calls(count)} {'waits' if count == 1 else 'wait'} for your decision.")
        for number, row in enumerate(round_.rows, start=1):
            self._lines.say("\n".join(call_lines(row, f"Call {number} of {count}", limit=SHOWN_LINES)))
        for row in round_.settled:
            self._lines.say(f"Beside it, {call_name(row)}: {one_line(row)} {settled_words(row)}.")
        if count > 1:
            needs = [f"{group_label(group)} for {_calls(len(group.calls))}" for group in round_.groups()]
            self._lines.say("Together they need: " + "; ".join(needs) + ".")

    async def _read(self, row: Row) -> None:
        row.looked_at = row.read = True
        self._lines.say("\n".join(call_lines(row, "In full")))
        self._lines.say("\n".join(spoken(line.plain) for line in preview.why(row)))

    # Deciding

    async def _decide_all(self, round_: Round) -> None:
        while True:
            chosen = await choose(self._lines, "What is to happen?", _FOR_ALL)
            match chosen:
                case 0 | 1:
                    scope = Scope.ONCE if chosen == 0 else Scope.SESSION
                    skipped = self._allow_all(round_, scope)
                    if skipped:
                        self._lines.say(
                            f"{_calls(skipped)} must be decided alone: high risk, or too long to be read out."
                        )
                        await self._one_by_one(round_)
                    return
                case 3:
                    await self._one_by_one(round_)
                    return
                case 4:
                    names = [f"{call_name(row)}: {one_line(row)}" for row in round_.rows]
                    which = await choose(self._lines, "Which call?", names)
                    if which is not None:
                        await self._read(round_.rows[which])
                case None:
                    self._deny_all(round_, unasked=self._lines.is_over)
                    return
                case _:
                    self._deny_all(round_, stops=chosen == 5)
                    return

    def _allow_all(self, round_: Round, scope: Scope) -> int:
        return round_.decide_all(
            Decision.ALLOW, scope, float("inf"), 0.0, needs_look=lambda row: _is_cut(row) and not row.read
        )

    def _deny_all(self, round_: Round, *, stops: bool = False, unasked: bool = False) -> None:
        round_.give_up(unasked=unasked)
        self._lines.say("All denied.")
        if stops:
            self._stop.set()

    async def _one_by_one(self, round_: Round) -> None:
        total, known = len(round_.rows), False
        for number, row in enumerate(round_.rows, start=1):
            if row.is_decided:
                continue
            if not await self._decide_one(round_, row, f"Call {number} of {total}, ", known=known):
                return
            known = True

    async def _decide_one(self, round_: Round, row: Row, label: str, *, known: bool = False) -> bool:
        """Decide a call; False when the turn is stopped or nobody answers any more."""
        while True:
            question = f"{label}{call_name(row)}: {one_line(row)}. What is to happen?"
            chosen = await choose(self._lines, question, _FOR_ONE, known=known)
            known = True
            if chosen is None or chosen == _STOP:
                is_gone = chosen is None and self._lines.is_over
                self._deny_all(round_, stops=chosen is not None, unasked=is_gone)
                return False
            if chosen == _IN_FULL:
                await self._read(row)
                continue
            if chosen == _WITH_WORDS:
                row.feedback = (await self._lines.ask("Why:") or "").strip()
                round_.decide(row, Decision.DENY)
                return True
            decision, scope = _ANSWERS[chosen]
            if decision is Decision.ALLOW and _is_cut(row) and not row.read:
                self._lines.say("Its end was not read out. Read it in full first.")
                continue
            if refused := round_.decide(row, decision, scope):
                self._lines.say(refused)
                continue
            return True


def call_lines(row: Row, label: str, *, limit: int = 0) -> list[str]:
    """Describe a call: what it is, what it does, what it needs. With `limit` a long body is cut and says so."""
    high = ", high risk" if row.risk is Risk.HIGH else ""
    origin = f", from {row.request.origin}" if row.request.origin else ""
    lines = [f"{label}{high}{origin}. {call_name(row)}: {one_line(row)}"]
    body = _body(row)
    if limit and len(body) > limit:
        body = [*body[:limit], f"{len(body) - limit} more lines are not read out here."]
    return [line for line in [*lines, *body, *_needs(row)] if line.strip()]


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _body(row: Row) -> list[str]:
    diff = preview.diff_of(row)
    above = [spoken(line.plain) for line in preview.above(row)]
    if diff:
        after = [line.plain for line in preview.after_diff(row)]
        return [
            *above,
            *diff_lines(diff),
            *after,
        ]
    body = [line.plain for line in preview.body(row)]
    return [*above, *body, *(spoken(line.plain) for line in preview.parts(row))]


def _needs(row: Row) -> list[str]:
    found: list[str] = []
    for permission in row.request.permissions:
        pattern = row.pattern_of(permission)
        always = f" Always would store {pattern}." if pattern else " Once only."
        high = "High risk. " if permission.risk is Risk.HIGH else ""
        reason = f" {permission.reason}." if permission.reason else ""
        target = vis(preview.target_words(permission.kind, permission.target)).replace("\n", " ")
        found.append(
            f"Needs: {permission.kind.value} {target}.{reason.replace('..', '.')} {high}{always.strip()}"
        )
    return found


def _is_cut(row: Row) -> bool:
    return len(_body(row)) > SHOWN_LINES or preview.is_long(row)


_WORDS = {"○ ": "", "✓ ": "allowed: ", "✗ ": "denied: ", "◐ ": "partly: ", "? ": "asks: "}


def spoken(line: str) -> str:
    """Put words in the place of marks that a screen reader spells."""
    for mark, word in _WORDS.items():
        if line.startswith(mark):
            return word + line[len(mark) :]
    return line


_HUNK = re.compile(r"@@ -[0-9]{1,9}(?:,([0-9]{1,9}))? \+[0-9]{1,9}(?:,([0-9]{1,9}))? @@")
_PLUMBING = (
    "diff --git ",
    "index ",
    "new file mode ",
    "deleted file mode ",
    "--- /dev/null",
    "\\ No newline",
)


def diff_lines(diff: str) -> list[str]:
    """Say what each line of a diff does. The head of a hunk counts its lines: a removed `-- x` is no file name."""
    said: list[str] = []
    old = new = 0
    for line in diff.rstrip("\n").split("\n"):
        if old > 0 or new > 0:
            old -= line[:1] in ("-", " ", "")
            new -= line[:1] in ("+", " ", "")
            if not line.startswith("\\"):
                said.append(_changed(line))
        elif head := _HUNK.match(line):
            old, new = (int(count or 1) for count in head.groups())
            said.append(f"At {line.strip('@ ')}")
        elif line.startswith(("+++ ", "--- ")) and line != "--- /dev/null":
            said.append(f"{'New' if line[0] == '+' else 'Old'} file: {line[4:]}")
        elif not line.startswith(_PLUMBING):
            said.append(line)
    return said


def _changed(line: str) -> str:
    words = {"+": "Added: ", "-": "Removed: ", " ": "Same: "}
    return words[line[0]] + line[1:] if line[:1] in words else line
