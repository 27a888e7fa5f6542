"""What is shown of one call: the whole command, the change, the address, the arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator

from textual.content import Content

from agent_tui.protocol.display import ChangePreview, ResultContentType
from agent_tui.protocol.json_text import parse_json
from agent_tui.protocol.permissions import (
    CommandPart,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Risk,
    RuleRef,
)
from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean, foreign_characters, vis
from agent_tui.ui.screens.approval.filed import file_lines
from agent_tui.ui.screens.approval.round import Row

RISK_MARKS = {Risk.LOW: ("", ""), Risk.MEDIUM: ("!", "$warning"), Risk.HIGH: ("HIGH", "bold $error")}
"""How a risk is marked, and the style of the mark; a low one has none."""

_LONG_LINES = 8
_LONG_CHARS = 600
_PART = {
    Decision.ALLOW: ("✓", "$success"),
    Decision.ASK: ("?", "$warning"),
    Decision.DENY: ("✗", "$error"),
}


def command_of(request: PermissionRequest) -> str | None:
    """Give the shell text of a call that executes one, exactly as it will run; None for other calls."""
    if (
        not any(permission.kind is PermissionKind.EXECUTE for permission in request.permissions)
        and not request.parts
    ):
        return None
    command = arguments_of(request).get("command")
    if isinstance(command, str):
        return command
    return next((p.target for p in request.permissions if p.kind is PermissionKind.EXECUTE), None)


def arguments_of(request: PermissionRequest) -> dict[str, object]:
    """Give the call's arguments as an object, empty when they are none."""
    try:
        found = parse_json(request.arguments_json)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON


def diff_of(row: Row) -> str:
    """Give the unified diff of a change, "" when the preview is none."""
    preview = row.request.preview
    return preview.content if preview is not None and preview.content_type is ResultContentType.DIFF else ""


def must_be_read(row: Row) -> bool:
    """Tell whether its end must have been on screen before it can be allowed: commands, and what was cut."""
    preview = row.request.preview
    return command_of(row.request) is not None or (preview is not None and preview.is_truncated)


def is_long(row: Row) -> bool:
    """Tell whether a preview is so long that a key for everything may not decide it unread."""
    preview = row.request.preview
    command = command_of(row.request)
    cut = preview is not None and preview.is_truncated
    return cut or (command is not None and (command.count("\n") >= _LONG_LINES or len(command) > _LONG_CHARS))


def above(row: Row) -> list[Content]:
    """Give the lines over the body: what a person must know first."""
    request = row.request
    lines: list[Content] = []
    if row.is_settled:
        lines.append(Content.styled("Nothing to decide: a rule answered this call.", "$muted"))
    if request.second_review:
        lines.append(Content.styled("The file changed since you approved this: look again.", "bold $warning"))
    elif request.reason:
        lines.append(Content.styled(f"{clean(request.reason[:1].upper() + request.reason[1:])}.", "$warning"))
    if row.edited is not None:
        lines.append(Content.styled("You edited this call; the model is told.", "$warning"))
    if request.may_change:
        lines.append(Content.styled("A command before it in this round may change this.", "$warning"))
    preview = request.preview
    if isinstance(preview, ChangePreview) and preview.note:
        lines.append(Content.styled(clean(preview.note), "$warning"))
    if row.edited is None:
        lines += file_lines(diff_of(row))
    odd = foreign_characters(_shown_text(request))
    if odd:
        more = f" and {len(odd) - 4} more" if len(odd) > 4 else ""
        lines.append(Content.styled(f"Holds {', '.join(odd[:4])}{more}.", "$warning"))
    return [*lines, Content("")] if lines else []


def _shown_text(request: PermissionRequest) -> str:
    return command_of(request) or " ".join(permission.target for permission in request.permissions)


def body(row: Row) -> list[Content]:
    """Give the body of everything but a diff."""
    request = row.request
    if row.edited is not None:
        return [_head("Arguments, edited"), *_json_lines(row.edited)]
    command = command_of(request)
    if command is not None:
        return _command(command)
    preview = request.preview
    if preview is not None and preview.content:
        lines = [Content(vis(line)) for line in preview.content.split("\n")]
        if preview.is_truncated:
            lines += [_head("Cut here. The arguments in full"), *_json_lines(arguments_of(request))]
        return lines
    return [_head("Arguments"), *_json_lines(arguments_of(request))]


def copied(row: Row) -> str:
    """Give the whole of a call as text: its command, its diff or its arguments, odd characters visible."""
    return "\n".join(vis(line) for line in _whole(row).split("\n"))


def _whole(row: Row) -> str:
    preview, command, diff = row.request.preview, command_of(row.request), diff_of(row)
    if row.edited is None and command is not None:
        return command
    if row.edited is None and diff and preview is not None and not preview.is_truncated:
        return diff
    arguments = arguments_of(row.request) if row.edited is None else row.edited
    return json.dumps(arguments, indent=2, ensure_ascii=False)


def parts(row: Row) -> list[Content]:
    """Give the verdict of each part of a command."""
    return _parts(row.request.parts) if row.edited is None else []


def after_diff(row: Row) -> list[Content]:
    """Give what follows a diff: the whole arguments when the diff was cut."""
    preview = row.request.preview
    if preview is None or not preview.is_truncated:
        return []
    total = f"{preview.full_length:,} characters in all"
    return [_head(f"Cut here, {total}. The arguments in full"), *_json_lines(arguments_of(row.request))]


def below(row: Row) -> list[Content]:
    """Give the lines under the body: what the call needs and what has been decided of it."""
    if row.is_settled:
        answers = [line for one in row.request.decided for line in _answer(one)]
        return [Content(""), _head("Decided"), *(answers or [Content("It needs no permission.")])]
    needs = [line for permission in row.request.permissions for line in _need(row, permission)]
    decided = [
        spans(("✓ ", "$success"), "a rule allows a part ", (rule_place(one.rule), "$muted"))
        for one in row.request.decided
        if one.decision is Decision.ALLOW
    ]
    said = [spans(("You say: ", "$accent"), clean(row.feedback))] if row.feedback else []
    return [Content(""), _head("Needs"), *needs, *decided, *said]


def _answer(one: PermissionDecision) -> Iterator[Content]:
    mark, style = _PART[one.decision]
    yield spans((f"{mark} ", style), f"{one.decision.value}: ", (rule_place(one.rule), "$muted"))


def why(row: Row) -> list[Content]:
    """Explain why the call asks, in full."""
    request = row.request
    lines = [_head("Why this does not ask" if row.is_settled else "Why this asks")]
    if request.reason:
        lines.append(Content(clean(request.reason)))
    for permission in request.permissions:
        lines += _need(row, permission)
        if not permission.reason and not row.is_settled:
            lines.append(Content.styled("    no rule allows or denies it, so you are asked", "$muted"))
        lasting = (
            f"“always” would store {vis(pattern)}"
            if (pattern := row.pattern_of(permission))
            else "it can only be allowed once"
        )
        lines.append(Content.styled(f"    {lasting}", "$muted"))
    lines += [Content(""), *_parts(request.parts)] if request.parts else []
    for one in request.decided:
        lines.append(spans(f"{one.decision.value} ", (rule_place(one.rule), "$muted")))
    lines += [Content(""), _head("Arguments in full"), *_json_lines(arguments_of(request))]
    return lines


def rule_place(rule: RuleRef | None) -> str:
    """Name a rule and where it stands."""
    if rule is None:
        return "by the mode"
    where = (
        f" ({clean(rule.file)}:{rule.line})"
        if rule.file and rule.line
        else f" ({clean(rule.file)})"
        if rule.file
        else ""
    )
    return f"{vis(rule.text)}{where}"


def _need(row: Row, permission: Permission) -> Iterator[Content]:
    decided = row.decisions.get(permission.id)
    mark = "○" if decided is None else "✓" if decided.decision is Decision.ALLOW else "✗"
    risk, style = RISK_MARKS[permission.risk]
    yield spans(
        (f"{mark} ", "$accent"),
        (f"{risk} " if risk else "", style),
        (f"{permission.kind.value} ", "$muted"),
        _target(row, permission),
    )
    if permission.reason:
        yield Content.styled(f"    {clean(permission.reason)}", "$muted")


def _target(row: Row, permission: Permission) -> str:
    if permission.kind is PermissionKind.EXECUTE and permission.target == command_of(row.request):
        return "this command"
    lines = vis(target_words(permission.kind, permission.target)).split("\n")
    return lines[0] if len(lines) == 1 else f"{lines[0]} … ({len(lines)} lines)"


def target_words(kind: PermissionKind, target: str) -> str:
    """Name what a permission reaches. No proxy can filter `raw:` hosts or `*`, so both open the whole network."""
    if kind is not PermissionKind.NETWORK:
        return target
    host = target.removeprefix("raw:")
    if host == "*":
        return "any host"
    return f"any host ({host} is meant)" if host != target else target


def _head(text: str) -> Content:
    return Content.styled(text, "bold $muted")


def _command(command: str) -> list[Content]:
    lines = vis(command).split("\n")
    count = command.count("\n") + 1
    text = [Content.styled(line, "$foreground") for line in lines]
    return [_head(f"{count} lines"), *text] if count > 1 else text


def _parts(parts: tuple[CommandPart, ...]) -> list[Content]:
    if not parts:
        return []
    return [Content(""), _head("Parts"), *(line for part in parts for line in _part(part))]


def _part(part: CommandPart) -> Iterator[Content]:
    mark, style = _PART[part.decision]
    yield spans((f"{mark} ", style), vis(" ".join(part.argv)).replace("\n", " "))
    because = part.why or (rule_place(part.rule) if part.rule is not None else "")
    if because:
        yield Content.styled(f"    {clean(because)}", "$muted")


def _json_lines(value: object) -> list[Content]:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return [Content(vis(line)) for line in text.split("\n")]
