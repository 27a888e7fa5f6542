"""The words of the approval screen: its rows, counts and hints."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from agent_tui.protocol.permissions import Decision, PermissionKind, Risk, Scope
from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean_line, vis
from agent_tui.ui.screens.approval.grouping import PermissionGroup
from agent_tui.ui.screens.approval.preview import command_of, rule_place
from agent_tui.ui.screens.approval.round import Round, Row

SCOPE_WORDS = {
    Scope.ONCE: "once",
    Scope.SESSION: "this session",
    Scope.PROJECT: "this project",
    Scope.USER: "every project",
}
_MARKS = {
    "open": ("○", "$muted"),
    "partial": ("◐", "$warning"),
    "allowed": ("✓", "$success"),
    "denied": ("✗", "$error"),
}


def call_name(row: Row) -> str:
    """Give the tool's name as it is shown."""
    return clean_line(row.request.display_name or row.request.tool)


def one_line(row: Row) -> str:
    """Give the call's target in one line; every odd character is visible."""
    request = row.request
    text = request.title or _compact(request.arguments_json)
    return vis(text).replace("⟦n⟧\n", "⟦n⟧ ")


def _compact(arguments_json: str) -> str:
    return " ".join(arguments_json.split()) if arguments_json != "{}" else ""


def call_row(row: Row, *, name_width: int, group: str = "") -> Content:
    """Draw one call: state, tool, target, then what is special about it."""
    mark, style = _MARKS[row.state]
    parts: list[tuple[str, str] | str] = [
        (f"{mark} ", style),
        (call_name(row).ljust(name_width), "bold"),
        "  ",
    ]
    if row.is_settled:
        parts = [(f"{mark} {call_name(row).ljust(name_width)}  {one_line(row)}", "$faint")]
    else:
        parts += [("HIGH ", "bold $error") if row.risk is Risk.HIGH else "", one_line(row)]
    if row.request.origin:
        parts.append((f"  ↳ {clean_line(row.request.origin)}", "$accent"))
    if row.is_decided:
        parts.append((f"  {_decided(row)}", "$muted"))
    if row.feedback:
        parts.append(("  “…”", "$accent"))
    if group:
        parts.append((f"  {group}", "$muted"))
    return spans(*parts)


def _decided(row: Row) -> str:
    if row.is_settled:
        return settled_words(row)
    rules = [one.rule.text for one in row.decisions.values() if one.rule is not None]
    if rules:
        return f"by {vis(rules[0])}"
    words = [SCOPE_WORDS[row.scope]] if row.state == "allowed" or row.scope is not Scope.ONCE else []
    if row.edited is not None:
        words.append("edited")
    if row.hunks is not None:
        words.append(f"{len(row.hunks)} of {row.hunk_count} hunks")
    return ", ".join(words)


def settled_words(row: Row) -> str:
    """Say by what a settled call was answered."""
    by = row.settled_by
    verb = "denied" if row.state == "denied" else "runs"
    if by is None:
        return f"{verb}: needs no permission"
    return f"{verb}: {rule_place(by.rule)}".replace("\n", " ")


def group_row(group: PermissionGroup, round_: Round, total: int) -> Content:
    """Draw one joined permission: state, pattern, how many calls need it."""
    made = _group_decisions(group, round_)
    mark, style = _group_mark(group, made)
    count = len(group.calls)
    many = f"  ×{count}" if total > 1 or count > 1 else ""
    risk = ("  HIGH", "bold $error") if group.risk is Risk.HIGH else ("", "")
    return spans(
        (f"{mark} ", style),
        group_label(group),
        (many, "$accent"),
        risk,
        (_group_scope(made), "$muted"),
    )


def group_label(group: PermissionGroup) -> str:
    """Name a joined permission: its pattern, or its exact target."""
    if group.pattern:
        return vis(group.pattern).replace("\n", " ")
    kind = "outside" if group.kind is PermissionKind.WRITE and group.risk is Risk.HIGH else group.kind.value
    return f"{kind}: {vis(group.target)}".replace("\n", " ")


def _group_decisions(group: PermissionGroup, round_: Round) -> list[tuple[Decision, Scope]]:
    found: list[tuple[Decision, Scope]] = []
    for call_id, permission in group.members:
        row = round_.find(call_id)
        one = row.decisions.get(permission.id) if row is not None else None
        if one is not None:
            found.append((one.decision, one.scope))
    return found


def _group_mark(group: PermissionGroup, made: Sequence[tuple[Decision, Scope]]) -> tuple[str, str]:
    decisions = {decision for decision, _ in made}
    if len(made) < len(group.members):
        return _MARKS["partial" if made else "open"]
    if decisions == {Decision.ALLOW}:
        return _MARKS["allowed"]
    return _MARKS["denied"] if decisions == {Decision.DENY} else _MARKS["partial"]


def _group_scope(made: Sequence[tuple[Decision, Scope]]) -> str:
    if not made:
        return ""
    return f"  {SCOPE_WORDS[max((scope for _, scope in made), key=list(Scope).index)]}"


def headline(round_: Round, width: int) -> Content:
    """Draw the title with the counts at the right edge."""
    total = len(round_.rows)
    ruled = len(round_.settled)
    allowed, denied, undecided = round_.counts()
    title = Content.styled(f"Approve {total} calls", "bold $accent")
    counts = [
        (f"{allowed} allowed", "$success") if allowed else ("", ""),
        (f"{denied} denied", "$error") if denied else ("", ""),
        (f"{undecided} open", "$warning") if undecided else ("all decided", "$success"),
        (f"{ruled} by rule", "$muted") if ruled else ("", ""),
    ]
    for shown in (counts, counts[:-1]):
        tail = Content.styled(" · ", "$faint").join([Content.styled(*count) for count in shown if count[0]])
        gap = width - title.cell_length - tail.cell_length
        if gap >= 2:
            return spans(title, " " * gap, tail)
    return spans((f"{allowed}✓ {denied}✗ {undecided}○", "bold"))


def single_headline(row: Row, width: int, *, beside: int = 0) -> Content:
    """Draw the title of a screen for one call; `beside` counts the calls that rules settled."""
    mark, style = _MARKS[row.state]
    head = spans(
        (
            "Allow this? " if row.state == "open" else f"{mark} ",
            "bold $accent" if row.state == "open" else style,
        ),
        (call_name(row), "bold"),
        "  ",
        "" if command_of(row.request) is not None else one_line(row),
    )
    risk = Content.styled("  HIGH", "bold $error") if row.risk is Risk.HIGH else Content("")
    origin = (
        Content.styled(f"  ↳ {clean_line(row.request.origin)}", "$accent")
        if row.request.origin
        else Content("")
    )
    others = Content.styled(f"  +{beside} by rule", "$muted") if beside else Content("")
    tail = risk + origin + others
    room = max(4, width - tail.cell_length)
    return head.truncate(room, ellipsis=True) + tail


def group_key(row: Row, mode: str) -> str:
    """Give the name of the group a row belongs to when rows are grouped by `mode`."""
    match mode:
        case _ if mode and row.is_settled:
            return "settled by rule"
        case "permission":
            return ", ".join(dict.fromkeys(p.pattern or p.kind.value for p in row.request.permissions))
        case "tool":
            return call_name(row)
        case "file":
            paths = [
                p.target
                for p in row.request.permissions
                if p.kind in (PermissionKind.WRITE, PermissionKind.READ)
            ]
            return paths[0] if paths else "no file"
        case "agent":
            return row.request.origin or "main agent"
        case _:
            return ""


def ordered(rows: Sequence[Row], mode: str) -> list[Row]:
    """Put rows of one group together, groups in the order of their first row."""
    if not mode:
        return list(rows)
    first = {key: index for index, key in reversed(list(enumerate(group_key(row, mode) for row in rows)))}
    return sorted(rows, key=lambda row: first[group_key(row, mode)])
