from pathlib import Path

import pytest

from agent_tui.permissions.batch import covers, is_wider, rows
from agent_tui.protocol.permissions import (
    Permission,
    PermissionKind,
    PermissionRequest,
    Risk,
)

READ, WRITE, EXECUTE, NETWORK, TOOL = PermissionKind
PROJECT, HOME = Path("/p"), Path("/h")


def permission(
    kind: PermissionKind, target: str, pattern: str, *, name: str = "p", risk: Risk = Risk.MEDIUM
) -> Permission:
    return Permission(id=name, kind=kind, target=target, pattern=pattern, risk=risk)


def call(call_id: str, *permissions: Permission, tool: str = "bash") -> PermissionRequest:
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool=tool,
        title=call_id,
        permissions=permissions,
    )


def write(call_id: str, path: str) -> PermissionRequest:
    return call(
        call_id,
        permission(WRITE, path, f"Edit(/{path})" if not path.startswith("/p/") else f"Edit({path[2:]})"),
        tool="write",
    )


def test_a06_a20_what_calls_share_is_one_row_with_its_count() -> None:
    requests = [call(f"c{n}", permission(EXECUTE, f"git diff {n}", "Bash(git diff *)")) for n in range(3)]
    requests.append(call("w", permission(WRITE, "/p/a", "Edit(/a)")))

    found = rows(requests, project=PROJECT)

    assert [(row.kind, row.pattern, row.count) for row in found] == [
        (EXECUTE, "Bash(git diff *)", 3),
        (WRITE, "Edit(/a)", 1),
    ]
    assert found[0].calls == ("c0", "c1", "c2")


def test_item_14_one_call_that_needs_a_pattern_twice_counts_once() -> None:
    request = call(
        "c",
        permission(EXECUTE, "npm a", "Bash(npm *)", name="1"),
        permission(EXECUTE, "npm b", "Bash(npm *)", name="2"),
    )

    (row,) = rows([request], project=PROJECT)

    assert (row.count, len(row.members)) == (1, 2)


def test_what_offers_no_pattern_is_a_row_of_its_own_target() -> None:
    requests = [
        call("a", permission(EXECUTE, "x $y", "")),
        call("b", permission(EXECUTE, "z $y", "")),
        call("c", permission(EXECUTE, "x $y", "")),
    ]

    assert [(row.target, row.calls) for row in rows(requests, project=PROJECT)] == [
        ("x $y", ("a", "c")),
        ("z $y", ("b",)),
    ]


def test_a73_a_read_and_a_write_stay_two() -> None:
    requests = [
        call("r", permission(READ, "/x/a", "Read(//x/**)")),
        call("w", permission(WRITE, "/x/b", "Edit(//x/**)")),
    ]

    assert [row.suggested for row in rows(requests, project=PROJECT)] == ["Read(//x/a)", "Edit(//x/b)"]


def test_a72_a81_item_21_a_row_suggests_no_more_than_was_asked() -> None:
    wide = [
        call(f"c{n}", permission(WRITE, f"/p/src/deep/{n}.py", "Edit(/src/**)"), tool="write")
        for n in range(2)
    ]

    assert [row.suggested for row in rows(wide, project=PROJECT)] == ["Edit(/src/deep/**)"]
    assert [row.suggested for row in rows(wide[:1], project=PROJECT)] == ["Edit(/src/deep/0.py)"]
    assert [
        row.suggested
        for row in rows([call("c", permission(EXECUTE, "git diff a", "Bash(git diff *)"))], project=PROJECT)
    ] == ["Bash(git diff *)"]


@pytest.mark.parametrize(
    ("pattern", "asked", "expected"),
    [
        ("Bash(git diff *)", permission(EXECUTE, "git diff a", "Bash(git diff *)"), True),
        ("Bash(git *)", permission(EXECUTE, "git diff a", "Bash(git diff *)"), True),
        ("Bash(npm *)", permission(EXECUTE, "git diff a", "Bash(git diff *)"), False),
        ("Bash(python3 *)", permission(EXECUTE, "python3 a.py", "Bash(python3 a.py)"), True),
        ("Bash(sort *)", permission(EXECUTE, "sort -o x y", "Bash(sort -o x y)"), False),
        ("Bash(x *)", permission(EXECUTE, "x $y", ""), False),
        ("Edit(/src/**)", permission(WRITE, "/p/src/a", "Edit(/src/a)"), True),
        ("Edit(/src/**)", permission(WRITE, "/p/src-b/a", "Edit(/src-b/a)"), False),
        ("Edit(/src/**)", permission(READ, "/p/src/a", "Read(/src/a)"), True),
        ("Read(/src/**)", permission(WRITE, "/p/src/a", "Edit(/src/a)"), False),
        ("Edit(/**)", permission(WRITE, "/p/.env", ""), False),
        (
            "WebFetch(domain:*.a.com)",
            permission(NETWORK, "https://x.a.com/y", "WebFetch(domain:x.a.com)"),
            True,
        ),
        (
            "WebFetch(domain:a.com)",
            permission(NETWORK, "https://b.com/a.com", "WebFetch(domain:b.com)"),
            False,
        ),
        ("mcp__x", permission(TOOL, "mcp__x__y", "mcp__x__y"), True),
        ("nonsense(", permission(TOOL, "mcp__x__y", "mcp__x__y"), False),
        ("mcp__server__probe", permission(WRITE, "/p/src/a.py", "Edit(/src/a.py)"), False),
        ("mcp__server", permission(READ, "/p/src/a.py", "Read(/src/a.py)"), False),
        ("Task", permission(WRITE, "/p/src/a.py", "Edit(/src/a.py)"), False),
        ("Task(*)", permission(WRITE, "/p/src/a.py", "Edit(/src/a.py)"), False),
        ("Edit", permission(WRITE, "/p/src/a.py", "Edit(/src/a.py)"), True),
        ("Edit", permission(WRITE, "/elsewhere/a.py", "Edit(//elsewhere/a.py)"), False),
        ("WebFetch", permission(NETWORK, "https://x.example/a", "WebFetch(domain:x.example)"), True),
        ("WebFetch", permission(NETWORK, "x.example", "WebFetch(domain:x.example)"), False),
        ("mcp__server", permission(TOOL, "mcp__server__probe", "mcp__server__probe"), True),
        ("mcp__server", permission(EXECUTE, "git diff", "Bash(git diff)"), False),
    ],
)
def test_a_pattern_covers_what_its_rule_would(pattern: str, asked: Permission, expected: bool) -> None:
    assert covers(pattern, asked, project=PROJECT, home=HOME) is expected


def test_a_pattern_that_reaches_further_is_noticed() -> None:
    offered = "Bash(git diff *)"

    assert is_wider("Bash(git *)", offered)
    assert is_wider("Bash(*)", offered)
    assert not is_wider("Bash(git diff *)", offered)
    assert not is_wider("Bash(git diff --stat)", offered)
    assert not is_wider("Bash(git diff --stat *)", offered)


def test_pe_17_twenty_writes_are_one_row() -> None:
    requests = [
        call(f"c{n}", permission(WRITE, f"/p/src/{n}", "Edit(/src/**)"), tool="write") for n in range(20)
    ]
    (row,) = rows(requests, project=PROJECT)

    assert row.count == 20
