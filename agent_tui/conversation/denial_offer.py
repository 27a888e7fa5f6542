"""Offers the person to open the sandbox when it seems to have kept a command from something."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.executor.hooks import AfterCall, BeforeCall
from agent_tui.permissions.policy import Policy
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.permissions import (
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Risk,
    Verdict,
)
from agent_tui.protocol.tools import ToolCall, ToolResult
from agent_tui.sandbox.granted import GrantedSandbox
from agent_tui.sandbox.interface import Profile
from agent_tui.toolkit.context import Ask, Question, QuestionOption, ToolContext

if TYPE_CHECKING:
    from agent_tui.sandbox.denial import Blocked

NO = "No, keep the sandbox"
ONCE = "Run this very command once without the sandbox"
_REFUSED = "The sandbox seems to have blocked this. The person was asked and keeps it as it is: find another way, or say what is needed."


@dataclass(frozen=True)
class _Offer:
    """One thing a person may allow: the words of the choice, what it grants, and what the model is told."""

    label: str
    permission: Permission
    grant: Callable[[], None]
    told: str


@dataclass
class DenialOffers:
    """A hook of rounds: asks once for each command. With nobody to ask it does nothing.

    `refused` gives the hosts that the sandbox's proxy has refused so far.
    """

    sandbox: GrantedSandbox
    policy: Policy
    ask: Callable[[], Ask | None]
    refused: Callable[[], Sequence[str]]
    home: Path
    own: Sequence[Path]
    _offered: set[str] = field(default_factory=set[str])
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _refused_before: dict[str, int] = field(default_factory=dict[str, int])

    async def before(self, call: ToolCall, ctx: ToolContext) -> BeforeCall:
        """Remember which hosts were refused already."""
        if call.name == "bash":
            self._refused_before[call.call_id] = len(self.refused())
        return BeforeCall()

    async def after(self, call: ToolCall, result: ToolResult, ctx: ToolContext) -> AfterCall:
        """Look at a command that failed."""
        known = self._refused_before.pop(call.call_id, 0)
        ask = self.ask()
        exit_code = result.data.get("exit_code")
        if ask is None or call.name != "bash" or not isinstance(exit_code, int):
            return AfterCall()
        command = _command(call)
        reach = self.sandbox.reach(ctx.confinement)
        if reach.profile is not Profile.WORKSPACE:
            return AfterCall()
        from agent_tui.sandbox.denial import blocked_by_sandbox  # 5 ms of CPU, with the first command

        blocked = blocked_by_sandbox(
            command=command,
            exit_code=exit_code,
            output=result.output,
            confinement=reach,
            workspace=ctx.workspace,
            cwd=ctx.cwd,
            home=self.home,
            own=self.own,
            refused_hosts=self.refused()[known:],
        )
        if blocked is None or blocked.key in self._offered:
            return AfterCall()
        self._offered.add(blocked.key)
        async with self._one_at_a_time:
            return AfterCall(context=await self._offer(ask, call, command, blocked))

    async def _offer(self, ask: Ask, call: ToolCall, command: str, blocked: "Blocked") -> str:
        """Ask, store what was allowed, and give what the model is told."""
        offers = self._choices(command, blocked)
        question = Question(
            question="The sandbox may have blocked this command. Change that?",
            header="Sandbox",
            options=(
                QuestionOption(label=NO, description="nothing changes"),
                *(QuestionOption(label=offer.label) for offer in offers),
            ),
            details=_details(command, blocked),
        )
        answers = await ask([question])
        chosen = list(answers[0]) if answers else []
        offer = next((offer for offer in offers if chosen == [offer.label]), None)
        if offer is None:
            words = " ".join(answer for answer in chosen if answer != NO)
            return f"{_REFUSED} The person says: {words}" if words else _REFUSED
        try:
            await self.policy.record(_request(call, offer.permission), _verdict(call, offer.permission))
        except OSError as error:
            return f"The person allowed it, but the decision could not be written down ({error}), so it does not count."
        offer.grant()
        return f"{offer.told} It was not run again: do that yourself if it is still needed."

    def _choices(self, command: str, blocked: "Blocked") -> list[_Offer]:
        folders = [self._folder(folder) for folder in blocked.directories]
        hosts = [self._host(host) for host in blocked.hosts]
        once = _Offer(
            ONCE,
            Permission(
                id="sandbox", kind=PermissionKind.EXECUTE, target=command, risk=Risk.HIGH, reason="no sandbox"
            ),
            lambda: self.sandbox.allow_once(command),
            "The person allows the next run of exactly this command, byte for byte, to go without the sandbox.",
        )
        return [*folders, *hosts, once]

    def _folder(self, folder: Path) -> _Offer:
        return _Offer(
            f"Let commands write in {folder} for this session",
            Permission(id="sandbox", kind=PermissionKind.WRITE, target=str(folder), risk=Risk.HIGH),
            lambda: self.sandbox.allow_folder(folder),
            f"The person lets commands write in {folder} for this session.",
        )

    def _host(self, host: str) -> _Offer:
        return _Offer(
            f"Let commands reach {host} for this session",
            Permission(id="sandbox", kind=PermissionKind.NETWORK, target=host, risk=Risk.HIGH),
            lambda: self.sandbox.allow_host(host),
            f"The person lets commands reach {host} for this session.",
        )


def _command(call: ToolCall) -> str:
    """Give the text of a bash call, "" when there is none."""
    try:
        arguments: object = parse_json(call.arguments_json)
    except ValueError:
        return ""
    command: object = arguments.get("command") if isinstance(arguments, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
    return command if isinstance(command, str) else ""


def _details(command: str, blocked: "Blocked") -> str:
    """Show the command and its own words as text, never as markup."""
    parts = ["The command:", _fenced(command)]
    if blocked.words:
        parts += ["In its own words, which need not be true:", _fenced(blocked.words)]
    return "\n\n".join(parts)


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"


def _request(call: ToolCall, permission: Permission) -> PermissionRequest:
    return PermissionRequest(
        request_id=f"sandbox-{call.call_id}",
        call_id=call.call_id,
        tool=call.name,
        title="opens the sandbox",
        permissions=(permission,),
        arguments_json=call.arguments_json,
    )


def _verdict(call: ToolCall, permission: Permission) -> Verdict:
    return Verdict(
        call_id=call.call_id,
        permissions=(
            PermissionDecision(
                permission_id=permission.id, decision=Decision.ALLOW, decided_by=DecidedBy.PERSON
            ),
        ),
    )
