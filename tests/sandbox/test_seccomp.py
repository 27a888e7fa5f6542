import struct

import pytest

from agent_tui.sandbox.seccomp import program


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("internet", [True, False])
def test_every_jump_stays_inside_and_the_last_line_allows(machine: str, internet: bool) -> None:
    code = program(machine, internet=internet)

    assert code is not None
    lines = [struct.unpack("=HBBI", code[i : i + 8]) for i in range(0, len(code), 8)]
    for number, (_, when_true, when_false, _) in enumerate(lines):
        assert number + max(when_true, when_false) + 1 <= len(lines) - 0
    assert lines[-1] == (0x06, 0, 0, 0x7FFF0000)
    assert len(lines) < 4096


def test_unknown_machine_has_no_filter() -> None:
    assert program("mips") is None
