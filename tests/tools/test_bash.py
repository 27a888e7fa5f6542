from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.interface import NoSandbox
from tests.support.tool_world import ToolWorld, body, make_world, notes


@pytest.fixture
async def world(workspace: Path) -> AsyncIterator[ToolWorld]:
    made = make_world(workspace)
    yield made
    await made.jobs.close()


async def test_h15_exit_code_is_always_named_and_non_zero_is_an_error_with_the_output(
    world: ToolWorld,
) -> None:
    good = await world.bash("echo out")
    bad = await world.bash("echo why; exit 3")

    assert (good.output, good.is_error) == ("out\n(exit code: 0)", False)
    assert (bad.output, bad.is_error) == ("why\n(exit code: 3)", True)


async def test_item_46_failure_keeps_the_output(world: ToolWorld) -> None:
    result = await world.bash("echo text; echo more >&2; false")

    assert result.is_error
    assert body(result) == "text\nmore\n"


async def test_output_and_errors_are_interleaved_as_they_came(world: ToolWorld) -> None:
    result = await world.bash("echo 1; echo 2 >&2; echo 3; echo 4 >&2")

    assert body(result) == "1\n2\n3\n4\n"


async def test_x29_no_output_says_so(world: ToolWorld) -> None:
    assert (await world.bash("true")).output == "(no output)\n(exit code: 0)"


async def test_h18_trailing_whitespace_of_the_output_stays(world: ToolWorld) -> None:
    assert (await world.bash("printf 'a  \\n\\n'")).output == "a  \n\n(exit code: 0)"


@pytest.mark.parametrize(
    ("command", "code", "remark"),
    [
        ("false | true", 0, ""),
        ("kill -9 $$", 137, "killed by signal 9, SIGKILL"),
        ("kill -TERM $$", 143, "killed by signal 15, SIGTERM"),
        ("grep zzz /etc/hosts", 1, ""),
        ("touch plain; ./plain", 126, ""),
        ("nosuchcmd", 127, ""),
        ("echo e >&2", 0, ""),
        ("   # comment", 0, ""),
        ("set -e; false; echo never", 1, ""),
        ("set -o pipefail; false | true", 1, ""),
        ("f() { return 5; }; f", 5, ""),
        ("bash -c 'exit 9'", 9, ""),
    ],
)
async def test_ba_14_exit_status_is_that_of_the_command(
    world: ToolWorld, command: str, code: int, remark: str
) -> None:
    result = await world.bash(command)

    assert notes(result)[0] == f"exit code: {code}"
    assert result.is_error == (code != 0)
    assert not remark or remark in notes(result)


@pytest.mark.parametrize("command", ["", "  ", "\n\t\n"])
async def test_ba_14_an_empty_command_is_refused(world: ToolWorld, command: str) -> None:
    result = await world.bash(command)

    assert result.is_error
    assert "empty" in result.output


@pytest.mark.parametrize(
    "command",
    [
        "echo ok # a comment",
        "cat <<EOF\nok\nEOF",
        "cat <<-'EOF'\n\tok\n\tEOF\n# end",
        "echo ok;",
        "echo ok &",
        "if true; then echo ok; fi",
        "f() {\n  echo ok\n}\nf",
        "(echo ok)",
        "{ echo ok; }",
        "set -eu; echo ok",
        "trap 'echo ok' EXIT",
        "exec echo ok",
        "echo ok; exit 0",
        "eval 'echo ok'",
        "cat <(echo ok)",
    ],
)
async def test_item_44_h18_every_form_of_command_works(world: ToolWorld, command: str) -> None:
    result = await world.bash(command)

    assert (body(result), result.is_error) == ("ok\n", False)


async def test_exact_text_reaches_bash(world: ToolWorld) -> None:
    text = "printf '%s' \"$BASH_EXECUTION_STRING\" # äöü \t 'quoted' \\"

    result = await world.bash(text)

    assert body(result) == f"{text}\n"


@pytest.mark.parametrize("command", ["echo \0", "echo \ud800"])
async def test_text_that_no_argument_can_hold_is_refused(world: ToolWorld, command: str) -> None:
    assert (await world.bash(command)).is_error


async def test_a_command_over_the_kernels_limit_names_the_way_out(world: ToolWorld) -> None:
    result = await world.bash("# " + "x" * 140_000)

    assert result.is_error
    assert "script file" in result.output


async def test_a_sandbox_that_refuses_is_a_text_for_the_model(world: ToolWorld) -> None:
    class Refusing(NoSandbox):
        def launch(self, *_args: object, **_more: object) -> object:
            raise SandboxError("home is not confined")

    world.ctx.sandbox = Refusing()

    result = await world.bash("echo hi")

    assert result.is_error
    assert "home is not confined" in result.output
