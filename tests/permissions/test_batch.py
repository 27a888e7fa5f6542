from pathlib import Path
from typing import Any

import pytest

from agent_tui.permissions.batch import (
    Coverage,
    Row,
    coverage,
    covers,
    decide_row,
    grouped,
    is_wider,
    row_coverage,
    rows,
    runs,
    shared_patterns,
    verdicts,
)
from agent_tui.protocol.permissions import (
    Decision,
    Permission,
    PermissionKind,
    PermissionRequest,
    Risk,
    Scope,
)

READ, WRITE, EXECUTE, NETWORK, TOOL = PermissionKind
PROJECT, HOME = Path("/p"), Path("/h")
PLACES: dict[str, Any] = {"project": PROJECT, "home": HOME}


def permission(
    kind: PermissionKind, target: str, pattern: str, *, name: str = "p", risk: Risk = Risk.MEDIUM
) -> Permission:
    return Permission(id=name, kind=kind, target=target, pattern=pattern, risk=risk)


def call(call_id: str, *permissions: Permission, tool: str = "bash", origin: str = "") -> PermissionRequest:
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool=tool,
        title=call_id,
        permissions=permissions,
        origin=origin,
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


def test_a72_item_21_three_writes_in_one_directory_suggest_it_and_no_more() -> None:
    requests = [
        write("a", "/p/src/a/1"),
        write("b", "/p/src/a/2"),
        write("c", "/p/src/a/3"),
        write("d", "/p/src/b/1"),
    ]

    assert shared_patterns(requests, project=PROJECT) == ("Edit(/src/a/**)", "Edit(/src/b/1)")


def test_a73_a_read_and_a_write_stay_two() -> None:
    requests = [
        call("r", permission(READ, "/x/a", "Read(//x/a)")),
        call("w", permission(WRITE, "/x/b", "Edit(//x/b)")),
    ]

    assert shared_patterns(requests, project=PROJECT) == ("Read(//x/a)", "Edit(//x/b)")


def test_a81_files_directly_in_the_project_do_not_suggest_the_whole_project() -> None:
    assert shared_patterns([write("a", "/p/1"), write("b", "/p/2")], project=PROJECT) == (
        "Edit(/1)",
        "Edit(/2)",
    )


def test_a_row_suggests_no_more_than_was_asked() -> None:
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
    ],
)
def test_a_pattern_covers_what_its_rule_would(pattern: str, asked: Permission, expected: bool) -> None:
    assert covers(pattern, asked, project=PROJECT, home=HOME) is expected


def test_an_edited_pattern_says_how_much_it_covers() -> None:
    requests = [write(f"c{n}", f"/p/src/{'a' if n < 2 else 'b'}/{n}") for n in range(5)]

    assert str(coverage("Edit(/src/a/**)", requests, **PLACES)) == "covers 2 of 5"
    (row, *_) = rows(requests, project=PROJECT)
    assert row_coverage("Edit(/src/b/**)", row, requests, **PLACES) == Coverage(0, 1)


def test_a_pattern_that_reaches_further_is_noticed() -> None:
    row = Row(EXECUTE, "Bash(git diff *)", "git diff", (), Risk.MEDIUM, "Bash(git diff *)")

    assert is_wider("Bash(git *)", row)
    assert is_wider("Bash(*)", row)
    assert not is_wider("Bash(git diff *)", row)
    assert not is_wider("Bash(git diff --stat)", row)
    assert not is_wider("Bash(git diff --stat *)", row)


def test_deciding_a_row_decides_every_call_it_covers() -> None:
    requests = [call(f"c{n}", permission(EXECUTE, f"git diff {n}", "Bash(git diff *)")) for n in range(3)]
    (row,) = rows(requests, project=PROJECT)

    decided = decide_row(requests, {}, row, Decision.ALLOW, **PLACES)

    assert {key: d.scope for key, d in decided.items()} == {(f"c{n}", "p"): Scope.ONCE for n in range(3)}
    assert all(runs(verdict) for verdict in verdicts(requests, decided).values())


def test_pe_16_a_lasting_answer_releases_its_siblings_visibly() -> None:
    requests = [
        call(f"c{n}", permission(NETWORK, f"https://docs.a.com/{n}", "WebFetch(domain:docs.a.com)"))
        for n in range(5)
    ]
    requests.append(call("other", permission(NETWORK, "https://b.com", "WebFetch(domain:b.com)")))
    requests.append(call("sub", permission(NETWORK, "https://x.docs.a.com", "WebFetch(domain:x.docs.a.com)")))
    row = rows(requests, project=PROJECT)[0]

    decided = decide_row(
        requests,
        {},
        row,
        Decision.ALLOW,
        scope=Scope.SESSION,
        pattern="WebFetch(domain:*.docs.a.com)",
        **PLACES,
    )

    assert set(verdicts(requests, decided)) == {"c0", "c1", "c2", "c3", "c4", "sub"}
    released = decided["sub", "p"].rule
    assert released is not None
    assert "just decided" in released.file


def test_a_high_row_is_not_released_by_a_sibling() -> None:
    requests = [
        call("a", permission(EXECUTE, "git push", "Bash(git push *)")),
        call("b", permission(EXECUTE, "git push -f", "Bash(git push *)", risk=Risk.HIGH, name="q")),
    ]
    row = Row(EXECUTE, "Bash(git push *)", "git push", (("a", "p"),), Risk.MEDIUM, "Bash(git push *)")

    decided = decide_row(requests, {}, row, Decision.ALLOW, scope=Scope.SESSION, **PLACES)

    assert set(decided) == {("a", "p")}


def test_a_pattern_edited_away_from_a_call_decides_it_only_once() -> None:
    requests = [write("a", "/p/src/a"), write("b", "/p/src/b")]
    row = Row(WRITE, "Edit(/src/**)", "/p/src", (("a", "p"), ("b", "p")), Risk.MEDIUM)

    decided = decide_row(
        requests, {}, row, Decision.ALLOW, scope=Scope.PROJECT, pattern="Edit(/src/a)", **PLACES
    )

    assert {key: (d.scope, d.pattern) for key, d in decided.items()} == {
        ("a", "p"): (Scope.PROJECT, "Edit(/src/a)"),
        ("b", "p"): (Scope.ONCE, ""),
    }


def test_item_14_a71_a_call_runs_only_when_all_its_permissions_are_allowed() -> None:
    both = call(
        "c",
        permission(EXECUTE, "curl a.com", "Bash(curl a.com)", name="1"),
        permission(NETWORK, "a.com", "WebFetch(domain:a.com)", name="2"),
    )
    first, second = rows([both], project=PROJECT)

    half = decide_row([both], {}, first, Decision.ALLOW, **PLACES)
    assert verdicts([both], half) == {}
    denied = decide_row([both], half, second, Decision.DENY, **PLACES)
    assert not runs(verdicts([both], denied)["c"])
    allowed = decide_row([both], half, second, Decision.ALLOW, **PLACES)
    assert runs(verdicts([both], allowed)["c"])


def test_a22_a_denial_spills_over_to_no_neighbour() -> None:
    requests = [write("a", "/p/a"), write("b", "/p/b")]
    first, second = rows(requests, project=PROJECT)

    decided = decide_row(
        requests, decide_row(requests, {}, first, Decision.DENY, **PLACES), second, Decision.ALLOW, **PLACES
    )

    assert {name: runs(verdict) for name, verdict in verdicts(requests, decided).items()} == {
        "a": False,
        "b": True,
    }


def test_calls_are_grouped_by_permission_tool_file_and_agent() -> None:
    requests = [
        write("a", "/p/x"),
        write("b", "/p/x"),
        call("c", permission(EXECUTE, "make", "Bash(make)"), origin="explorer"),
    ]

    def names(by: Any) -> dict[str, list[str]]:
        return {
            name: [request.call_id for request in members] for name, members in grouped(requests, by).items()
        }

    assert names("permission") == {"Edit(/x)": ["a", "b"], "Bash(make)": ["c"]}
    assert names("tool") == {"write": ["a", "b"], "bash": ["c"]}
    assert names("file") == {"/p/x": ["a", "b"], "": ["c"]}
    assert names("agent") == {"": ["a", "b"], "explorer": ["c"]}


def test_pe_17_twenty_writes_are_one_row() -> None:
    requests = [
        call(f"c{n}", permission(WRITE, f"/p/src/{n}", "Edit(/src/**)"), tool="write") for n in range(20)
    ]
    (row,) = rows(requests, project=PROJECT)

    assert row.count == 20
    assert len(verdicts(requests, decide_row(requests, {}, row, Decision.DENY, **PLACES))) == 20
