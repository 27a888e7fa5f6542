import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.e2e.conftest import FILES, Place, Served
from tests.e2e.test_offline import READY, grace
from tests.support.fake_servers import Script, Tool, message

Serve = Callable[[Script], AbstractContextManager[Served]]
THINKING = {"thinking": "The petals first.", "signature": "sig-abc=="}


def blocks(request: dict[str, Any], role: str, kind: str) -> list[dict[str, Any]]:
    return [
        block
        for one in request["messages"]
        if one["role"] == role and isinstance(one["content"], list)
        for block in one["content"]
        if block["type"] == kind
    ]


def test_thinking_goes_back_unchanged_with_the_results(place: Place, serve: Serve) -> None:
    script = [
        message("I look.", tools=[Tool("t1", "read", {"file_path": "README.md"})], **THINKING),
        message("It counts petals."),
    ]
    with serve(script) as served, place.terminal(**served.env) as terminal:
        terminal.until(READY)
        terminal.send("what is this?\r")
        terminal.until("It counts petals.")

        second = served.requests[1]

    assert blocks(second, "assistant", "thinking") == [{"type": "thinking", **THINKING}]
    (result,) = blocks(second, "user", "tool_result")
    assert result["tool_use_id"] == "t1"
    assert "Counts petals." in json.dumps(result)


def test_four_calls_of_one_message_are_one_review_and_answer_in_order(place: Place, serve: Serve) -> None:
    calls = [
        Tool("w1", "write", {"file_path": "a.txt", "content": "A\n"}),
        Tool("r1", "read", {"file_path": "README.md"}),
        Tool("w2", "write", {"file_path": "b.txt", "content": "B\n"}),
        Tool("b1", "bash", {"command": "echo from bash > c.txt"}),
    ]
    with serve([message("Four.", tools=calls), message("All four are answered.")]) as served:
        with place.terminal(**served.env) as terminal:
            terminal.until(READY)
            terminal.send("do four things\r")
            grace(terminal)
            assert "Approve 3 calls" in terminal.text
            for key in "yny\r":
                terminal.send(key)
                terminal.quiet(0.2)
            terminal.until("All four are answered.")
        results = blocks(served.requests[1], "user", "tool_result")

    assert [result["tool_use_id"] for result in results] == ["w1", "r1", "w2", "b1"]
    assert [bool(result.get("is_error")) for result in results] == [False, False, True, False]
    assert (place.project / "a.txt").read_text() == "A\n"
    assert not (place.project / "b.txt").exists()
    assert (place.project / "c.txt").read_text() == "from bash\n"


def test_stream_cut_in_the_middle_keeps_what_was_shown_and_goes_on(place: Place, serve: Serve) -> None:
    whole = message("The first half of it. The second half of it.", piece=22)
    script = [whole.cut_at(whole.body.index(b"The second")), message("And here is the rest.")]
    with serve(script) as served, place.terminal(**served.env) as terminal:
        terminal.until(READY)
        terminal.send("tell me\r")
        screen = terminal.until("And here is the rest.")
        terminal.send("again\r")
        terminal.until("again")

    assert screen.count("The first half") == 1


def stop_and_go_on(
    place: Place, served: Served, stage: str, *, ready: Callable[[Any], None]
) -> list[dict[str, Any]]:
    with place.terminal(**served.env) as terminal:
        terminal.until(READY)
        terminal.send("begin\r")
        ready(terminal)
        terminal.send("\x1b")
        terminal.until(lambda text: "topped" in text or "ancelled" in text)
        terminal.quiet(0.3)
        terminal.send("\x15next one\r")
        terminal.until("A normal answer.")
    return served.requests


def test_esc_while_the_model_streams_then_a_normal_turn(place: Place, serve: Serve) -> None:
    gate = asyncio.Event()
    first = message("A long answer that never ends because the server waits.", piece=6)
    with serve([first.held(gate, before=6), message("A normal answer.")]) as served:
        requests = stop_and_go_on(place, served, "stream", ready=lambda terminal: terminal.until("A long"))
        served.open(gate)

    assert requests[-1]["messages"][-1]["role"] == "user"
    assert "next one" in json.dumps(requests[-1]["messages"][-1])


def test_esc_before_the_first_byte_gives_the_prompt_back(place: Place, serve: Serve) -> None:
    gate = asyncio.Event()
    with serve([message("Too late.").held(gate, before=0), message("A normal answer.")]) as served:
        with place.terminal(**served.env) as terminal:
            terminal.until(READY)
            terminal.send("begin with this\r")
            terminal.until(lambda _: len(served.requests) == 1)
            terminal.send("\x1b")
            terminal.until("› begin with this")
            terminal.send("\r")
            terminal.until("A normal answer.")
        served.open(gate)


def test_esc_while_a_command_runs_then_a_normal_turn(place: Place, serve: Serve) -> None:
    calls = [
        Tool("b1", "bash", {"command": "touch begun; sleep 600"}),
        Tool("w1", "write", {"file_path": "never.txt", "content": "x"}),
    ]
    with serve([message("", tools=calls), message("A normal answer.")]) as served:

        def ready(terminal: Any) -> None:
            grace(terminal)
            terminal.send("Y\r")
            terminal.until(lambda _: (place.project / "begun").exists())

        requests = stop_and_go_on(place, served, "command", ready=ready)
        results = blocks(requests[-1], "user", "tool_result")

    assert [result["tool_use_id"] for result in results] == ["b1", "w1"]
    assert "cancelled by user" in json.dumps(results[1]).lower()
    assert not (place.project / "never.txt").exists()


def test_esc_twice_in_the_review_denies_and_a_normal_turn_follows(place: Place, serve: Serve) -> None:
    edit = Tool("w1", "write", {"file_path": "never.txt", "content": "x"})
    with serve([message("", tools=[edit]), message("A normal answer.")]) as served:

        def ready(terminal: Any) -> None:
            grace(terminal)
            terminal.send("\x1b")
            terminal.until(lambda text: "y Allow" not in text)
            terminal.quiet(0.5, wait_s=2)

        requests = stop_and_go_on(place, served, "review", ready=ready)
        results = blocks(requests[-1], "user", "tool_result")

    assert [result["tool_use_id"] for result in results] == ["w1"]
    assert not (place.project / "never.txt").exists()
    assert (place.project / "README.md").read_text() == FILES["README.md"]


def test_headless_answer_comes_from_the_server(place: Place, serve: Serve) -> None:
    with serve([message("Forty-two.")]) as served:
        done = place.run("-p", "how many?", "--output-format", "json", **served.env)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"] == "Forty-two."


def test_wrong_key_is_one_sentence_and_exit_1(place: Place, serve: Serve) -> None:
    from tests.support.fake_servers import status

    with serve([status(401)]) as served:
        done = place.run("-p", "hello", **served.env)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "401" in done.stderr
    assert "sk-test-key" not in done.stderr + done.stdout
