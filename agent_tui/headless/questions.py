"""Approval questions and their answers as JSON: what goes out, what may come back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from agent_tui.permissions import batch
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.permissions import (
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionRequest,
    Scope,
    Verdict,
)
from agent_tui.protocol.plain_reasons import first_misfit


class PermissionAnswer(BaseModel):
    """The answer to one permission; `pattern` "" takes the offered one when the scope is a lasting one."""

    model_config = ConfigDict(extra="forbid")

    id: str
    decision: Literal["allow", "deny"]
    scope: Scope = Scope.ONCE
    pattern: str = ""


class CallAnswer(BaseModel):
    """The answer to one call; a permission that is missing is denied."""

    model_config = ConfigDict(extra="forbid")

    call_id: str
    permissions: tuple[PermissionAnswer, ...] = ()
    feedback: str = ""
    edited_arguments: dict[str, JsonValue] | None = None


class ApprovalAnswer(BaseModel):
    """The answer to one question; a call that is missing is denied."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["approval_response"]
    request_id: str
    decisions: tuple[CallAnswer, ...]


class AnswerRejected(Exception):
    """An answer does not fit its question; nothing of it counts."""


@dataclass(frozen=True)
class Ground:
    """Where patterns are read: `project` and the user's folder, both real paths."""

    project: Path
    home: Path


def question(request_id: str, requests: Sequence[PermissionRequest], ground: Ground) -> JsonObject:
    """Give the JSON object that asks about `requests`; each `pattern` is what a lasting answer stores."""
    offered = batch.lasting(requests, project=ground.project)
    return {
        "type": "approval_request",
        "request_id": request_id,
        "items": [_item(request, offered) for request in requests],
    }


def _item(request: PermissionRequest, offered: Mapping[batch.Key, str]) -> JsonObject:
    return {
        "call_id": request.call_id,
        "tool": request.tool,
        "title": request.title,
        "arguments": json.loads(request.arguments_json),
        "permissions": [
            _permission(permission, offered[request.call_id, permission.id])
            for permission in request.permissions
        ],
        "preview": request.preview.model_dump(mode="json") if request.preview is not None else None,
        "origin": request.origin,
        "second_review": request.second_review,
    }


def _permission(permission: Permission, pattern: str) -> JsonObject:
    return {
        "id": permission.id,
        "kind": permission.kind.value,
        "target": permission.target,
        "pattern": pattern,
        "risk": permission.risk.value,
        "reason": permission.reason,
    }


def read_answer(text: str | bytes) -> ApprovalAnswer:
    """Read an answer. Raises AnswerRejected with the reason."""
    try:
        return ApprovalAnswer.model_validate_json(text)
    except ValidationError as error:
        raise AnswerRejected(first_misfit(error, whole="an object is expected")) from error


def verdicts(
    answer: ApprovalAnswer, requests: Sequence[PermissionRequest], ground: Ground, *, by: DecidedBy
) -> Mapping[str, Verdict]:
    """Give the verdicts of an answer, all or none of them. Raises AnswerRejected."""
    asked = {request.call_id: request for request in requests}
    offered = batch.lasting(requests, project=ground.project)
    found: dict[str, Verdict] = {}
    for given in answer.decisions:
        request = asked.get(given.call_id)
        if request is None:
            raise AnswerRejected(f"call {given.call_id!r} was not asked about")
        if given.call_id in found:
            raise AnswerRejected(f"call {given.call_id!r} is answered twice")
        found[given.call_id] = _verdict(given, request, ground, by, offered)
    return found


def _verdict(
    given: CallAnswer,
    request: PermissionRequest,
    ground: Ground,
    by: DecidedBy,
    offered: Mapping[batch.Key, str],
) -> Verdict:
    known = {permission.id: permission for permission in request.permissions}
    decisions: dict[str, PermissionDecision] = {}
    for one in given.permissions:
        permission = known.get(one.id)
        if permission is None:
            raise AnswerRejected(f"call {given.call_id!r} does not need permission {one.id!r}")
        if one.id in decisions:
            raise AnswerRejected(f"permission {one.id!r} of call {given.call_id!r} is answered twice")
        decisions[one.id] = _decision(one, permission, ground, by, offered[request.call_id, one.id])
    for permission_id in known:
        decisions.setdefault(permission_id, _denied(permission_id, by))
    return Verdict(
        call_id=given.call_id,
        permissions=tuple(decisions.values()),
        feedback=given.feedback,
        edited_arguments=given.edited_arguments,
    )


def _denied(permission_id: str, by: DecidedBy) -> PermissionDecision:
    return PermissionDecision(permission_id=permission_id, decision=Decision.DENY, decided_by=by)


def _decision(
    one: PermissionAnswer, permission: Permission, ground: Ground, by: DecidedBy, offered: str
) -> PermissionDecision:
    """Give one decision; a lasting one must cover what it answers. Raises AnswerRejected."""
    pattern = one.pattern or offered
    lasting = one.scope is not Scope.ONCE
    if lasting and not permission.pattern:
        raise AnswerRejected(f"permission {one.id!r} can be answered once only")
    if lasting and not batch.covers(pattern, permission, project=ground.project, home=ground.home):
        raise AnswerRejected(f"the pattern {pattern!r} does not cover {permission.target!r}")
    return PermissionDecision(
        permission_id=one.id,
        decision=Decision(one.decision),
        scope=one.scope,
        pattern=pattern if lasting else "",
        decided_by=by,
    )
