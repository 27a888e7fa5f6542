import os

from agent_tui.sandbox.memory import memory_file


def test_descriptor_holds_the_bytes_and_never_has_a_low_number() -> None:
    fd = memory_file(b"the filter")

    try:
        assert fd >= 32
        assert os.get_inheritable(fd)
        assert os.read(fd, 100) == b"the filter"
    finally:
        os.close(fd)
