import threading
from contextlib import suppress

from agent_tui.sessions.writer import OwnedThread


def test_a_job_that_comes_after_closing_waits_for_those_before_it() -> None:
    thread, gate, order = OwnedThread("t"), threading.Event(), list[int]()

    def job(number: int) -> None:
        if number == 1:
            gate.wait()
        order.append(number)

    thread.submit(lambda: job(1))
    second = thread.submit(lambda: job(2))
    closed_in_time = thread.close(timeout_s=0)
    third = thread.submit(lambda: job(3))
    with suppress(TimeoutError):  # two threads at once would take it here
        second.result(timeout=0.1)
    gate.set()
    third.result(timeout=20)

    assert not closed_in_time
    assert order == [1, 2, 3]
    assert thread.close(timeout_s=20)


def test_closing_again_waits_for_what_is_still_running() -> None:
    thread, gate, order = OwnedThread("t"), threading.Event(), list[int]()

    thread.submit(lambda: order.append(1) if gate.wait() else None)
    first = thread.close(timeout_s=0)
    gate.set()
    second = thread.close(timeout_s=20)

    assert (first, second, order) == (False, True, [1])
