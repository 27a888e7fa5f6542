import time
from typing import Any

import pytest

_LOOP = "".join(f"for a{n} in 1 2 3 4 5 6 7 8; do " for n in range(9)) + "x=1; " + "done; " * 9
_LONG = [
    "foo " + ":a" * 50_000,
    "echo " + "PAGER" * 10_000,
    "sed '\\x" + "0" * 50_000 + "' a.txt",
    _LOOP,
    "x=" + "a " * 5_000 + "; foo " + "$x " * 50,
    "x='" + "a " * 5_000 + "'; foo " + "$x " * 50,
    "x=aaaaaaaaaa; " + "x=$x$x; " * 60 + "foo $x",
]


@pytest.mark.parametrize("command", _LONG, ids=range(len(_LONG)))
def test_a_long_command_costs_no_more_than_many_plain_words(ground: Any, command: str) -> None:
    def cost(text: str) -> float:
        before = time.process_time()
        ground.analyse(text)
        return time.process_time() - before

    plain = cost("foo " + "a " * 10_000)

    assert cost(command) < 20 * plain


@pytest.mark.parametrize("wrapper", ["xargs", "ssh", "find", "docker"])
def test_a_wrapper_of_a_thousand_words_is_left_to_a_person(desk: Any, wrapper: str) -> None:
    desk.make(allow=["Bash"])

    assert desk.run(f"{wrapper} " + "run -exec rm " * 300) == "ask"


@pytest.mark.parametrize("command", ["sudo rm " + "a " * 200, "timeout 5 pytest " + "a " * 200])
def test_a_long_list_of_files_behind_a_plain_wrapper_stays_readable(ground: Any, command: str) -> None:
    assert not any(part.sealed for part in ground.analyse(command).parts)
