import asyncio
import inspect
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import AliasChoices, BaseModel, Field

from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.display import DisplayResult, ResultContentType
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.context import ToolContext
from agent_tui.toolkit.source import ToolSource
from agent_tui.toolkit.testing import make_context
from agent_tui.toolkit.text import display_text
from agent_tui.toolkit.tool import DisplayConfig, Tool


class Edit(BaseModel):
    """A docstring for people, not for the model."""

    old: str = Field(description="Text to replace")
    new: str = ""


class Params(BaseModel):
    file_path: str = Field(description="The file", validation_alias=AliasChoices("file_path", "path"))
    limit: int | None = Field(default=None, ge=1, description="How many lines")
    mode: Literal["a", "b"] = "a"
    edits: list[Edit] = []
    title: str = "untitled"


class Probe(Tool[Params]):
    name = "probe"
    description = "Probes."
    params_type = Params
    display = DisplayConfig[Params](
        display_name="Probe",
        display_title=lambda p: p.file_path,
        display_content=lambda p, r: display_text(r.output, ResultContentType.JSON),
    )

    def run(self, params: Params, ctx: ToolContext) -> ToolResult:
        return ToolResult.success(f"{params.file_path} on {threading.current_thread().name}")


class AsyncProbe(Probe):
    name = "async_probe"

    async def run(self, params: Params, ctx: ToolContext) -> ToolResult:
        return ToolResult.success(threading.current_thread().name)


def probe_with(**attributes: Any) -> ToolFileSource:
    return ToolFileSource([type("Made", (Probe,), attributes)()])


def args(**values: Any) -> str:
    return json.dumps({"file_path": "a.txt", **values})


SOURCE_METHODS = [
    name for name, item in vars(ToolSource).items() if inspect.isfunction(item) and name[0] != "_"
]


@pytest.mark.parametrize("method", SOURCE_METHODS)
def test_every_method_of_a_source_is_there(method: str) -> None:
    assert callable(vars(ToolFileSource)[method])


def test_h01_the_schema_is_clean_and_stable() -> None:
    (spec,) = ToolFileSource([Probe()]).specs()

    assert spec.input_schema == {
        "type": "object",
        "required": ["file_path"],
        "properties": {
            "file_path": {"type": "string", "description": "The file"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines"},
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "edits": {
                "type": "array",
                "default": [],
                "items": {
                    "type": "object",
                    "description": "A docstring for people, not for the model.",
                    "required": ["old"],
                    "properties": {
                        "old": {"type": "string", "description": "Text to replace"},
                        "new": {"type": "string", "default": ""},
                    },
                },
            },
            "title": {"type": "string", "default": "untitled"},
        },
    }
    assert ToolFileSource([Probe()]).specs() == ToolFileSource([Probe()]).specs()


def test_a_recursive_parameter_model_keeps_its_references() -> None:
    class Node(BaseModel):
        children: list["Node"] = []

    class Holder(BaseModel):
        root: Node

    schema = probe_with(params_type=Holder).specs()[0].input_schema

    assert "Node" in schema["$defs"]


def test_a02_a_missing_parameter_is_named() -> None:
    text = ToolFileSource([Probe()]).validate("probe", "{}")

    assert text is not None
    assert "the required parameter 'file_path' is missing" in text
    assert "file_path (string, required), limit (integer)" in text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            args(limit="many"),
            "'limit': should be a valid integer, unable to parse string as an integer, got 'many'",
        ),
        (args(limit=0), "'limit': should be greater than or equal to 1, got 0"),
        (args(mode="c"), "'mode': should be 'a' or 'b', got 'c'"),
        (args(edits=[{"new": "x"}]), "the required parameter 'edits[0].old' is missing"),
        (args(title=7), "'title': should be a valid string, got 7"),
        ("{", "not valid JSON"),
        ("[]", "should be an object, got []"),
    ],
)
def test_h03_a_wrong_argument_says_what_was_expected(arguments: str, expected: str) -> None:
    text = ToolFileSource([Probe()]).validate("probe", arguments)

    assert text is not None
    assert expected in text


def test_a_long_wrong_value_is_not_repeated_whole() -> None:
    text = ToolFileSource([Probe()]).validate("probe", args(limit="9x" * 500))

    assert text is not None
    assert len(text) < 400


def test_aliases_are_accepted_and_empty_arguments_are_an_empty_object() -> None:
    class NoParams(BaseModel):
        pass

    assert ToolFileSource([Probe()]).validate("probe", '{"path": "x"}') is None
    assert probe_with(params_type=NoParams).validate("probe", "") is None


async def test_x02_sync_and_async_runs_both_end_in_a_result(workspace: Path) -> None:
    source = ToolFileSource([Probe(), AsyncProbe()])

    sync = await source.execute("probe", args(), make_context(workspace))
    awaited = await source.execute("async_probe", args(), make_context(workspace))

    assert sync.output == "a.txt on tool-probe"
    assert awaited.output == threading.main_thread().name


async def test_a_sync_run_may_give_back_an_awaitable(workspace: Path) -> None:
    async def later() -> ToolResult:
        return ToolResult.success("later")

    source = probe_with(run=lambda self, params, ctx: later())

    assert (await source.execute("probe", args(), make_context(workspace))).output == "later"


async def test_a_hanging_sync_run_is_dropped_and_its_thread_is_a_daemon(workspace: Path) -> None:
    gate, begun = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def run(self: Probe, params: Params, ctx: ToolContext) -> ToolResult:
        threads.append(threading.current_thread())
        begun.set()
        gate.wait(30)
        return ToolResult.success("late")

    running = asyncio.ensure_future(probe_with(run=run).execute("probe", args(), make_context(workspace)))
    while not begun.is_set():
        await asyncio.sleep(0)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    gate.set()
    threads[0].join(10)
    await asyncio.sleep(0)
    assert threads[0].daemon


def test_quitting_never_waits_for_a_sync_run(workspace: Path) -> None:
    gate = threading.Event()
    caught: list[BaseException] = []

    async def main() -> None:
        def run(self: Probe, params: Params, ctx: ToolContext) -> ToolResult:
            gate.wait(30)
            return ToolResult.success("late")

        async with asyncio.timeout(0.05):
            await probe_with(run=run).execute("probe", args(), make_context(workspace))

    try:
        asyncio.run(main())
    except TimeoutError as error:
        caught.append(error)
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "tool-probe":
            thread.join(10)

    assert len(caught) == 1


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(3), StopIteration()])
async def test_a_sync_run_that_raises_hands_its_error_over(workspace: Path, error: BaseException) -> None:
    def run(self: Probe, params: Params, ctx: ToolContext) -> ToolResult:
        raise error

    with pytest.raises((ValueError, RuntimeError)):
        await probe_with(run=run).execute("probe", args(), make_context(workspace))


async def test_a_run_that_gives_no_result_is_a_fault(workspace: Path) -> None:
    with pytest.raises(TypeError, match="NoneType instead of ToolResult"):
        await probe_with(run=lambda *_: None).execute("probe", args(), make_context(workspace))


async def test_a_run_that_changes_its_parameters_changes_no_later_call(workspace: Path) -> None:
    def run(self: Probe, params: Params, ctx: ToolContext) -> ToolResult:
        before = params.file_path
        params.file_path = "changed"
        return ToolResult.success(before)

    source = probe_with(run=run)
    first = await source.execute("probe", args(), make_context(workspace))
    second = await source.execute("probe", args(), make_context(workspace))

    assert (first.output, second.output) == ("a.txt", "a.txt")
    assert source.title("probe", args()) == "a.txt"


@pytest.mark.parametrize(("declared", "effective"), [(0, 30), (1, 1), (5000, 3600), (45, 45), (-1, 0)])
def test_x04_timeouts_default_and_are_clamped(declared: int, effective: int) -> None:
    assert probe_with(timeout_s=declared).timeout_s("probe") == effective


def test_item_55_display_callables_that_raise_fall_back() -> None:
    def broken(*_: object) -> Any:
        raise RuntimeError("broken")

    source = probe_with(
        display=DisplayConfig[Params]("Probe", display_title=broken, display_content=broken),
        compact_summary=broken,
    )
    result = ToolResult.success("text")

    assert source.title("probe", args()) == ""
    assert source.show("probe", args(), result) == display_text("text")
    assert source.summarize("probe", args(), result) == "[probe: completed]"
    assert source.summarize("probe", args(), ToolResult.error("x")) == "[probe: error]"


def test_a32_a_title_without_its_parameter_is_empty_and_never_an_error() -> None:
    assert ToolFileSource([Probe()]).title("probe", "{}") == ""


def test_a36_a_title_is_one_line_of_fifty_characters() -> None:
    title = ToolFileSource([Probe()]).title("probe", args(file_path="é\n" * 60))

    assert title == f"{'é ' * 25}..."


def test_a38_defaults_of_a_display_are_plain_text_with_totals() -> None:
    source = probe_with(display=DisplayConfig[Params]("Probe"))

    shown = source.show("probe", args(), ToolResult.success("a\nb\n"))

    assert shown == DisplayResult(content="a\nb\n", full_length=4, full_lines=2)


def test_item_54_a_body_its_tool_did_not_cut_is_cut_with_its_totals() -> None:
    source = probe_with(
        display=DisplayConfig[Params]("P", display_content=lambda p, r: DisplayResult(content="é" * 10_001))
    )

    shown = source.show("probe", args(), ToolResult.success(""))

    assert shown.is_truncated
    assert shown.full_length == 10_001
    assert shown.content.startswith("é" * 10_000 + "\n")


def test_p04_item_30_what_did_not_come_with_the_program_asks() -> None:
    assert not ToolFileSource([Probe()], "bundled").needs_approval("probe")
    assert ToolFileSource([Probe()], "user").needs_approval("probe")
    assert not ToolFileSource([Probe()], "user", asks=False).needs_approval("probe")


async def test_p01_execute_json_gives_a_json_text(workspace: Path) -> None:
    def run(self: Probe, params: Params, ctx: ToolContext) -> ToolResult:
        if params.mode == "b":
            raise ToolError("cannot")
        return ToolResult.success("é", data={"n": 1})

    source, ctx = probe_with(run=run), make_context(workspace)

    assert json.loads(await source.execute_json("probe", args(), ctx)) == {
        "output": "é",
        "is_error": False,
        "data": {"n": 1},
    }
    assert json.loads(await source.execute_json("probe", args(mode="b"), ctx))["is_error"]


def test_p03_owns_builds_no_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unbuildable(Params):
        @classmethod
        def model_json_schema(cls, *_: object, **__: object) -> Any:
            raise AssertionError("owns() must not build a schema")

    source = probe_with(params_type=Unbuildable)

    assert source.owns("probe")
    assert not source.owns("other")


def test_item_75_of_two_tools_with_one_name_the_first_counts() -> None:
    first, second = Probe(), Probe()
    second.description = "The second."

    source = ToolFileSource([first, second])

    assert [spec.description for spec in source.specs()] == ["Probes."]


def test_arguments_are_parsed_once_for_everything_before_the_run() -> None:
    parses: list[str] = []

    class Counted(Params):
        @classmethod
        def model_validate_json(cls, text: Any, **options: Any) -> Any:
            parses.append(text)
            return super().model_validate_json(text, **options)

    source = probe_with(params_type=Counted)
    source.validate("probe", args())
    source.title("probe", args())
    source.show("probe", args(), ToolResult.success(""))

    assert len(parses) == 1


def test_a24_forget_drops_what_was_kept() -> None:
    source = ToolFileSource([Probe()])
    source.validate("probe", args())
    source.forget("s0")

    assert source.validate("probe", args()) is None


async def test_previews_and_permissions_default_to_nothing(workspace: Path) -> None:
    source, ctx = ToolFileSource([Probe()]), make_context(workspace)

    permissions: Sequence[object] = source.permissions("probe", args(), ctx)
    preview = await source.preview("probe", args(), ctx)

    assert (permissions, preview) == ((), None)


async def test_a01_x01_a_tool_is_its_declaration_and_answers_success_or_error(workspace: Path) -> None:
    def run(self: Probe, params: Params, ctx: ToolContext) -> ToolResult:
        return ToolResult.success("yes") if params.mode == "a" else ToolResult.error("no")

    source, ctx = probe_with(run=run, readable=True, timeout_s=45), make_context(workspace)
    (spec,) = source.specs()

    assert (spec.name, spec.description) == ("probe", "Probes.")
    assert (source.readable("probe"), source.timeout_s("probe")) == (True, 45)
    assert await source.execute("probe", args(), ctx) == ToolResult(output="yes")
    assert await source.execute("probe", args(mode="b"), ctx) == ToolResult(output="no", is_error=True)


def test_h03_parameters_that_nobody_declared_are_allowed() -> None:
    assert ToolFileSource([Probe()]).validate("probe", args(unknown=1)) is None
