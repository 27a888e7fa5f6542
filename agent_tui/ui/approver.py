"""Answers the core's permission questions through the approval screen; whatever goes wrong is a no."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent_tui.protocol.permissions import PermissionRequest, Verdict

if TYPE_CHECKING:
    from agent_tui.ui.screens.approval.round import Round
    from agent_tui.ui.screens.approval.screen import ApprovalScreen


class ApprovalHost(Protocol):
    """What the approver needs of the program."""

    def open_approval(self, screen: ApprovalScreen) -> None: ...

    def close_approval(self, screen: ApprovalScreen) -> None: ...

    def approval_waits(self, count: int, undecided: int) -> None:
        """Show the banner with `count` calls, `undecided` of them without a decision, or hide it (0)."""
        ...

    def is_typing(self) -> bool: ...

    def when_typing_stops(self, then: Callable[[], None]) -> None: ...

    def make_round(self) -> Round: ...

    def make_approval(self, round_: Round) -> ApprovalScreen: ...


@dataclass(frozen=True)
class Announced:
    """What was told of a review before it began: the ids of its round, and the calls that rules settled."""

    order: Sequence[str]
    settled: Sequence[PermissionRequest]


class Announcements:
    """Keeps what was told of reviews until each of them begins: several may wait for their turn."""

    def __init__(self) -> None:
        self._told: list[Announced] = []

    def add(self, order: Sequence[str], settled: Sequence[PermissionRequest]) -> None:
        """Keep what the review of these calls shows beside what it asks."""
        if settled or order:
            self._told.append(Announced(order, settled))

    def take(self, requests: Sequence[PermissionRequest]) -> Announced:
        """Give what was told of the review of `requests`, once."""
        first = requests[0].call_id
        told = next((one for one in self._told if first in one.order), Announced((), ()))
        self._told = [one for one in self._told if one is not told]
        return told


class ScreenApprover:
    """One screen for all that waits. Called again while it is open, it appends the rows.

    Each caller is answered when its own rows are decided and sent. A caller that is cancelled takes its rows
    with it; the last one closes the screen.
    """

    def __init__(self, host: ApprovalHost) -> None:
        self._host = host
        self._round: Round | None = None
        self._screen: ApprovalScreen | None = None
        self._lowered = False
        self._announced = Announcements()

    @property
    def pending(self) -> int:
        """How many calls wait for an answer."""
        return len(self._round.rows) if self._round is not None else 0

    @property
    def undecided(self) -> int:
        """How many of them have no decision yet."""
        return len(self._round.undecided()) if self._round is not None else 0

    def announce(self, order: Sequence[str], settled: Sequence[PermissionRequest]) -> None:
        """Keep what the next review of these calls shows beside what it asks."""
        self._announced.add(order, settled)

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Ask the person; a call that is missing in the answer is denied."""
        if not requests:
            return {}
        answered = asyncio.Event()
        is_first = self._round is None
        round_ = self._round = self._round or self._host.make_round()
        ids = [request.call_id for request in requests]
        told = self._announced.take(requests)
        try:
            round_.append(requests, answered, settled=told.settled, order=told.order)
            self._show(is_first)
            await answered.wait()
            return round_.answers(ids)
        finally:
            round_.remove(ids)
            self._settle(round_)

    def _show(self, is_first: bool) -> None:
        if is_first:
            self._begin()
        elif self._screen is not None:
            self._screen.rows_changed()
        else:
            self._host.approval_waits(self.pending, self.undecided)

    def _begin(self) -> None:
        if self._host.is_typing():
            self._lowered = False
            self._host.approval_waits(self.pending, self.undecided)
            self._host.when_typing_stops(self._raise_unless_lowered)
        else:
            self.raise_screen()

    def _raise_unless_lowered(self) -> None:
        if self._round is not None and self._screen is None and not self._lowered:
            self.raise_screen()

    def raise_screen(self) -> None:
        """Open the screen for what waits."""
        if self._round is None or self._screen is not None:
            return
        self._host.approval_waits(0, 0)
        self._screen = self._host.make_approval(self._round)
        self._host.open_approval(self._screen)

    def lower(self) -> None:
        """Close the screen and keep the round pending behind the banner."""
        screen, self._screen, self._lowered = self._screen, None, True
        if screen is not None:
            self._host.close_approval(screen)
        if self._round is not None:
            self._host.approval_waits(self.pending, self.undecided)

    def deny_all(self, *, unasked: bool = False) -> None:
        """Answer everything that waits with a no; `unasked` says that nobody is there to answer."""
        if self._round is not None:
            self._round.give_up(unasked=unasked)

    def _settle(self, round_: Round) -> None:
        if round_.rows:
            if self._screen is not None:
                self._screen.rows_changed()
            else:
                self._host.approval_waits(self.pending, self.undecided)
            return
        screen, self._screen, self._round = self._screen, None, None
        self._lowered = False
        self._host.approval_waits(0, 0)
        if screen is not None:
            self._host.close_approval(screen)
