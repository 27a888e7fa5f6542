import asyncio
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.executor.naming import edit_distance, repaired
from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.tools import ToolResult, ToolSpec
from agent_tui.toolkit.source import ToolSource
from agent_tui.toolkit.testing import make_context
from tests.support.round_world import Foreign, Log, Read, Write

METHODS = [name for name, item in vars(ToolSource).items() if inspect.isfunction(item) and name[0] != "_"]


class Spy:
    """A source that owns `names` and answers every method of the protocol with a value of its own."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.called: list[str] = []

    def __getattr__(self, method: str) -> Any:
        if method not in METHODS:
            raise AttributeError(method)

        def answer(*args: object) -> Any:
            self.called.append(method)
            value = ("from spy", method, args)
            if inspect.iscoroutinefunction(getattr(ToolSource, method)):
                return asyncio.sleep(0, value)
            return value

        return answer

    def owns(self, name: str) -> bool:
        return name in self.names

    def specs(self) -> Sequence[ToolSpec]:
        self.called.append("specs")
        return [ToolSpec(name=name, description="", input_schema={}) for name in self.names]


def composite(*sources: tuple[str, Any], **options: Any) -> CompositeSource:
    whole = CompositeSource(**options)
    for name, source in sources:
        whole.add(name, source)
    return whole


def names(source: CompositeSource) -> list[str]:
    return [spec.name for spec in source.specs()]


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("specs", "owns")])
async def test_p17_item_29_every_method_is_forwarded_to_the_owner(method: str, workspace: Path) -> None:
    other, spy = Spy("other"), Spy("mine")
    whole = composite(("first", other), ("second", spy))
    values: dict[str, Any] = {
        "name": "mine",
        "args_json": "{}",
        "ctx": make_context(workspace),
        "result": ToolResult.success("x"),
        "session_id": "s0",
    }
    parameters = [
        name for name in inspect.signature(getattr(ToolSource, method)).parameters if name != "self"
    ]

    answer = getattr(whole, method)(*(values[name] for name in parameters))
    answer = await answer if inspect.isawaitable(answer) else answer

    assert spy.called == [method]
    if get_type_hints(getattr(ToolSource, method))["return"] is not type(None):
        assert answer == ("from spy", method, tuple(values[name] for name in parameters))
        assert other.called == []


@pytest.mark.parametrize("method", METHODS)
def test_p17_the_composite_defines_every_method_itself(method: str) -> None:
    assert inspect.isfunction(vars(CompositeSource)[method])


def test_p02_without_sources_the_model_is_told_of_no_tools() -> None:
    assert CompositeSource().specs() == []


def test_p03_routing_asks_no_source_for_its_schemas() -> None:
    spy = Spy("mine")

    whole = composite(("one", spy))

    assert whole.owns("mine")
    assert not whole.owns("other")
    assert spy.called == []


def test_h83_item_75_of_two_tools_with_one_name_the_first_counts_and_it_is_said() -> None:
    whole = composite(("bundled", Spy("a", "b")), ("user", Spy("b", "c")))

    assert names(whole) == ["a", "b", "c"]
    assert whole.origin("b") == "bundled"
    assert whole.warnings() == ["The tool 'b' of user is left out: bundled has one of that name."]


def test_an_override_takes_the_earlier_tools_place() -> None:
    whole = composite(("bundled", Spy("a", "b")), ("user", Spy("a")), override=["a"])

    assert names(whole) == ["a", "b"]
    assert whole.origin("a") == "user"
    assert whole.warnings() == []


def test_m19_a_source_added_again_is_replaced_in_place() -> None:
    whole = composite(("one", Spy("a")), ("two", Spy("b")))

    whole.add("one", Spy("x", "y"))

    assert names(whole) == ["x", "y", "b"]


def test_m19_a_source_may_be_removed() -> None:
    whole = CompositeSource()
    whole.add("bundled", Spy("a"))
    whole.add("s1", Spy("m1"), namespace="mcp")
    whole.add("x", Spy("e"), namespace="extension")

    whole.remove("s1")
    whole.remove("x")
    whole.remove("never there")

    assert names(whole) == ["a"]


def test_m19_a_subset_hides_the_rest_and_h71_keeps_respond() -> None:
    whole = composite(("all", Spy("a", "b", "__respond__")))

    part = whole.subset(["a"])

    assert names(part) == ["a", "__respond__"]
    assert not part.owns("b")
    assert names(part.subset(["b"])) == ["__respond__"]
    assert names(whole.without(["a"])) == ["b", "__respond__"]
    assert names(whole) == ["a", "b", "__respond__"]


async def test_a_hidden_tool_cannot_be_reached_by_any_method(workspace: Path) -> None:
    part = composite(("all", Spy("a", "b"))).subset(["a"])

    with pytest.raises(ToolError, match="No tool named 'b'"):
        await part.execute("b", "{}", make_context(workspace))


def test_item_29_policy_facts_of_each_source_stay_its_own() -> None:
    log = Log()
    whole = composite(
        ("bundled", ToolFileSource([Read(log), Write(log)])),
        ("server", ToolFileSource([Foreign()], "server")),
    )

    facts = {
        name: (whole.needs_approval(name), whole.readable(name), whole.timeout_s(name))
        for name in names(whole)
    }

    assert facts == {
        "read": (False, True, 30),
        "write": (False, False, 30),
        "mcp__server__probe": (True, True, 30),
    }


TOOLS = ["read", "write", "edit", "bash", "bash_output", "grep", "glob", "list", "task"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("read", "read"),
        ("raed", "read"),
        ("READ", "read"),
        ("bahs", "bash"),
        ("Bash", "bash"),
        ("bash_outptu", "bash_output"),
        ("ls", "list"),
        ("weather", None),
        ("", None),
        ("xy", None),
    ],
)
def test_h04_a_name_is_repaired_up_to_two_edits_away(given: str, meant: str | None) -> None:
    assert repaired(given, TOOLS) == meant


def test_a_name_between_two_tools_is_not_guessed() -> None:
    assert repaired("cat", ["bat", "rat"]) is None


@given(st.text(max_size=8), st.text(max_size=8))
def test_the_edit_distance_is_symmetric_and_zero_only_for_the_same_word(left: str, right: str) -> None:
    there, back = edit_distance(left, right, limit=20), edit_distance(right, left, limit=20)

    assert there == back
    assert (there == 0) == (left == right)
    assert there <= max(len(left), len(right))
    assert (edit_distance(left, right, limit=2) > 2) == (there > 2)


@pytest.mark.parametrize(("wrong", "there"), [("task", "bash"), ("bash", "task"), ("Task", "bash")])
def test_well_known_name_that_is_missing_is_no_slip_for_another(wrong: str, there: str) -> None:
    assert repaired(wrong, [there, "read"]) is None
