"""Plan mode: tells the model when it is on, and lets it ask to leave with a plan."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from agent_tui.agent.history import Messages
from agent_tui.agent.notes import OPEN
from agent_tui.permissions.modes import Mode
from agent_tui.protocol.messages import TextBlock, UserMessage
from agent_tui.toolkit.context import Ask, Question, QuestionOption

_ON_HEAD = "Plan mode is on."
_OFF_HEAD = "Plan mode is off."
PLAN_ON = (
    f"{_ON_HEAD} Find out what is needed and make a plan; change nothing. Reading and searching work, anything with a "
    "side effect is refused. When the plan is whole, call exit_plan_mode with it: the person accepts it or says what "
    "to change. Do not ask for that in your text. Where nobody can accept it, the plan is your answer."
)
PLAN_ON_INSIDE = (
    f"{_ON_HEAD} Only read and search: anything with a side effect is refused. Report what you found out."
)
PLAN_OFF = (
    f"{_OFF_HEAD} You may change files and run commands again; the person is asked where the rules say so."
)

ACCEPT_EDITS = "Carry it out, accept edits"
ACCEPT = "Carry it out, ask as usual"
KEEP = "Keep planning"
_OPTIONS = (
    QuestionOption(label=ACCEPT_EDITS, description="edits of project files run without a question"),
    QuestionOption(label=ACCEPT, description="every change is asked for"),
    QuestionOption(label=KEEP, description="or say below what to change"),
)


class HasMode(Protocol):
    """Holds the permission mode in force."""

    mode: Mode


class PlanReminder:
    """Says what the conversation does not say yet: that plan mode was switched on or off.

    It looks at the conversation each time, so compaction, a rewind and a resumed session need no care.
    """

    def __init__(self, policy: HasMode, history: Callable[[], Messages]) -> None:
        self._policy = policy
        self._history = history

    def __call__(self) -> Sequence[str]:
        """Give what the model must be told with the next prompt."""
        planning = self._policy.mode is Mode.PLAN
        if planning == _was_told(self._history()):
            return ()
        return (PLAN_ON if planning else PLAN_OFF,)


def inside_reminder(policy: HasMode) -> Callable[[], Sequence[str]]:
    """Give what tells a sub-agent, whose conversation begins with its only prompt."""
    return lambda: (PLAN_ON_INSIDE,) if policy.mode is Mode.PLAN else ()


def _was_told(history: Messages) -> bool:
    """Tell what the last note about plan mode said; none means off."""
    on, off = f"{OPEN}{_ON_HEAD}", f"{OPEN}{_OFF_HEAD}"
    for message in reversed(history):
        if not isinstance(message, UserMessage):
            continue
        for block in reversed(message.content):
            if isinstance(block, TextBlock) and block.text.startswith((on, off)):
                return block.text.startswith(on)
    return False


class PlanMode:
    """Lets the person accept a plan. Implements `toolkit.context.Modes`.

    `changed` is told the new mode, so that the screen shows it.
    """

    def __init__(self, policy: HasMode, ask: Ask, changed: Callable[[Mode], Awaitable[None]]) -> None:
        self._policy = policy
        self._ask = ask
        self._changed = changed

    @property
    def planning(self) -> bool:
        """Whether plan mode is on."""
        return self._policy.mode is Mode.PLAN

    async def leave_plan(self, plan: str) -> tuple[bool, str]:
        """Show the plan; give whether it was accepted and the person's words. Anything but a clear yes is a no."""
        question = Question(
            question="Shall this plan be carried out?", header="Plan", options=_OPTIONS, details=plan
        )
        answers = await self._ask([question])
        chosen = list(answers[0]) if answers else []
        words = " ".join(answer for answer in chosen if answer not in (ACCEPT_EDITS, ACCEPT, KEEP))
        if chosen not in ([ACCEPT_EDITS], [ACCEPT]):
            return False, words
        if self.planning:  # the person may have left plan mode by a key while the question was open
            self._policy.mode = Mode.ACCEPT_EDITS if chosen == [ACCEPT_EDITS] else Mode.DEFAULT
            await self._changed(self._policy.mode)
        return True, words
