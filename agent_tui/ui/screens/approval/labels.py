"""The words of the approval screen: its rows, counts and hints."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from textual.content import Content

from agent_tui.protocol.permissions import Decision, PermissionKind, Risk, Scope
from agent_tui.ui.look import spans
from agent_tui.ui.render.safe import clean_line, vis
from agent_tui.ui.screens.approval.grouping import PermissionGroup
from agent_tui.ui.screens.approval.preview import RISK_MARKS, command_of, rule_place, target_words
from agent_tui.ui.screens.approval.round import Round, Row
from agent_tui.ui.widgets.elastic import Elastic, Part

_SHORT_SCOPES = {
    Scope.ONCE: "once",
    Scope.SESSION: "session",
    Scope.PROJECT: "project",
    Scope.USER: "everywhere",
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


def call_row(row: Row, *, name_width: int) -> Elastic:
    """Draw one call: state, tool, target, then what is special about it, which outlasts the target."""
    mark, style = _MARKS[row.state]
    name = call_name(row).ljust(name_width)
    quiet = row.is_settled
    parts = [
        Part(Content.styled(f"{mark} ", "$faint" if quiet else style)),
        Part(Content.styled(name, "$faint" if quiet else "bold"), gives=((3, 8),), middle=True),
        Part(Content("  ") if quiet else Content("  ") + _risk(row.risk, "", " ")),
        Part(Content.styled(one_line(row), "$faint" if quiet else ""), gives=((2, 8), (5, 3)), middle=True),
    ]
    if row.request.origin:
        parts.append(
            Part(Content.styled(f" ↳ {clean_line(row.request.origin)}", "$accent"), gives=((4, 8), (6, 5)))
        )
    if row.feedback:
        parts.append(Part(Content.styled(" “…”", "$accent")))
    if rule := _rule(row):
        parts.append(Part(Content.styled(f"  {rule}", "$muted"), gives=((1, 9),)))
    elif row.is_decided:
        parts.append(Part(Content.styled(f"  {_decided(row)}", "$muted")))
    return Elastic(parts)


def _risk(risk: Risk, before: str, after: str) -> Content:
    """Give the mark of a risk between two texts; nothing for a low one."""
    mark, style = RISK_MARKS[risk]
    return Content.styled(f"{before}{mark}{after}", style) if mark else Content("")


def _rule(row: Row) -> str:
    """Say by what rule a row was answered, "" when a person did."""
    if row.is_settled:
        return settled_words(row)
    rules = [one.rule.text for one in row.decisions.values() if one.rule is not None]
    return f"by {vis(rules[0])}" if rules and row.is_decided else ""


def _decided(row: Row) -> str:
    words = [_decided_words([Decision.DENY if row.state == "denied" else Decision.ALLOW], row.scope)]
    if row.edited is not None:
        words.append("edited")
    if row.hunks is not None:
        words.append(f"{len(row.hunks)} of {row.hunk_count} hunks")
    return ", ".join(words)


def _decided_words(decisions: Collection[Decision], scope: Scope) -> str:
    """Say what was decided and for how long: "once", "denied", "denied, project"."""
    if len(set(decisions)) > 1:
        return "in part"
    if Decision.DENY not in decisions:
        return _SHORT_SCOPES[scope]
    return "denied" if scope is Scope.ONCE else f"denied, {_SHORT_SCOPES[scope]}"


def settled_words(row: Row) -> str:
    """Say by what a settled call was answered."""
    by = row.settled_by
    verb = "denied" if row.state == "denied" else "runs"
    if by is None:
        return f"{verb}: needs no permission"
    return f"{verb}: {rule_place(by.rule)}".replace("\n", " ")


def group_row(group: PermissionGroup, round_: Round, total: int) -> Elastic:
    """Draw one joined permission: state, pattern, how many calls need it."""
    made = _group_decisions(group, round_)
    mark, style = _group_mark(group, made)
    count = len(group.calls)
    many = f"  ×{count}" if total > 1 or count > 1 else ""
    return Elastic(
        [
            Part(Content.styled(f"{mark} ", style)),
            Part(Content(group_label(group)), gives=((1, 8),), middle=True),
            Part(
                spans((many, "$accent"), _risk(group.risk, "  ", ""), (_group_scope(group, made), "$muted"))
            ),
        ]
    )


def group_label(group: PermissionGroup) -> str:
    """Name a joined permission: its pattern, or its exact target."""
    if group.pattern:
        return vis(group.pattern).replace("\n", " ")
    kind = "outside" if group.kind is PermissionKind.WRITE and group.risk is Risk.HIGH else group.kind.value
    return f"{kind}: {vis(target_words(group.kind, group.target))}".replace("\n", " ")


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


def _group_scope(group: PermissionGroup, made: Sequence[tuple[Decision, Scope]]) -> str:
    if not made:
        return ""
    if len(made) < len(group.members):
        return "  in part"
    scope = max((scope for _, scope in made), key=list(Scope).index)
    return f"  {_decided_words([decision for decision, _ in made], scope)}"


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
        "" if command_of(row.request) is not None else f"  {one_line(row)}",
    )
    risk = _risk(row.risk, "  ", "")
    origin = (
        Content.styled(f"  ↳ {clean_line(row.request.origin)}", "$accent")
        if row.request.origin
        else Content("")
    )
    others = Content.styled(f"  +{beside} by rule", "$muted") if beside else Content("")
    tail = risk + origin + others
    room = max(4, width - tail.cell_length)
    return head.truncate(room, ellipsis=True) + tail


def headings(rows: Sequence[Row], mode: str, project: Path) -> dict[int, Elastic]:
    """Give what stands above the first row of each group, by its index; nothing when rows are not grouped."""
    keys = [_group_key(row, mode) for row in rows] if mode else []
    return {
        keys.index(key): Elastic(
            [
                Part(
                    Content.styled(_short(vis(key).replace("\n", " "), project), "bold $muted"),
                    gives=((1, 8),),
                    middle=True,
                ),
                Part(Content.styled(f"  ×{keys.count(key)}", "$muted")),
            ]
        )
        for key in dict.fromkeys(keys)
    }


def _short(path: str, project: Path) -> str:
    return path.removeprefix(f"{project}/")


def _group_key(row: Row, mode: str) -> str:
    """Give the name of the group a row belongs to when rows are grouped by `mode`."""
    match mode:
        case _ if mode and row.is_settled:
            return "settled by rule"
        case "permission":
            names = [p.pattern or f"{p.kind.value}, once only" for p in row.request.permissions]
            return " · ".join(dict.fromkeys(names)) or "no permission"
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
    first = {key: index for index, key in reversed(list(enumerate(_group_key(row, mode) for row in rows)))}
    return sorted(rows, key=lambda row: first[_group_key(row, mode)])
