"""Asks everybody who listens to an event, one after the other, and makes one answer of what they say."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from agent_tui.extensions.hooks.events import (
    EventName,
    HookAnswer,
    HookEvent,
    HookFailed,
    Subscriber,
    checked,
)

Warn = Callable[[str], Awaitable[None]]


@dataclass
class Hooks:
    """The listeners of a run: those of the settings in the order of their files, then extensions.

    `warn` tells the person, once, of a hook that failed where it guards nothing. `plugged` gives the hooks of the
    extensions there are now.
    """

    warn: Warn
    plugged: Callable[[], Sequence[Subscriber]] = tuple
    _settings: tuple[Subscriber, ...] = ()
    _others: list[Subscriber] = field(default_factory=list[Subscriber])
    _told: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def use(self, subscribers: Sequence[Subscriber]) -> None:
        """Put the hooks of the settings in the place of those there were."""
        self._settings = tuple(subscribers)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Add a listener behind the others."""
        self._others.append(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Take a listener away."""
        self._others = [known for known in self._others if known is not subscriber]

    def all(self) -> Sequence[Subscriber]:
        """List who listens, in the order in which they are asked."""
        return (*self._settings, *self._others, *self.plugged())

    def any(self, name: EventName, tool: str = "") -> bool:
        """Tell whether anybody wants such an event."""
        event = HookEvent(name, {}, tool)
        return any(subscriber.wants(event) for subscriber in self.all())

    async def fire(self, event: HookEvent) -> HookAnswer:
        """Ask all: the first denial wins, rewrites chain, contexts add up, "ask" is stronger than "allow".

        An allowance counts only for the arguments it was given for: a later rewrite takes it back.
        """
        sum_ = HookAnswer()
        for subscriber in self.all():
            if not subscriber.wants(event):
                continue
            answer = await self._ask(subscriber, event)
            if answer is None:
                continue
            sum_ = _joined(sum_, answer, subscriber.label)
            if sum_.decision == "deny":
                return sum_
            event = _rewritten(event, answer)
        return sum_

    async def _ask(self, subscriber: Subscriber, event: HookEvent) -> HookAnswer | None:
        try:
            answer = await subscriber.on(event)
            return checked(event, answer) if answer is not None else None
        except HookFailed as error:
            problem = str(error)
        except Exception as error:  # foreign code: an extension may raise anything
            problem = f"{type(error).__name__}: {error}"
        if subscriber.guards(event):
            return HookAnswer(decision="deny", reason=f"the hook {subscriber.label} failed: {problem}")
        if (subscriber.label, problem) not in self._told:
            self._told.add((subscriber.label, problem))
            await self.warn(f"The {event.name} hook {subscriber.label} failed: {problem}")
        return None


def _joined(before: HookAnswer, answer: HookAnswer, label: str) -> HookAnswer:
    """Add what one more hook said."""
    if answer.decision == "deny":
        return replace(answer, by=label)
    decision, reason, by = before.decision, before.reason, before.by
    if decision == "allow" and answer.arguments is not None:
        decision, reason, by = "", "", ""
    if answer.decision == "ask" or (answer.decision == "allow" and decision == ""):
        decision, reason, by = answer.decision, answer.reason, label
    return HookAnswer(
        decision=decision,
        reason=reason,
        arguments=before.arguments if answer.arguments is None else answer.arguments,
        output=before.output if answer.output is None else answer.output,
        context="\n".join(filter(None, [before.context, answer.context])),
        stop=before.stop or answer.stop,
        by=by,
    )


def _rewritten(event: HookEvent, answer: HookAnswer) -> HookEvent:
    """Give the event as the next hook sees it."""
    facts = dict(event.facts)
    if answer.arguments is not None:
        facts["tool_input"] = answer.arguments
    if answer.output is not None:
        facts["tool_response"] = answer.output
    return replace(event, facts=facts)
