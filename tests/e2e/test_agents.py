import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.e2e.conftest import Place, Served
from tests.e2e.test_offline import READY, grace
from tests.support.fake_servers import Answer, Recorded, Script, Tool, message

Serve = Callable[[Script], AbstractContextManager[Served]]
PLAN = "# Petal plan\n\n" + "\n".join(f"{n}. step number {n}" for n in range(1, 40))


def words(request: Any) -> str:
    return json.dumps(request["messages"])


def test_plan_is_shown_whole_accepted_and_carried_out(place: Place, serve: Serve) -> None:
    script = [
        message("Here is my plan.", tools=[Tool("p1", "exit_plan_mode", {"plan": PLAN})]),
        message("I write.", tools=[Tool("w1", "write", {"file_path": "n.txt", "content": "new\n"})]),
        message("The plan is carried out."),
    ]
    with serve(script) as served, place.terminal("--plan", **served.env) as terminal:
        terminal.until(READY)
        terminal.send("plan it\r")
        terminal.until("Carry it out, accept edits")
        assert "Petal plan" in terminal.text
        assert "step number 39" not in terminal.text
        terminal.quiet(0.6, wait_s=2)
        terminal.send("\x1b[6~\x1b[6~")
        terminal.until("step number 39")
        terminal.send("\r")
        terminal.until("The plan is carried out.")
        requests = served.requests

    assert (place.project / "n.txt").read_text() == "new\n"
    assert "Plan mode is on." in words(requests[0])
    assert "The plan was accepted" in words(requests[1])


def test_write_in_plan_mode_is_refused_and_a_declined_plan_keeps_it(place: Place, serve: Serve) -> None:
    script = [
        message("I try.", tools=[Tool("w1", "write", {"file_path": "n.txt", "content": "x"})]),
        message("Then a plan.", tools=[Tool("p1", "exit_plan_mode", {"plan": "# Plan"})]),
        message("I go on planning."),
    ]
    with serve(script) as served, place.terminal("--plan", **served.env) as terminal:
        terminal.until(READY)
        terminal.send("do it\r")
        terminal.until("Carry it out, accept edits")
        terminal.quiet(0.6, wait_s=2)
        terminal.send("\x1b")
        terminal.until("I go on planning.")
        requests = served.requests

    assert not (place.project / "n.txt").exists()
    assert "mode plan: nothing with a side effect runs" in words(requests[1])
    assert "plan mode stays on" in words(requests[2])


def test_two_sub_agents_ask_in_one_screen_and_answer_their_own_calls(place: Place, serve: Serve) -> None:
    def answer(request: Recorded) -> Answer:
        said = words(request.json)
        for name in ("rose", "tulip"):
            if f"write {name}.txt" in json.dumps(request.json["messages"][0]):
                if "tool_result" in said:
                    return message(f"{name} report")
                call = Tool("w1", "write", {"file_path": f"{name}.txt", "content": f"{name}\n"})
                return message(tools=[call])
        if "tool_result" in said:
            return message("Both reports are in.")
        return message(
            "Two agents.",
            tools=[
                Tool(f"t{n}", "task", {"description": f"plant {name}", "prompt": f"write {name}.txt"})
                for n, name in enumerate(("rose", "tulip"))
            ],
        )

    with serve(answer) as served, place.terminal(**served.env) as terminal:
        terminal.until(READY)
        terminal.send("plant\r")
        terminal.until(lambda text: "tulip.txt" in text and "rose.txt" in text)
        grace(terminal)  # each row has its own
        terminal.send("Y\r")
        terminal.until("Both reports are in.")
        last = served.requests[-1]

    assert (place.project / "rose.txt").read_text() == "rose\n"
    assert (place.project / "tulip.txt").read_text() == "tulip\n"
    results = [
        b
        for m in last["messages"]
        for b in m["content"]
        if isinstance(b, dict) and b["type"] == "tool_result"
    ]
    assert ["rose report" in json.dumps(results[0]), "tulip report" in json.dumps(results[1])] == [True, True]
    assert len(list(place.home.rglob("agents/*.jsonl"))) == 2


def test_call_that_a_sub_agent_could_not_ask_for_is_exit_3(place: Place, serve: Serve) -> None:
    def answer(request: Recorded) -> Answer:
        if "write it" in json.dumps(request.json["messages"][0]):
            call = Tool("w1", "write", {"file_path": "n.txt", "content": "x"})
            return message("denied") if "tool_result" in words(request.json) else message(tools=[call])
        if "tool_result" in words(request.json):
            return message("done")
        return message(tools=[Tool("t1", "task", {"description": "write", "prompt": "write it"})])

    with serve(answer) as served:
        done = place.run("-p", "go", **served.env)

    assert done.returncode == 3, done.stderr
    assert done.stdout.strip() == "done"


def test_rule_denies_an_agent_and_a_skill_by_name(place: Place, serve: Serve) -> None:
    config = place.home / ".config/agent-tui/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\ndeny = ["Task(explore)", "Skill(tidy)"]\n')
    skill = place.project / ".claude/skills/tidy/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tidy\ndescription: Tidies up.\n---\nSweep.\n")
    calls = [
        Tool("t1", "task", {"description": "look", "prompt": "look", "agent": "explore"}),
        Tool("s1", "skill", {"name": "tidy"}),
    ]
    with serve([message(tools=calls), message("Neither.")]) as served:
        done = place.run("-p", "go", **served.env)
        first, second = served.requests

    assert done.returncode == 0, done.stderr
    assert "- tidy: Tidies up." in json.dumps(first["system"])
    assert "- explore: " in json.dumps(first["system"])
    assert "deny Task(explore)" in words(second)
    assert "deny Skill(tidy)" in words(second)
    assert "Sweep." not in words(second)


def test_bad_skill_is_named_at_start_with_file_and_line(place: Place) -> None:
    skill = place.project / ".claude/skills/odd/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: odd\n---\nNo description.\n")

    done = place.run("-p", "help")

    assert done.returncode == 0
    assert f"{skill}:1: the description is missing" in done.stderr
