import json
import subprocess
import sys

import pytest

MODEL = """
import sys
from agent_tui.ui.lean import leave_out_pydantic_plugins
{before}
from pydantic import BaseModel
class Point(BaseModel):
    x: int
assert Point.model_validate({{"x": "1"}}).x == 1
print("importlib.metadata" in sys.modules)
"""


def printed(before: str) -> str:
    code = MODEL.format(before=before)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_pydantic_reads_no_packages_metadata_once_its_plugins_are_left_out() -> None:
    assert printed("leave_out_pydantic_plugins()") == "False"


def test_the_module_that_stands_for_pydantics_plugins_has_all_that_pydantic_takes_from_it() -> None:
    taken = """
import ast, pathlib, pydantic
from pydantic.plugin import _loader
names = {
    name.name
    for file in pathlib.Path(pydantic.__file__).parent.rglob("*.py")
    for node in ast.walk(ast.parse(file.read_text()))
    if isinstance(node, ast.ImportFrom) and node.module and node.module.endswith("_loader")
    for name in node.names
}
print(sorted(names))
"""
    done = subprocess.run([sys.executable, "-c", taken], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "['get_plugins']"


DATACLASSES = """
import copy, dataclasses, inspect, json, pickle, sys
from agent_tui.ui.lean import compile_dataclasses_late
compiled = []
make = getattr(dataclasses, "_create_fn", None)
if make is not None:
    def counted(name, *rest, **names):
        compiled.append(name)
        return make(name, *rest, **names)
    counted.__module__ = "dataclasses"
    dataclasses._create_fn = counted
{before}
@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Point:
    "Where it is."
    x: int
    y: "list[Point]" = dataclasses.field(default_factory=list, hash=False)
@dataclasses.dataclass
class Open:
    "What may change."
    name: str = "a"
@dataclasses.dataclass(frozen=True)
class Further(Point):
    "Where it is in space."
    z: int = 3
def said(call):
    try:
        return repr(call())
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"
at_first = sorted(set(compiled))
@dataclasses.dataclass
class Untold:
    name: str = "a"
p, q, further = Point(1), Point(2, [Point(1)]), Further(1)
for one in (Point, Open, Further):
    globals()[one.__qualname__] = one
loop = Open()
loop.name = loop
print(json.dumps([at_first, [said(call) for call in (
    lambda: (p, q, further, Open(), loop),
    lambda: (p == Point(1), p == q, p == further, Open() == Open(), p != q),
    lambda: (hash(p) == hash(Point(1)), hash(further) == hash(Further(1)), {{p: 1}}[Point(1)]),
    lambda: hash(Open()),
    lambda: setattr(p, "x", 3),
    lambda: delattr(p, "x"),
    lambda: setattr(further, "z", 3),
    lambda: setattr(further, "other", 3),
    lambda: (p < q, q <= p, sorted([q, p])),
    lambda: p < 3,
    lambda: dataclasses.replace(q, x=9),
    lambda: dataclasses.asdict(q),
    lambda: pickle.loads(pickle.dumps(q)) == q,
    lambda: copy.deepcopy(q) == q,
    lambda: Point(),
    lambda: [inspect.signature(one) for one in (Point, Open, Further)],
    lambda: Untold.__doc__,
    lambda: [vars(one)["__init__"].__qualname__ for one in (Point, Open, Further)],
    lambda: [(one.__repr__.__qualname__, one.__eq__.__name__) for one in (Point, Open, Further)],
)]]))
"""


def what_dataclasses_do(before: str) -> tuple[list[str], list[str]]:
    code = DATACLASSES.format(before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    at_first, said = json.loads(done.stdout)
    return at_first, said


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python compiles a class at once from 3.13 on")
def test_dataclasses_compiled_late_do_the_same_and_compile_nothing_at_first() -> None:
    usual, late = what_dataclasses_do(""), what_dataclasses_do("compile_dataclasses_late()")

    assert late[1] == usual[1]
    assert "__repr__" in usual[0]
    assert late[0] == []


def test_dataclasses_are_made_late_once_however_often_that_is_asked_for() -> None:
    twice = (
        "from agent_tui.ui.lean import compile_dataclasses_late as late; late(); import dataclasses as d\n"
    )
    twice += "kept = vars(d).get('_create_fn'); late(); assert vars(d).get('_create_fn') is kept"

    subprocess.run([sys.executable, "-c", twice], check=True)
