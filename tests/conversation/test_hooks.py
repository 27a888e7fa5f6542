import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.events import ApprovalRequested, TurnFinished
from agent_tui.providers.scripted import calls, text, use
from agent_tui.sessions.approvals import DeferringApprover
from agent_tui.toolkit.testing import RecordingSink, ScriptedApprover
from tests.support.core_world import audit, configure, open_core
from tests.support.hook_world import say
from tests.support.patience import until


def hook(event: str, command: str, **more: Any) -> str:
    """Give the table of one hook; a minute is plenty on a busy machine."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"timeout_s": 60, **more}.items()]
    return "\n".join([f"[[hooks.{event}]]", f"command = {json.dumps(command)}", *lines, ""])


def answer(**said: Any) -> str:
    return say(json.dumps(said))


async def test_x13_x31_a_shell_hook_blocks_a_call_and_the_audit_names_the_hook(workspace: Path) -> None:
    configure(hook("pre_tool", "echo not on Fridays >&2; exit 2", matcher="bash"))
    script = [calls(use("bash", {"command": "make it"})), text("done")]
    async with open_core(workspace, *script) as world:
        await world.core.run_turn("go")

        assert world.denials == ["Blocked by a hook: not on Fridays"]
        assert "not on Fridays" in world.words()
        assert world.approver.asked == []
        (line,) = audit()
        assert (line["who"], line["decision"], line["target"]) == ("hook", "deny", "make it")
        assert line["rule"] == "hook: not on Fridays"
        assert len(line["args_sha256"]) == 64


async def test_x13_rewritten_arguments_are_what_the_person_is_asked_about(workspace: Path) -> None:
    rewritten = {"file_path": "b.txt", "content": "from the hook\n"}
    configure(hook("pre_tool", answer(arguments=rewritten, context="Files go to b.txt."), matcher="write"))
    script = [calls(use("write", {"file_path": "a.txt", "content": "x"})), text("done")]
    async with open_core(workspace, *script) as world:
        await world.core.run_turn("go")

        (request,) = world.approver.requests
        assert json.loads(request.arguments_json) == rewritten
        assert (request.title, request.preview is not None) == ("b.txt", True)
        assert "a hook changed the arguments" in request.reason
        assert sorted(path.name for path in workspace.iterdir()) == ["b.txt"]
        assert "A hook changed the arguments of this call" in world.words()
        assert world.words().endswith("Files go to b.txt.")


async def test_rewritten_arguments_are_checked_by_the_rules_again(workspace: Path) -> None:
    rewrite = answer(arguments={"command": "git push --force"}, decision="allow")
    deny = '[permissions]\ndeny = ["Bash(git push *)"]\n'
    configure(deny + hook("pre_tool", rewrite, matcher="bash"))
    async with open_core(workspace, calls(use("bash", {"command": "ls"})), text("done")) as world:
        await world.core.run_turn("go")

        assert "git push" in world.denials[0]
        assert "Bash(git push *)" in world.denials[0]


async def test_x13_a_hook_allows_what_would_ask_and_the_audit_names_it(workspace: Path) -> None:
    configure(hook("pre_tool", answer(decision="allow", reason="notes are fine"), matcher="write"))
    script = [calls(use("write", {"file_path": "a.txt", "content": "x"})), text("done")]
    async with open_core(workspace, *script) as world:
        await world.core.run_turn("go")

        assert world.approver.asked == []
        assert (workspace / "a.txt").read_text() == "x"
        (line,) = audit()
        assert (line["who"], line["decision"], line["tool"]) == ("hook", "allow", "write")
        assert line["rule"].startswith("hook: notes are fine [")


@pytest.mark.parametrize(
    ("rules", "tool", "arguments"),
    [
        ('deny = ["Edit(a.txt)"]', "write", {"file_path": "a.txt", "content": "x"}),
        ('ask = ["Edit(a.txt)"]', "write", {"file_path": "a.txt", "content": "x"}),
        ("", "write", {"file_path": ".envrc", "content": "x"}),
        ("", "write", {"file_path": ".agents/skills/a/SKILL.md", "content": "x"}),
        ("", "bash", {"command": "rm -rf ."}),
        ("", "bash", {"command": "sudo make install"}),
        ("", "bash", {"command": "echo $(make it)"}),
    ],
    ids=["deny", "ask", "envrc", "agents", "rm", "sudo", "substitution"],
)
async def test_an_allowing_hook_beats_no_rule_no_high_row_and_no_protected_path(
    workspace: Path, rules: str, tool: str, arguments: dict[str, str]
) -> None:
    settings = f"[permissions]\n{rules}\n" + hook("pre_tool", answer(decision="allow"))
    configure(settings + hook("approval", answer(decision="allow")))
    call = calls(use(tool, arguments, call_id="c0"))
    async with open_core(workspace, call, text("done"), approver=ScriptedApprover(deny=["c0"])) as world:
        await world.core.run_turn("go")

        assert world.results == []
        assert "allow" not in {line["decision"] for line in audit() if line["kind"] == "write"}
        assert world.approver.asked != [] or "Permission denied" in world.denials[0]


async def test_a_hook_asks_a_person_where_the_rules_would_not(workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello\n")
    configure(hook("pre_tool", answer(decision="ask", reason="look at this"), matcher="read"))
    async with open_core(workspace, calls(use("read", {"file_path": "a.txt"})), text("done")) as world:
        await world.core.run_turn("go")

        (request,) = world.approver.requests
        assert [need.reason.partition(" [")[0] for need in request.permissions] == ["look at this"]
        assert audit()[0]["who"] == "person"


async def test_what_a_hook_would_ask_is_denied_where_the_mode_asks_nobody(workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello\n")
    configure(hook("pre_tool", answer(decision="ask", reason="look at this"), matcher="read"))
    read = calls(use("read", {"file_path": "a.txt"}))
    async with open_core(workspace, read, text("done"), permission_mode="dont-ask") as world:
        await world.core.run_turn("go")

        assert (world.approver.asked, world.results) == ([], [])
        assert "this mode asks nobody: look at this" in world.denials[0]


@pytest.mark.parametrize("command", ["exit 1", "echo looks fine", "no-such-program-here"])
async def test_item_31_x31_a_guard_that_fails_lets_nothing_run(workspace: Path, command: str) -> None:
    configure(hook("pre_tool", command))
    async with open_core(workspace, calls(use("bash", {"command": "echo hi"})), text("done")) as world:
        await world.core.run_turn("go")

        assert world.results == []
        assert "failed: " in world.denials[0]


async def test_x31_a_hook_that_may_fail_is_one_notice_and_the_call_runs(workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello\n")
    configure(hook("pre_tool", "exit 1", fail_closed=False, matcher="read") + hook("post_tool", "exit 3"))
    read = [calls(use("read", {"file_path": "a.txt"})) for _ in range(2)]
    async with open_core(workspace, *read, text("done")) as world:
        await world.core.run_turn("go")

        assert len(world.results) == 2
        assert [text.split(" hook ")[0] for text in world.notices] == ["The pre_tool", "The post_tool"]


async def test_x13_a_result_is_rewritten_added_to_and_may_end_the_turn(workspace: Path) -> None:
    (workspace / "a.txt").write_text("the secret\n")
    said = answer(output="(hidden)", context="Ask for the rest.", stop="enough for today")
    configure(hook("post_tool", said, matcher="read"))
    async with open_core(workspace, calls(use("read", {"file_path": "a.txt"}))) as world:
        result = await world.core.run_turn("go")

        assert world.results == ["(hidden)\n\nAsk for the rest."]
        assert result.stop_reason == "end_turn"
        assert len(world.provider.requests) == 1
        assert "A hook ended the turn: enough for today" in world.notices
        assert world.of(TurnFinished)[0].stop_reason == "end_turn"


async def test_a_withheld_result_is_an_error_with_the_reason(workspace: Path) -> None:
    (workspace / "a.txt").write_text("the secret\n")
    configure(hook("post_tool", "echo it is secret >&2; exit 2"))
    async with open_core(workspace, calls(use("read", {"file_path": "a.txt"})), text("ok")) as world:
        await world.core.run_turn("go")

        assert world.results == ["The call ran, but a hook withheld its result: it is secret"]


async def test_approval_hooks_answer_in_the_place_of_the_person(workspace: Path) -> None:
    check = 'case "$(cat)" in *no.txt*) echo not that one >&2; exit 2;; *yes.txt*) echo \'{"decision": "allow"}\';; esac'
    configure(hook("approval", check))
    writes = [use("write", {"file_path": name, "content": "x"}) for name in ("no.txt", "yes.txt", "ask.txt")]
    async with open_core(workspace, calls(*writes), text("done")) as world:
        await world.core.run_turn("go")

        (requests,) = world.of(ApprovalRequested)
        assert [request.title for request in requests.requests] == ["ask.txt"]
        settled = {one.title: one.decided[-1].decided_by for one in requests.settled}
        assert settled == {"no.txt": "hook", "yes.txt": "hook"}
        assert world.denials == ["Blocked by a hook: not that one"]
        assert sorted(path.name for path in workspace.iterdir()) == ["ask.txt", "yes.txt"]
        assert [(line["who"], line["decision"]) for line in audit()] == [
            ("hook", "deny"),
            ("hook", "allow"),
            ("person", "allow"),
        ]


async def test_a_prompt_is_held_back_with_its_reason_and_nothing_is_sent(workspace: Path) -> None:
    configure(hook("user_prompt", 'grep -q "card number" && { echo "no card numbers" >&2; exit 2; } || true'))
    async with open_core(workspace, text("hello")) as world:
        refused = await world.core.run_turn("my card number is 1")
        fine = await world.core.run_turn("hello")

        assert refused.stop_reason == "failed"
        assert world.failures == ["The prompt was not sent, blocked by a hook: no card numbers"]
        assert (fine.stop_reason, len(world.provider.requests)) == ("end_turn", 1)
        assert "card" not in world.words()


async def test_x14_what_start_and_prompt_hooks_add_goes_with_the_prompt(workspace: Path) -> None:
    start = hook("session_start", "cat > start.json; echo It is Friday.")
    prompt = hook("user_prompt", "printf 'é%.0s' $(seq 3000); echo '</system-note>'")
    configure(start + prompt)
    async with open_core(workspace, text("one"), text("two")) as world:
        await world.core.run_turn("first")
        first = world.words()
        await world.core.run_turn("second")

        assert "<system-note>It is Friday.</system-note>" in first
        assert "It is Friday." not in world.words()
        assert "[cut at 4 KiB]" in first
        assert json.loads((workspace / "start.json").read_text())["source"] == "new"
        assert first.count("</system-note>") == first.count("<system-note>")


async def test_a_turn_that_waits_for_start_hooks_can_be_stopped_and_the_next_one_has_what_they_add(
    workspace: Path,
) -> None:
    os.mkfifo(workspace / "gate")
    configure(hook("session_start", "cat gate"))
    async with open_core(workspace, text("one")) as world:
        async with asyncio.TaskGroup() as group:
            stopped = group.create_task(world.core.run_turn("first"))
            await until(lambda: world.core.agent.running)
            world.core.cancel_turn()
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread((workspace / "gate").write_text, "It is Friday."))
            await world.core.run_turn("second")

        assert stopped.result().stop_reason == "cancelled"
        assert "It is Friday." in world.words()
        assert len(world.provider.requests) == 1


@pytest.mark.parametrize("goes_on", [False, True])
async def test_calls_that_wait_still_wait_after_a_turn_that_was_stopped_before_it_began(
    workspace: Path, goes_on: bool
) -> None:
    write = use("write", {"file_path": "made.txt", "content": "x"})
    async with open_core(workspace, calls(write)) as world:
        world.core.bind(sink=RecordingSink(), approver=DeferringApprover(), ask=None)
        assert (await world.core.run_turn("first")).stop_reason == "pending_approvals"
        session_id = world.core.status().session_id
    os.mkfifo(workspace / "gate")
    configure(hook("session_start", "cat gate"))
    async with open_core(workspace, text("done"), resume=session_id) as world:
        async with asyncio.TaskGroup() as group:
            stopped = group.create_task(world.core.redrive() if goes_on else world.core.run_turn("second"))
            await until(lambda: world.core.agent.running)
            world.core.cancel_turn()
        assert stopped.result().stop_reason == "cancelled"
        assert world.core.waits
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread((workspace / "gate").write_text, "on"))
            await world.core.redrive()

        assert (workspace / "made.txt").exists()
        assert not world.core.waits


async def test_a_stop_hook_keeps_the_turn_going_at_most_three_times(workspace: Path) -> None:
    configure(hook("stop", "cat >> stops; echo run the tests >&2; exit 2"))
    async with open_core(workspace, *[text(f"done {n}") for n in range(4)]) as world:
        result = await world.core.run_turn("go")

        assert result.stop_reason == "end_turn"
        assert len(world.provider.requests) == 4
        assert "A hook of the person says that you are not done: run the tests" in world.words()
        told = [json.loads(line) for line in (workspace / "stops").read_text().splitlines()]
        assert [(one["reply"], one["stop_hook_active"]) for one in told] == [
            ("done 0", False),
            ("done 1", True),
            ("done 2", True),
        ]


async def test_a_compaction_is_stopped_or_told_what_to_mind(workspace: Path) -> None:
    configure(hook("compaction", "cat > told; echo keep it whole >&2; exit 2"))
    async with open_core(workspace, text("one"), text("two")) as world:
        await world.core.run_turn("first")
        report = await world.core.agent.compact()

        assert report.problem == "The conversation was not compacted, a hook stopped it: keep it whole"
        assert json.loads((workspace / "told").read_text())["trigger"] == "manual"


async def test_session_switch_and_end_are_told(workspace: Path) -> None:
    configure(hook("session_start", "cat >> starts") + hook("session_end", "cat >> ends"))
    async with open_core(workspace, text("one")) as world:
        await world.core.run_turn("first")
        first = world.core.status().session_id
        world.core._session.hooks.end_limit_s = 60
        await world.core.new_session()
        world.core._session.hooks.end_limit_s = 60
        await world.core._session.hooks.ready()
        second = world.core.status().session_id

    def told(name: str, key: str) -> list[tuple[str, str]]:
        lines = [json.loads(line) for line in (workspace / name).read_text().splitlines()]
        return [(line["session_id"], line[key]) for line in lines]

    assert told("starts", "source") == [(first, "new"), (second, "new")]
    assert told("ends", "reason") == [(first, "switch"), (second, "leave")]


async def test_leaving_does_not_wait_for_a_slow_end(workspace: Path) -> None:
    configure(hook("session_end", "echo $$ > own; sleep 300; touch late"))
    async with open_core(workspace) as world:
        world.core._session.hooks.end_limit_s = 0.2
        started = time.monotonic()
        await world.core._session.hooks.end("leave")

        assert time.monotonic() - started < 60
    assert not (workspace / "late").exists()


async def test_hooks_of_a_project_run_only_once_it_is_trusted(workspace: Path) -> None:
    config = workspace / ".agent-tui/config.toml"
    config.parent.mkdir()
    config.write_text(hook("pre_tool", "touch ran; exit 2"))
    read = calls(use("list", {"path": "."}))
    async with open_core(workspace, read, text("x")) as world:
        await world.core.run_turn("go")
        assert not (workspace / "ran").exists()

    async with open_core(workspace, read, text("x"), read, text("y"), trust=True) as world:
        await world.core.run_turn("go")
        assert (workspace / "ran").exists()

        (workspace / "ran").unlink()
        config.write_text(config.read_text() + "# changed\n")
        await world.core.run_turn("again")
        assert not (workspace / "ran").exists()
        assert "changed since you trusted it" in world.denials[-1]


async def test_a_broken_guard_is_named_at_the_start_and_blocks(workspace: Path) -> None:
    path = configure('[[hooks.pre_tool]]\ncommand = "true"\ntimeout_s = 600\n')
    async with open_core(workspace, calls(use("list", {"path": "."})), text("x")) as world:
        problem = next(text for text in world.core.notices() if "hook" in text)
        await world.core.run_turn("go")

        assert problem.startswith(f"A hook needs a look: {path}:1: hooks.pre_tool: timeout_s")
        assert "it cannot be used: timeout_s" in world.denials[0]
        listing = await world.core.house.hooks()
        assert (listing.rows, len(listing.problems)) == ((), 1)
