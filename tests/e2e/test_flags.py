import itertools
import json
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.e2e.conftest import Place, Served
from tests.support.fake_servers import Script, Tool, message, status

Serve = Callable[[Script], AbstractContextManager[Served]]
SCHEMA = json.dumps({"type": "object", "properties": {"petals": {"type": "integer"}}, "required": ["petals"]})


def test_h70_structured_answer_is_in_the_result_and_in_the_file(place: Place, serve: Serve) -> None:
    wrong = message(tools=[Tool("a", "__respond__", {"petals": "five"})])
    right = message(tools=[Tool("b", "__respond__", {"petals": 5})])
    with serve([wrong, right]) as served:
        arguments = ("-p", "count", "--json-schema", SCHEMA, "-o", "answer.json", "--output-format", "json")
        done = place.run(*arguments, **served.env)
        offered = served.requests[0]["tools"]

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["structured"] == {"petals": 5}
    assert json.loads((place.project / "answer.json").read_text()) == {"petals": 5}
    assert offered[-1]["name"] == "__respond__"


def test_h71_answer_that_never_follows_the_schema_is_exit_1(place: Place, serve: Serve) -> None:
    with serve([message("five")] * 4) as served:
        done = place.run("-p", "count", "--json-schema", SCHEMA, **served.env)

    assert done.returncode == 1
    assert "no answer that follows the schema" in done.stderr


def test_h71_tool_filters_keep_the_answer_tool(place: Place, serve: Serve) -> None:
    answer = message(tools=[Tool("b", "__respond__", {"petals": 5})])
    with serve([answer]) as served:
        place.run("-p", "count", "--json-schema", SCHEMA, "--tools", "read", **served.env)
        names = [tool["name"] for tool in served.requests[0]["tools"]]

    assert names == ["read", "__respond__"]


@pytest.mark.parametrize(
    ("flag", "amount"), [("--max-tokens", "30"), ("--max-budget-usd", "0.0001"), ("--max-turns", "1")]
)
def test_x22_h11_a_cap_ends_the_run_with_exit_4(place: Place, serve: Serve, flag: str, amount: str) -> None:
    calls = [message(tools=[Tool(f"t{n}", "read", {"file_path": name})]) for n, name in enumerate("abc")]
    with serve(calls) as served:
        done = place.run("-p", "go", flag, amount, "--output-format", "json", **served.env)

    result = json.loads(done.stdout)
    assert done.returncode == 4, done.stderr
    assert result["stop_reason"] in ("budget", "round_limit")
    assert result["usage"]["input_tokens"] > 0
    assert len(served.requests) < 3


def test_budget_for_a_model_without_a_price_is_refused_in_one_sentence(place: Place, serve: Serve) -> None:
    with serve([]) as served:
        arguments = ("-p", "go", "--model", "claude-unheard-9", "--max-budget-usd", "1")
        done = place.run(*arguments, **served.env)

    assert done.returncode == 1
    assert "price of 'claude-unheard-9' is not known" in done.stderr
    assert served.requests == []


def test_prompt_flags_replace_and_add(place: Place, serve: Serve) -> None:
    (place.project / "more.md").write_text("Talk like a gardener.")
    with serve([message("ok")]) as served:
        arguments = ("-p", "go", "--system-prompt", "You count.", "--append-system-prompt-file", "more.md")
        done = place.run(*arguments, "--effort", "high", **served.env)
        request = served.requests[0]

    text = request["system"][0]["text"]
    assert done.returncode == 0, done.stderr
    assert text.startswith("You count.")
    assert text.endswith("Talk like a gardener.\n")
    assert "high" in json.dumps([request.get("output_config"), request.get("thinking")])


def test_allowed_and_disallowed_tools_decide_and_hide(place: Place, serve: Serve) -> None:
    calls = [
        Tool("a", "write", {"file_path": "a.txt", "content": "A"}),
        Tool("b", "write", {"file_path": "b.txt", "content": "B"}),
    ]
    with serve([message(tools=calls), message("done")]) as served:
        arguments = ("-p", "go", "--allowed-tools", "Edit(a.txt)", "--disallowed-tools", "Bash WebSearch")
        done = place.run(*arguments, **served.env)
        names = {tool["name"] for tool in served.requests[0]["tools"]}

    assert done.returncode == 3
    assert (place.project / "a.txt").exists()
    assert not (place.project / "b.txt").exists()
    assert "write" in names
    assert not names & {"bash", "websearch"}


def test_fallback_model_answers_when_the_first_stays_overloaded(place: Place, serve: Serve) -> None:
    with serve([status(529)] * 3 + [message("from the second")]) as served:
        arguments = ("-p", "go", "--model", "claude-sonnet-5-5", "--fallback-model", "claude-haiku-5-5")
        done = place.run(*arguments, **served.env)
        asked = [request["model"] for request in served.requests]

    assert "from the second" in done.stdout
    assert asked == ["claude-sonnet-5-5"] * 3 + ["claude-haiku-5-5"]
    assert "claude-haiku-5-5 takes over" in done.stderr


def without_marks(messages: object) -> str:
    return json.dumps(messages).replace(', "cache_control": {"type": "ephemeral"}', "")


def test_h78_two_turns_and_a_resumed_one_send_the_same_bytes_up_to_the_mark(
    place: Place, serve: Serve
) -> None:
    script = [
        message("I look.", tools=[Tool("t1", "read", {"file_path": "README.md"})]),
        message("It counts petals."),
        message("Still petals."),
    ]
    with serve(script) as served:
        first = place.run("-p", "what is this?", **served.env)
        second = place.run("-p", "are you sure?", "--continue", **served.env)
        raw = [request.raw for request in served.server.requests]
        requests = served.requests

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert len(raw) == 3
    for earlier, later in itertools.pairwise(requests):
        assert json.dumps(later["system"]) == json.dumps(earlier["system"])
        assert json.dumps(later["tools"]) == json.dumps(earlier["tools"])
        assert without_marks(later["messages"]).startswith(without_marks(earlier["messages"])[:-1])
        assert later["system"][-1]["cache_control"] == {"type": "ephemeral"}
    start, end = raw[0].index(b'"system":'), raw[0].rindex(b'"thinking":')
    assert all(raw[0][start:end] in one for one in raw[1:])
