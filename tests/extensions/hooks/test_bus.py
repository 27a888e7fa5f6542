from pathlib import Path

import pytest

from agent_tui.extensions.hooks.events import HookAnswer, HookFailed
from tests.support.hook_world import Heard, HookWorld, say, tool_event


@pytest.fixture
def world(workspace: Path) -> HookWorld:
    return HookWorld(workspace)


def listen(world: HookWorld, *listeners: Heard) -> None:
    for listener in listeners:
        world.hooks.subscribe(listener)


async def test_x13_rewrites_chain_and_contexts_add_up(world: HookWorld) -> None:
    first = Heard(HookAnswer(arguments={"command": "ls -l"}, context="one"))
    second = Heard(HookAnswer(context="two"))
    listen(world, first, second)

    said = await world.hooks.fire(tool_event())

    assert second.events[0].facts["tool_input"] == {"command": "ls -l"}
    assert (said.arguments, said.context) == ({"command": "ls -l"}, "one\ntwo")


async def test_x13_the_first_block_wins_and_nobody_behind_it_is_asked(world: HookWorld) -> None:
    first, last = Heard(HookAnswer(decision="deny", reason="first")), Heard(HookAnswer(decision="deny"))
    listen(world, Heard(HookAnswer(decision="allow")), first, last)

    said = await world.hooks.fire(tool_event())

    assert (said.decision, said.reason, said.by) == ("deny", "first", "listener")
    assert last.events == []


async def test_ask_is_stronger_than_allow_in_any_order(world: HookWorld) -> None:
    ask, allow = HookAnswer(decision="ask", reason="odd"), HookAnswer(decision="allow", reason="fine")
    listen(world, Heard(ask, allow), Heard(allow, ask))

    assert [(await world.hooks.fire(tool_event())).reason for _ in range(2)] == ["odd", "odd"]


async def test_an_allowance_does_not_cover_what_a_later_hook_rewrites(world: HookWorld) -> None:
    rewrite = HookAnswer(arguments={"command": "rm x"})
    listen(world, Heard(HookAnswer(decision="allow"), rewrite), Heard(rewrite, HookAnswer(decision="allow")))

    assert (await world.hooks.fire(tool_event())).decision == ""
    assert (await world.hooks.fire(tool_event())).decision == "allow"


async def test_a_result_passes_from_one_hook_to_the_next(world: HookWorld) -> None:
    second = Heard(HookAnswer(stop="enough"))
    listen(world, Heard(HookAnswer(output="masked")), second)

    said = await world.hooks.fire(tool_event("post_tool", tool_response="secret"))

    assert second.events[0].facts["tool_response"] == "masked"
    assert (said.output, said.stop) == ("masked", "enough")


@pytest.mark.parametrize("error", [HookFailed("broke"), RuntimeError("broke"), HookAnswer(output="x")])
async def test_x31_a_guard_that_fails_says_no(world: HookWorld, error: Exception | HookAnswer) -> None:
    listen(world, Heard(error, guarding=True))

    said = await world.hooks.fire(tool_event())

    assert said.decision == "deny"
    assert said.reason.startswith("the hook listener failed: ")
    assert world.warnings == []


async def test_x31_another_hook_that_fails_is_one_notice_and_the_rest_goes_on(world: HookWorld) -> None:
    failing = Heard(RuntimeError("broke"), RuntimeError("broke"), RuntimeError("other"))
    listen(world, failing, Heard(*[HookAnswer(context="here")] * 3))

    said = [await world.hooks.fire(tool_event("post_tool")) for _ in range(3)]

    assert [one.context for one in said] == ["here"] * 3
    assert world.warnings == [
        "The post_tool hook listener failed: RuntimeError: broke",
        "The post_tool hook listener failed: RuntimeError: other",
    ]


async def test_hooks_of_the_settings_come_before_extensions(world: HookWorld) -> None:
    listener = Heard()
    listen(world, listener)
    rewrite = say('{"arguments": {"command": "pwd"}}').replace('"', '\\"')
    world.use(f'[[hooks.pre_tool]]\ncommand = "{rewrite}"\ntimeout_s = 60\n')

    await world.hooks.fire(tool_event())

    assert listener.events[0].facts["tool_input"] == {"command": "pwd"}
    world.hooks.unsubscribe(listener)
    assert [type(one).__name__ for one in world.hooks.all()] == ["CommandHook"]


def test_nobody_is_asked_where_nobody_listens(world: HookWorld) -> None:
    world.use('[[hooks.pre_tool]]\nmatcher = "edit"\ncommand = "x"\n')

    assert world.hooks.any(tool_event().name, "edit")
    assert not world.hooks.any(tool_event().name, "bash")
    assert not world.hooks.any(tool_event("stop").name)
