"""Answers reviews through the editor: one permission request per call, all of a round in flight at once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from acp.exceptions import RequestError
from acp.schema import AllowedOutcome, PermissionOption, RequestPermissionResponse, ToolCallUpdate
from pydantic import ValidationError

from agent_tui.headless.acp import calls
from agent_tui.permissions import batch
from agent_tui.protocol.permissions import (
    Decision,
    PermissionDecision,
    PermissionRequest,
    Risk,
    Scope,
    Verdict,
)

AskClient = Callable[[ToolCallUpdate, list[PermissionOption]], Awaitable[RequestPermissionResponse]]
_ANSWERS: Mapping[str, tuple[Decision, Scope]] = {
    "allow_once": (Decision.ALLOW, Scope.ONCE),
    "allow_always": (Decision.ALLOW, Scope.PROJECT),
    "reject_once": (Decision.DENY, Scope.ONCE),
    "reject_always": (Decision.DENY, Scope.PROJECT),
}
"""Option ids are the protocol's kinds. "Always" holds for this project; the grant is kept outside of it."""


class EditorApprover:
    """A request that the editor cancels, cannot answer or answers with something unknown is a denial."""

    def __init__(self, ask: AskClient, workspace: Path, home: Path) -> None:
        self._ask = ask
        self._workspace = workspace
        self._home = home

    async def review(self, requests: Sequence[PermissionRequest]) -> Mapping[str, Verdict]:
        """Ask about all `requests` at once and wait for the last answer; there is no time limit."""
        verdicts: dict[str, Verdict] = {}

        async def one(request: PermissionRequest) -> None:
            offered = self._offered(request)
            options = self._options(request, offered)
            try:
                response = await self._ask(self._call(request), options)
            except (RequestError, ConnectionError, ValidationError):
                return  # a missing verdict is a denial
            outcome = response.outcome
            if isinstance(outcome, AllowedOutcome) and outcome.option_id in {o.option_id for o in options}:
                verdicts[request.call_id] = _verdict(request, outcome.option_id, offered)

        async with asyncio.TaskGroup() as group:
            for request in requests:
                group.create_task(one(request))
        return verdicts

    def _call(self, request: PermissionRequest) -> ToolCallUpdate:
        arguments = calls.raw_input(request.arguments_json)
        contents, places = (
            calls.contents_of(request.preview, self._workspace) if request.preview is not None else ([], [])
        )
        contents = [*calls.text_contents(_needs(request), calls.ResultContentType.MARKDOWN), *contents]
        return ToolCallUpdate(
            tool_call_id=request.call_id,
            title=calls.title_of(request.display_name or request.tool, request.title),
            kind=calls.kind_of(request.tool),
            status="pending",
            content=list(contents) or None,
            locations=places or calls.places_of(arguments, self._workspace) or None,
            raw_input=arguments,
        )

    def _offered(self, request: PermissionRequest) -> Mapping[str, str]:
        """Give what "always" stores for each permission, by its id: what this call asked for, no wider."""
        offered = batch.lasting([request], project=self._workspace)
        return {one.id: offered[request.call_id, one.id] for one in request.permissions}

    def _options(self, request: PermissionRequest, offered: Mapping[str, str]) -> list[PermissionOption]:
        patterns = ", ".join(dict.fromkeys(offered.values()))
        lasting = all(
            batch.covers(offered[one.id], one, project=self._workspace, home=self._home)
            for one in request.permissions
        )
        unseen = any(one.risk is Risk.HIGH for one in request.permissions)
        options = [PermissionOption(option_id="allow_once", name="Allow", kind="allow_once")]
        if lasting and not unseen:
            name = f"Always allow {patterns} in this project"
            options.append(PermissionOption(option_id="allow_always", name=name, kind="allow_always"))
        options.append(PermissionOption(option_id="reject_once", name="Reject", kind="reject_once"))
        if lasting:
            name = f"Always reject {patterns} in this project"
            options.append(PermissionOption(option_id="reject_always", name=name, kind="reject_always"))
        return options


def _needs(request: PermissionRequest) -> str:
    """Say what is asked for beyond the call itself: who asks, what is risky, why it comes up again."""
    lines = [f"For the sub-agent {request.origin}."] if request.origin else []
    lines += [f"{request.reason[:1].upper()}{request.reason[1:]}."] if request.reason else []
    for one in request.permissions:
        if one.risk is Risk.HIGH or one.reason:
            risk = "High risk: " if one.risk is Risk.HIGH else ""
            why = f" ({one.reason})" if one.reason else ""
            lines.append(f"{risk}{one.kind.value} `{one.target.replace('`', '')}`{why}")
    return "\n\n".join(lines)


def _verdict(request: PermissionRequest, option_id: str, offered: Mapping[str, str]) -> Verdict:
    decision, scope = _ANSWERS[option_id]
    return Verdict(
        call_id=request.call_id,
        permissions=tuple(
            PermissionDecision(
                permission_id=one.id,
                decision=decision,
                scope=scope,
                pattern=offered[one.id] if scope is not Scope.ONCE else "",
            )
            for one in request.permissions
        ),
    )
