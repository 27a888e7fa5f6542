"""The first two phases of a round, without side effects: what is called, with what, and what that needs."""

import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, cast

from agent_tui.executor import answers
from agent_tui.executor.bounded import StopSignal, Workers
from agent_tui.executor.gate import PolicyLike, Review
from agent_tui.executor.hooks import BeforeCall, QuestionHooks, ToolHooks
from agent_tui.executor.naming import repaired, unknown_tool
from agent_tui.executor.state import Refusal, RoundCall
from agent_tui.protocol.data import JsonObject, without_half_pairs
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import Permission, PermissionKind
from agent_tui.protocol.tools import ToolCall
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.source import ToolSource
from agent_tui.toolkit.threads import off_loop

_LOG = logging.getLogger(__name__)

MakeContext = Callable[[str, str], ToolContext]


def unique_ids(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Give the calls with ids that differ: an empty or repeated id gets a number."""
    seen: Counter[str] = Counter()
    taken = {call.call_id for call in calls}
    unique: list[ToolCall] = []
    for index, call in enumerate(calls):
        call_id = call.call_id or f"call_{index}"
        seen[call_id] += 1
        while seen[call_id] > 1 or (call_id != call.call_id and call_id in taken):
            call_id = f"{call_id}_{seen[call_id]}"
            seen[call_id] += 1
        taken.add(call_id)
        unique.append(call if call_id == call.call_id else call.model_copy(update={"call_id": call_id}))
    return unique


def parse_arguments(text: str) -> JsonObject:
    """Read a call's arguments; an empty text is an empty object. Raises ValueError with the reason.

    A key that stands twice is refused: two readers could take different ones, and the person sees only one.
    """
    try:
        value = cast(
            "object",
            json.loads(
                without_half_pairs(text) or "{}", object_pairs_hook=_unique_keys, parse_constant=_no_constant
            ),
        )
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON ({error.msg} at character {error.pos})") from error
    if not isinstance(value, dict):
        raise ValueError("a JSON object was expected")
    return cast("JsonObject", value)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build an object. Raises ValueError when a key stands twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise ValueError(f"the key {twice!r} stands twice")
    return found


def _no_constant(word: str) -> NoReturn:
    """Refuse NaN and the infinities, which are not JSON."""
    raise ValueError(f"{word} is not JSON")


@dataclass(frozen=True)
class Preparer:
    """Works out what each call of one round is and needs."""

    tools: ToolSource
    policy: PolicyLike
    hooks: ToolHooks | None
    questions: QuestionHooks | None
    make_context: MakeContext
    workers: Workers
    stop: StopSignal
    turn_id: str

    def named(self, call: ToolCall) -> RoundCall:
        """Begin with a call: repair its name and give it a context. Everything below uses the repaired name."""
        name = self._repaired(call.name)
        if name is not None and name != call.name:
            call = call.model_copy(update={"name": name})
        if not call.arguments_json.strip():
            call = call.model_copy(update={"arguments_json": "{}"})
        item = RoundCall(
            call=call,
            context=self.make_context(call.call_id, self.turn_id),
            display_name=call.name,
            title="",
        )
        if name is not None:
            item.display_name = self.tools.display_name(name)
            item.readable = self.tools.readable(name)
            item.foreign = self.tools.needs_approval(name)
        return item

    def _repaired(self, name: str) -> str | None:
        """Give the tool that was meant, None when there is none."""
        if self.tools.owns(name):
            return name
        return repaired(name, [spec.name for spec in self.tools.specs()])

    async def check(self, item: RoundCall, *, hooks: bool = True) -> Refusal | None:
        """Validate, pass the hooks, collect the permissions and ask the rules; give why not, or None to go on."""
        if not self.tools.owns(item.call.name):
            known = [spec.name for spec in self.tools.specs()]
            return Refusal(unknown_tool(item.call.name, known), "unknown_tool")
        refusal = await self._invalid(item)
        if refusal is None and hooks and self.hooks is not None:
            refusal = await self._hooked(item, self.hooks)
        if refusal is None:
            refusal = await self._needs(item)
        return refusal

    async def _invalid(self, item: RoundCall) -> Refusal | None:
        """Validate the arguments; set the title."""
        name, arguments_json = item.call.name, item.call.arguments_json
        try:
            parse_arguments(arguments_json)
        except ValueError as error:
            return Refusal(answers.bad_json(name, arguments_json, str(error)), "invalid")
        try:
            problem = self.tools.validate(name, arguments_json)
            if problem is None:
                await self.tools.foresee(name, arguments_json)
            item.title = self.tools.title(name, arguments_json)
        except Exception as error:  # foreign code: what cannot be checked is not run
            problem = answers.fault(name, error)
        return Refusal(problem, "invalid") if problem else None

    async def _hooked(self, item: RoundCall, hooks: ToolHooks) -> Refusal | None:
        """Pass the hooks; rewritten arguments are validated again and are what the person is shown."""
        try:
            settled = await self.workers.run(hooks.before(item.call, item.context), stop=self.stop)
        except Exception as error:  # foreign code: a guard that fails says no
            return self._blocked(item, f"a hook failed: {error}")
        said = settled.value or BeforeCall(block=answers.CANCELLED)
        if settled.how == "stopped":
            return Refusal(answers.CANCELLED, "cancelled")
        if said.block:
            return self._blocked(item, said.block)
        item.hook_asks, item.hook_allows = said.ask, said.allow
        item.hook_rewrote = (
            said.arguments_json is not None and said.arguments_json != item.call.arguments_json
        )
        if item.hook_rewrote:
            item.notes.append(answers.rewritten_note(said.arguments_json or ""))
        if said.context:
            item.notes.append(answers.hook_note(said.context))
        if said.arguments_json is None or not item.hook_rewrote:
            return None
        item.call = item.call.model_copy(update={"arguments_json": said.arguments_json})
        return await self._invalid(item)

    def _blocked(self, item: RoundCall, reason: str) -> Refusal:
        """Answer for a hook that said no; the audit file hears of it."""
        item.hook_denied = True
        try:
            self.policy.blocked(item.call, title=item.title, reason=reason)
        except Exception:  # the answer is no already
            _LOG.warning("a hook's block could not be written to the audit file", exc_info=True)
        return Refusal(f"Blocked by a hook: {reason}", "denied")

    async def question(self, item: RoundCall) -> Refusal | None:
        """Let hooks answer before a person is asked; what one allows is decided anew by the rules."""
        if self.questions is None:
            return None
        asked = self.questions.asked(item.call, item.asking, item.context)
        try:
            settled = await self.workers.run(asked, stop=self.stop)
        except Exception as error:  # foreign code: a guard that fails says no
            return self._blocked(item, f"a hook failed: {error}")
        if settled.how == "stopped" or settled.value is None:
            return Refusal(answers.CANCELLED, "cancelled")
        if settled.value.block:
            return self._blocked(item, settled.value.block)
        if not settled.value.allow:
            return None
        item.hook_allows = settled.value.allow
        return await self._needs(item)

    async def _needs(self, item: RoundCall) -> Refusal | None:
        """Collect what the call needs and what the rules say of it."""
        name = item.call.name
        item.cwd = item.context.cwd
        try:
            permissions = tuple(self.tools.permissions(name, item.call.arguments_json, item.context))
        except ToolError as error:
            return Refusal(str(error), "invalid")
        except Exception as error:  # foreign code: a question that cannot be computed is a no
            return Refusal(answers.fault(name, error), "invalid")
        if item.foreign and not permissions:
            permissions = (
                Permission(
                    id="tool",
                    kind=PermissionKind.TOOL,
                    target=name,
                    pattern=name,
                    reason="a tool that is not built in",
                ),
            )
        try:
            settled = await self.workers.run(reviewed(self.policy, item, permissions), stop=self.stop)
        except Exception as error:  # a rule file or a command nobody foresaw: what cannot be decided is a no
            return Refusal(f"Denied: the rules could not be applied: {error}", "denied")
        if settled.value is None:
            return Refusal(answers.CANCELLED, "cancelled")
        item.review = settled.value
        item.confinement = item.review.confinement
        if item.hook_asks and not item.review.denial and self.policy.asks_nobody:
            return self._blocked(
                item, f"a person was to be asked, and this mode asks nobody: {item.hook_asks}"
            )
        return Refusal(item.review.denial, "denied") if item.review.denial else None


async def reviewed(policy: PolicyLike, item: RoundCall, permissions: Sequence[Permission]) -> Review:
    """Apply the rules to a call where its shell stands. In a thread: a command may be long, what it searches large."""
    review = partial(
        policy.review,
        tool=item.call.name,
        permissions=permissions,
        readable=item.readable,
        needs_approval=item.foreign,
        cwd=item.context.cwd,
        vouched=item.hook_allows,
    )
    return await off_loop(review)


def edited(call: ToolCall, arguments: JsonObject) -> ToolCall:
    """Give the call with the arguments a person put in place of the model's."""
    return call.model_copy(update={"arguments_json": json.dumps(arguments, ensure_ascii=False)})
