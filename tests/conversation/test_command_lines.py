import json
from pathlib import Path

from agent_tui.protocol.errors import BadResponse
from agent_tui.providers.scripted import calls, text, use
from agent_tui.toolkit.testing import ScriptedApprover
from tests.conversation.test_own_commands import mine
from tests.support.core_world import CoreWorld, configure, open_core

LINES = "---\nallowed-tools: Bash(echo *), Bash(seq *)\n---\nSee !`echo first` and !`seq 40000`.\n"


async def shown(world: CoreWorld) -> list[tuple[str, str]]:
    blocks = await world.core.replay()
    return [(b.kind, b.title if b.kind == "tool" else b.text) for b in blocks if b.kind != "notice"]


async def test_shell_lines_stand_behind_their_prompt_when_the_session_is_opened_again(
    workspace: Path,
) -> None:
    mine("two", LINES)
    async with open_core(workspace, text("done")) as world:
        await world.core.run_prompt("/two")
        session_id = world.core.status().session_id
        told = await shown(world)

    async with open_core(workspace, text("on"), resume=session_id) as world:
        assert (await shown(world)) == told
        assert told == [
            ("user", "/two"),
            ("tool", "echo first"),
            ("tool", "seq 40000"),
            ("assistant", "done"),
        ]
        first, second = [block for block in await world.core.replay() if block.kind == "tool"]
        assert "first\n" in first.text
        whole = await world.core.full_output(second.call_id)
        assert whole is not None
        assert len(whole.text) > len(second.text)

        await world.core.run_turn("go on")
        asked = json.dumps([m.model_dump(mode="json") for m in world.provider.requests[-1].messages])
        assert asked.count("See first") == 1
        assert "tool_result" not in asked


async def test_what_ran_of_a_command_that_was_not_sent_is_kept_too(workspace: Path) -> None:
    mine("push", "---\nallowed-tools: Bash(echo *)\n---\n!`echo ran` !`git push --force`")
    configure('[permissions]\ndeny = ["Bash(git push *)"]\n')
    async with open_core(workspace, text("fine")) as world:
        await world.core.run_prompt("/push")
        await world.core.run_turn("hello")

        assert await shown(world) == [
            ("tool", "echo ran"),
            ("tool", "git push --force"),
            ("user", "hello"),
            ("assistant", "fine"),
        ]


async def test_taking_the_prompt_back_takes_its_shell_lines_along(workspace: Path) -> None:
    mine("one", "---\nallowed-tools: Bash(echo *)\n---\nSee !`echo first`.")
    async with open_core(workspace, BadResponse("refused"), text("a"), text("b")) as world:
        await world.core.run_prompt("/one")
        assert await shown(world) == []

        await world.core.run_turn("hello")
        await world.core.run_prompt("/one")
        assert ("tool", "echo first") in await shown(world)
        last = (await world.core.past.points())[-1]
        await world.core.past.rewind(last.entry_id, files=False)
        assert await shown(world) == [("user", "hello"), ("assistant", "a")]


async def test_calls_of_the_model_and_shell_lines_are_told_apart(workspace: Path) -> None:
    mine("one", "---\nallowed-tools: Bash(echo *)\n---\nSee !`echo first`.")
    call = calls(use("bash", {"command": "echo second"}, call_id="c0"))
    approver = ScriptedApprover()
    async with open_core(workspace, call, text("done"), approver=approver) as world:
        await world.core.run_prompt("/one")
        session_id = world.core.status().session_id

    async with open_core(workspace, text("on"), resume=session_id) as world:
        results = [m for m in world.core.agent.history if "tool_result" in m.model_dump_json()]
        assert len(results) == 1
        assert [kind for kind, _ in await shown(world)] == ["user", "tool", "tool", "assistant"]
