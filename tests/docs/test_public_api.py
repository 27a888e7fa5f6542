import ast
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import pytest

REFERENCE = (Path(__file__).parents[2] / "docs/reference.rst").read_text()
SHOWN = re.findall(r"^\.\. automodule:: (\S+)\n((?:   :.*\n)*)", REFERENCE, re.MULTILINE)
ALIASES = re.findall(r"^\.\. autodata:: (\S+)$", REFERENCE, re.MULTILINE)
PROMISED = {
    "agent_tui",
    "agent_tui.protocol.errors",
    "agent_tui.protocol.messages",
    "agent_tui.protocol.permissions",
    "agent_tui.protocol.tools",
    "agent_tui.providers.scripted",
    "agent_tui.toolkit.api",
    "agent_tui.toolkit.capture",
    "agent_tui.toolkit.context",
    "agent_tui.toolkit.extension",
    "agent_tui.toolkit.testing",
}
"""What the pages tell people to import, and what stands in its signatures."""
UNITS = ("_s", "_ns", "_bytes", "_tokens", "_chars", "_lines", "_line", "_usd", "_mtok", "_code", "_index")


def excluded(options: str) -> set[str]:
    found = re.search(r":exclude-members: (.*)", options)
    return set(found[1].split(", ")) if found else set()


def public(module: types.ModuleType, *, imported: bool) -> list[str]:
    listed = getattr(module, "__all__", None)
    return [
        name
        for name in (listed or vars(module))
        if not name.startswith("_")
        and (imported or getattr(getattr(module, name), "__module__", module.__name__) == module.__name__)
    ]


def shown() -> dict[str, object]:
    """Give every class and function of the reference by the name it stands under."""
    found: dict[str, object] = {}
    for name, options in SHOWN:
        module = import_module(name)
        for one in public(module, imported=":imported-members:" in options):
            item = getattr(module, one)
            if one not in excluded(options) and (inspect.isclass(item) or inspect.isfunction(item)):
                found[f"{name}.{one}"] = item
    return found


OBJECTS = shown()
CLASSES = {name: item for name, item in OBJECTS.items() if inspect.isclass(item)}


def members() -> Iterator[tuple[str, object]]:
    for name, item in CLASSES.items():
        for one, member in vars(item).items():
            plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            is_ours = inspect.isfunction(plain) and plain.__qualname__ == f"{item.__qualname__}.{one}"
            is_named = not one.startswith("_") or one == "__call__"
            if is_named and (is_ours or isinstance(plain, property)) and one != "model_post_init":
                yield f"{name}.{one}", plain


DESCRIBED = {name: item for name, item in OBJECTS.items() if inspect.isfunction(item)} | dict(members())
CALLABLES = {name: getattr(item, "fget", item) for name, item in DESCRIBED.items()}


def text_of(item: object) -> str:
    return inspect.getdoc(item) or ""


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))


def test_the_reference_shows_all_that_the_pages_tell_to_import() -> None:
    assert {name for name, _ in SHOWN} >= PROMISED


def test_what_one_part_of_the_reference_leaves_out_another_shows() -> None:
    there = {id(item) for item in OBJECTS.values()} | {
        id(getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2])) for name in ALIASES
    }

    missing = [
        f"{name}.{one}"
        for name, options in SHOWN
        for one in excluded(options)
        if id(getattr(import_module(name), one)) not in there
    ]
    assert missing == []


@pytest.mark.parametrize("name", ALIASES)
def test_every_alias_has_its_sentence(name: str) -> None:
    module, _, alias = name.rpartition(".")
    body = ast.parse(inspect.getsource(import_module(module))).body
    at = next(
        i
        for i, node in enumerate(body)
        if isinstance(node, ast.Assign) and alias in ast.unparse(node.targets[0])
    )

    assert isinstance(body[at + 1], ast.Expr), f"a string behind {alias} says what it is"


@pytest.mark.parametrize("name", OBJECTS)
def test_every_public_class_and_function_has_a_docstring(name: str) -> None:
    text = vars(OBJECTS[name]).get("__doc__") if inspect.isclass(OBJECTS[name]) else text_of(OBJECTS[name])

    assert text
    assert not text.startswith(f"{name.rpartition('.')[2]}("), "what a dataclass writes itself says nothing"


@pytest.mark.parametrize("name", CALLABLES)
def test_every_public_method_has_a_docstring(name: str) -> None:
    assert text_of(DESCRIBED[name])


def raised_by(function: object) -> set[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [
        node.exc.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    ]
    return {ast.unparse(call).rpartition(".")[2] for call in calls} - {
        "AssertionError",
        "NotImplementedError",
    }


@pytest.mark.parametrize("name", CALLABLES)
def test_what_is_raised_is_said(name: str) -> None:
    text = text_of(DESCRIBED[name])

    unsaid = {
        error
        for error in raised_by(CALLABLES[name])
        if not re.search(rf"[Rr]aises? .*\b{error}\b", text, re.DOTALL)
    }
    assert unsaid == set()


def needs_words(name: str, kind: object) -> str:
    """Say why a value of this type cannot be used without a sentence, "" when it can."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return needs_words(name, parts[0])
    if kind in (int, float) and not name.endswith(UNITS):
        return "its unit or base"
    if kind is bool and not name.startswith(("is_", "has_")):
        return "what true means"
    if type(None) in parts:
        return "what None means"
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return "what its keys and values are"
    if inspect.isclass(origin) and issubclass(origin, Sequence) and str in parts:
        return "what its items are"
    return ""


def fields() -> Iterator[tuple[str, str]]:
    for name, item in CLASSES.items():
        if not (hasattr(item, "model_fields") or hasattr(item, "__dataclass_fields__")):
            continue
        words = {word for base in item.__mro__ for word in words_of(text_of(base))}
        for one, kind in typing.get_type_hints(item, include_extras=True).items():
            why = "" if one.startswith("_") or one in words else needs_words(one, kind)
            if why:
                yield f"{name}.{one}", why


def test_fields_say_what_their_type_cannot() -> None:
    assert dict(fields()) == {}


def parameters() -> Iterator[tuple[str, str]]:
    for name, function in CALLABLES.items():
        words = words_of(text_of(DESCRIBED[name]))
        for one, kind in typing.get_type_hints(function).items():
            why = "" if one == "return" or one in words else needs_words(one, kind)
            if why:
                yield f"{name}({one})", why


def test_parameters_say_what_their_type_cannot() -> None:
    assert dict(parameters()) == {}
