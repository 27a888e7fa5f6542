import asyncio
import threading
from pathlib import Path

import pytest

from agent_tui.extensions.plugged.plug import Pace
from agent_tui.extensions.plugged.python import Registration
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.permissions import PermissionKind
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.extension import ToolReply
from tests.support.plug_world import plug_world, write_extension
from tests.support.round_world import Approver, call, effects, make_world, outcome

TOOLS = """
    import asyncio, threading
    from agent_tui.toolkit.extension import ToolError, ToolReply

    TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    def plain(arguments, ctx):
        return f"{arguments['text']} in {threading.current_thread().name}"

    async def later(arguments, ctx):
        await asyncio.sleep(0)
        return f"{arguments['text']} in {threading.current_thread().name}"

    def rich(arguments, ctx):
        return ToolReply("for the model", detail="one line", output="for the screen", expanded=True)

    def refuse(arguments, ctx):
        raise ToolError("no such ticket")

    def break_(arguments, ctx):
        raise KeyError("ticket")

    def extend(agent):
        agent.register_tool("plain", "Plain.", TEXT, plain, readable=True, timeout_s=7,
                            detail=lambda arguments: f"about {arguments['text']}")
        agent.register_tool("later", "Later.", TEXT, later)
        agent.register_tool("rich", "Rich.", None, rich)
        agent.register_tool("refuse", "Refuses.", None, refuse)
        agent.register_tool("break_", "Breaks.", None, break_)
        agent.register_tool("bad_detail", "Title fails.", TEXT, plain, detail=lambda arguments: 1 / 0)
        agent.register_tool("slow_detail", "Title hangs.", TEXT, plain,
                            detail=lambda arguments: threading.Event().wait())
"""


def register(workspace: Path) -> Registration:
    return Registration("mine", workspace)


async def test_x01_a_tool_has_name_schema_readable_limit_detail_and_an_answer(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(tmp_path / "e", "mine", TOOLS)

    async with plug_world(workspace, tmp_path / "e") as world:
        tools = world.tools
        spec = tools.specs()[0]
        assert (spec.name, spec.description) == ("plain", "Plain.")
        assert spec.input_schema["required"] == ["text"]
        assert (tools.readable("plain"), tools.timeout_s("plain")) == (True, 7)
        assert await world.title("plain", text="x") == "about x"
        assert (await world.call("plain", text="x")).output.startswith("x in ")
        assert tools.origin("plain") == "extension:mine"
        with pytest.raises(ToolError, match="no such ticket"):
            await world.call("refuse")


async def test_x02_plain_handlers_run_in_a_thread_and_async_ones_on_the_loop(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(tmp_path / "e", "mine", TOOLS)

    async with plug_world(workspace, tmp_path / "e") as world:
        plain, later = await world.call("plain", text="a"), await world.call("later", text="b")

    assert plain.output == "a in extension-mine"
    assert later.output == f"b in {threading.current_thread().name}"


async def test_x02_an_object_with_an_async_call_and_a_lambda_that_gives_a_coroutine_are_run_to_completion(
    workspace: Path, tmp_path: Path
) -> None:
    code = """
        class Handler:
            async def __call__(self, arguments, ctx):
                return "object"

        async def answer():
            return "lambda"

        def extend(agent):
            agent.register_tool("a", "A.", None, Handler())
            agent.register_tool("b", "B.", None, lambda arguments, ctx: answer())
    """
    write_extension(tmp_path / "e", "mine", code)

    async with plug_world(workspace, tmp_path / "e") as world:
        assert [(await world.call(name)).output for name in ("a", "b")] == ["object", "lambda"]


async def test_x03_readable_calls_of_a_round_overlap_and_others_do_not(
    workspace: Path, tmp_path: Path
) -> None:
    code = """
        import asyncio
        both, running = asyncio.Event(), []

        async def meet(arguments, ctx):
            running.append(1)
            if len(running) == 2:
                both.set()
            await both.wait()
            return "met"

        async def alone(arguments, ctx):
            running.append(1)
            await asyncio.sleep(0)
            count = len(running)
            running.pop()
            return str(count)

        def extend(agent):
            agent.register_tool("meet", "Meets.", None, meet, readable=True, timeout_s=20)
            agent.register_tool("alone", "Alone.", None, alone)
    """
    write_extension(tmp_path / "e", "mine", code)

    async with plug_world(workspace, tmp_path / "e") as world:
        rounds = make_world(workspace, tools=world.tools)
        met = await rounds.run(call("a", "meet"), call("b", "meet"))
        alone = await rounds.run(call("c", "alone"), call("d", "alone"))

    assert [outcome(met, name).result.output for name in "ab"] == ["met", "met"]
    assert [outcome(alone, name).result.output for name in "cd"] == ["3", "3"]


@pytest.mark.parametrize(
    ("given", "limit_s"),
    [(0, 30), (1, 1), (0.5, 1), (-3, 1), (45, 45), (3600, 3600), (5000, 3600), (1e8, 3600)],
)
def test_x04_item_74_a_limit_of_0_is_30_seconds_and_others_are_clamped(
    given: float, limit_s: int, workspace: Path
) -> None:
    extension = register(workspace)

    extension.register_tool("t", "T.", None, lambda arguments, ctx: "", timeout_s=given)

    assert extension.offer.tools["t"].timeout_s == limit_s


async def test_x04_a_call_past_its_limit_ends_as_an_error_and_the_thread_is_not_waited_for(
    workspace: Path, tmp_path: Path
) -> None:
    code = """
        import threading
        def extend(agent):
            agent.register_tool("hang", "Hangs.", None, lambda a, c: threading.Event().wait(), timeout_s=1)
    """
    write_extension(tmp_path / "e", "mine", code)

    async with plug_world(workspace, tmp_path / "e") as world:
        batch = await make_world(workspace, tools=world.tools).run(call("a", "hang"))

    assert effects(batch) == {"a": "timeout"}


async def test_x05_the_detail_is_the_title_that_is_told_before_the_call_runs(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(tmp_path / "e", "mine", TOOLS)

    async with plug_world(workspace, tmp_path / "e") as world:
        asked: list[str] = []
        approver = Approver(before=lambda requests: asked.extend(r.title for r in requests))
        rounds = make_world(workspace, tools=world.tools, approver=approver)
        batch = await rounds.run(call("a", "plain", text="the\nfirst " + "x" * 80))

    assert asked == ["about the first " + "x" * 34 + "..."]
    assert outcome(batch, "a").title == asked[0]


async def test_x06_a_text_is_a_whole_answer(workspace: Path, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "mine", TOOLS)

    async with plug_world(workspace, tmp_path / "e") as world:
        result = await world.call("later", text="x")
        shown = world.tools.show("later", '{"text": "x"}', result)

    assert (result.is_error, result.data) == (False, {"extension": "mine"})
    assert (shown.content, shown.summary, shown.starts_open) == (result.output, "", False)
    assert ToolReply("x") == ToolReply("x", detail="", output="", expanded=False, is_error=False)


async def test_x08_a_reply_shows_detail_and_output_and_starts_open(workspace: Path, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "mine", TOOLS)

    async with plug_world(workspace, tmp_path / "e") as world:
        result = await world.call("rich")
        shown = world.tools.show("rich", "{}", result)

    assert result.output == "for the model"
    assert (shown.content, shown.summary, shown.starts_open) == ("for the screen", "one line", True)


async def test_x09_errors_are_text_for_the_model_and_the_screen(workspace: Path, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "mine", TOOLS)

    async with plug_world(workspace, tmp_path / "e") as world:
        rounds = make_world(workspace, tools=world.tools)
        batch = await rounds.run(call("a", "refuse"), call("b", "break_"), call("c", "nothing_like_it"))

    assert effects(batch) == {"a": "failed", "b": "failed", "c": "unknown_tool"}
    refused, broken = outcome(batch, "a"), outcome(batch, "b")
    assert (refused.result.output, refused.result.is_error) == ("no such ticket", True)
    assert refused.display.content == "no such ticket"
    assert "KeyError" in broken.result.output
    assert "nothing_like_it" in outcome(batch, "c").result.output


async def test_x09_a_handler_that_returns_something_else_is_told_as_an_error(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(
        tmp_path / "e",
        "mine",
        "def extend(agent):\n    agent.register_tool('none', 'N.', None, lambda arguments, ctx: None)\n",
    )

    async with plug_world(workspace, tmp_path / "e") as world:
        with pytest.raises(ToolError, match="returned NoneType"):
            await world.call("none")


async def test_x10_a_detail_that_fails_or_hangs_costs_the_title_and_nothing_else(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(tmp_path / "e", "mine", TOOLS)

    async with plug_world(workspace, tmp_path / "e", pace=Pace(detail_s=0.1)) as world:
        rounds = make_world(workspace, tools=world.tools)
        async with asyncio.timeout(10):
            batch = await rounds.run(call("a", "bad_detail", text="1"), call("b", "slow_detail", text="2"))

    assert effects(batch) == {"a": "ran", "b": "ran"}
    assert [outcome(batch, name).title for name in ("a", "b")] == ["", ""]


async def test_item_30_every_call_is_asked_for_as_a_tool_also_a_readable_one(
    workspace: Path, tmp_path: Path
) -> None:
    write_extension(tmp_path / "e", "mine", TOOLS)

    async with plug_world(workspace, tmp_path / "e") as world:
        (permission,) = world.tools.permissions("plain", '{"text": "x"}', world.context)
        assert world.tools.needs_approval("plain")
        preview = await world.tools.preview("plain", '{"text": "x"}', world.context)

    assert (permission.kind, permission.target, permission.pattern) == (PermissionKind.TOOL, "plain", "plain")
    assert "extension 'mine'" in permission.reason
    assert preview is not None
    assert '"text": "x"' in preview.content


async def test_wrong_arguments_are_told_before_anything_is_asked(workspace: Path, tmp_path: Path) -> None:
    write_extension(tmp_path / "e", "mine", TOOLS)

    async with plug_world(workspace, tmp_path / "e") as world:
        assert "'text' is missing" in (world.tools.validate("plain", "{}") or "")
        assert world.tools.validate("rich", "{}") is None


async def test_a_handler_may_give_a_whole_tool_result(workspace: Path) -> None:
    extension = register(workspace)

    extension.register_tool("t", "T.", None, lambda arguments, ctx: ToolResult.error("x"))

    assert extension.tools["t"].handler({}, None) == ToolResult.error("x")


@pytest.mark.parametrize(
    ("name", "description", "schema", "said"),
    [
        ("a b", "D.", None, "letters, digits"),
        ("", "D.", None, "letters, digits"),
        ("a" * 65, "D.", None, "letters, digits"),
        ("a", " ", None, "needs a description"),
        ("a", "x" * 10_001, None, "more than 10,000"),
        ("a", "D.", {"type": "array"}, "is of type"),
        ("a", "D.", [], "not an object"),
    ],
)
def test_a_tool_that_cannot_be_offered_says_why(
    name: str, description: str, schema: object, said: str, workspace: Path
) -> None:
    with pytest.raises(ValueError, match=said):
        register(workspace).register_tool(name, description, schema, print)


def test_registering_twice_or_after_the_end_or_what_cannot_be_called_says_so(workspace: Path) -> None:
    extension = register(workspace)
    extension.register_tool("t", "T.", None, lambda arguments, ctx: "")

    with pytest.raises(ValueError, match="registered twice"):
        extension.register_tool("t", "T.", None, lambda arguments, ctx: "")
    with pytest.raises(ValueError, match="cannot be called"):
        extension.register_tool("u", "U.", None, "text")
    with pytest.raises(ValueError, match="did you mean 'tool_finished'"):
        extension.on("tool_finish", print)
    extension.close()
    with pytest.raises(ValueError, match="not later"):
        extension.on("tool_finished", print)
