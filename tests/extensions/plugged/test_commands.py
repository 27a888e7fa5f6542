from pathlib import Path

import pytest

from agent_tui.extensions.plugged.person import MAX_NOTICES, Nobody, Reception, Voice
from agent_tui.extensions.plugged.python import Registration
from agent_tui.protocol.errors import ToolError
from tests.support.patience import until
from tests.support.plug_world import FakePerson, plug_world, write_extension

COMMANDS = """
    def release(args, ctx):
        reply = ctx.confirm("Release", f"Release {args}?", yes="Ship", no="Wait", danger=True)
        if reply.ok:
            ctx.submit(f"Write the notes of {args}")
            ctx.set_status(f"released {args}")
        else:
            ctx.notify("warning", "not released")

    async def later(args, ctx):
        reply = await ctx.confirm("Later", "Really?")
        ctx.notify("info", f"{args} {reply.ok} in {ctx.workspace.name}")
        ctx.set_status("")

    def fail(args, ctx):
        raise RuntimeError("no network")

    def extend(agent):
        agent.register_command("release", "Releases a version", release, needs_args=True)
        agent.register_command("later", "Asks", later)
        agent.register_command("fail", "Fails", fail)
"""


async def test_x07_a_plain_handler_asks_submits_and_shows(workspace: Path, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "ship", COMMANDS)

    async with plug_world(workspace, tmp_path / "e") as world:
        await world.host.run_command("release", "  v2 ")

        assert world.person.asked == [("ship: Release", "Release v2?", "Ship", "Wait", True)]
        await until(lambda: world.host.statuses() == ("released v2",))
        assert world.person.submitted == ["Write the notes of v2"]


async def test_x07_an_async_handler_gets_the_same(workspace: Path, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "ship", COMMANDS)

    async with plug_world(workspace, tmp_path / "e") as world:
        await world.host.run_command("later", "x")

    assert world.person.asked == [("ship: Later", "Really?", "Yes", "No", False)]
    assert world.person.notices == [("info", "ship: x True in proj")]


async def test_x07_no_is_not_ok(workspace: Path, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "ship", COMMANDS)

    async with plug_world(workspace, tmp_path / "e") as world:
        world.person.answer = False
        await world.host.run_command("release", "v2")
        await until(lambda: bool(world.person.notices))

    assert world.person.notices == [("warning", "ship: not released")]
    assert world.person.submitted == []


async def test_x12_without_a_person_confirm_is_not_ok_and_notices_wait(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(tmp_path / "e", "ship", COMMANDS)

    async with plug_world(workspace, tmp_path / "e") as world:
        world.host.bind(Nobody())
        await world.host.run_command("later", "x")

        assert world.host.said() == [("info", "ship: x False in proj")]
        assert world.host.said() == []


async def test_x12_the_status_is_one_per_extension_and_an_empty_text_clears_it(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(tmp_path / "e", "ship", COMMANDS)

    async with plug_world(workspace, tmp_path / "e") as world:
        await world.host.run_command("release", "v2")
        await until(lambda: world.host.statuses() == ("released v2",))
        await world.host.run_command("later", "x")

        assert world.host.statuses() == ()
        assert world.person.changes == 2


async def test_x09_unknown_and_failing_commands_are_sentences(workspace: Path, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "ship", COMMANDS)

    async with plug_world(workspace, tmp_path / "e") as world:
        with pytest.raises(ToolError, match="No extension offers /nothing"):
            await world.host.run_command("nothing", "")
        with pytest.raises(
            ToolError, match=r"/fail of the extension 'ship' failed: RuntimeError: no network"
        ):
            await world.host.run_command("fail", "")


async def test_x12_of_two_commands_with_one_name_the_first_counts(workspace: Path, tmp_path: Path) -> None:
    for name in ("b", "a"):
        write_extension(
            tmp_path / "e",
            name,
            f"def extend(agent):\n    agent.register_command('go', 'Of {name}', lambda args, ctx: None)\n",
        )

    async with plug_world(workspace, tmp_path / "e") as world:
        assert [(owner, command.description) for owner, command in world.host.commands()] == [("a", "Of a")]


@pytest.mark.parametrize("name", ["", "Release", "two words", "/slash", "é", "x" * 65])
def test_an_illegal_command_name_says_what_is_legal(name: str, workspace: Path) -> None:
    with pytest.raises(ValueError, match="lower-case letters"):
        Registration("mine", workspace).register_command(name, "D.", print)


def test_control_characters_of_an_extension_do_not_reach_the_person(workspace: Path) -> None:
    person = FakePerson()
    reception = Reception(workspace)
    reception.bind(person)
    voice = Voice("loud", reception)

    voice.notify("error", "\x1b[31mred\u202e\x07")
    voice.set_status("a\nb\x1b[2J")

    assert person.notices == [("error", "loud: red")]
    assert reception.statuses == {"loud": "a b"}
    with pytest.raises(ValueError, match="info, warning or error"):
        voice.notify("debug", "x")


def test_a_flood_of_notices_is_cut_and_said_once(workspace: Path) -> None:
    now, person = [100.0], FakePerson()
    reception = Reception(workspace)
    reception.bind(person)
    voice = Voice("loud", reception, clock=lambda: now[0])

    for number in range(MAX_NOTICES + 20):
        voice.notify("info", str(number))
    now[0] += 11
    voice.notify("info", "again")

    assert len(person.notices) == MAX_NOTICES + 2
    assert person.notices[-2:] == [
        ("warning", "loud says too much; some of it is left out."),
        ("info", "loud: again"),
    ]
