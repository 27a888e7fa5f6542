from typing import Any

from agent_tui.protocol.permissions import PermissionKind


def runs_unasked(analysis: Any) -> bool:
    return analysis.clear and not analysis.touches and all(part.safe for part in analysis.parts)


def test_h_c1_no_command_that_can_do_something_runs_unasked(ground: Any, corpus: Any) -> None:
    allowed = [
        row["command"]
        for row in corpus
        if row["class"] != "read-only-safe" and runs_unasked(ground.analyse(row["command"]))
    ]

    assert allowed == []


def test_h_c2_every_command_that_only_reads_runs_unasked(ground: Any, corpus: Any) -> None:
    asked = [
        row["command"]
        for row in corpus
        if row["class"] == "read-only-safe" and not runs_unasked(ground.analyse(row["command"]))
    ]

    assert asked == []


def test_h_c3_a_write_outside_names_its_directory(ground: Any, corpus: Any) -> None:
    rows = [row for row in corpus if "folders" in row]
    missing = []
    for row in rows:
        touches = ground.analyse(row["command"]).touches
        named = {t.target for t in touches if t.kind is PermissionKind.WRITE and t.outside}
        wanted = {ground.here(f"{folder}/").rstrip("/") or "/" for folder in row["folders"]}
        if not wanted <= named:
            missing.append((row["command"], wanted, named))

    assert missing == []
    assert len(rows) >= 30


def test_a_network_command_asks_for_the_network(ground: Any, corpus: Any) -> None:
    silent = [
        row["command"]
        for row in corpus
        if row["class"] == "network"
        and not any(t.kind is PermissionKind.NETWORK for t in ground.analyse(row["command"]).touches)
    ]

    assert silent == []
