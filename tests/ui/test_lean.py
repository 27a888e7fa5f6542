import subprocess
import sys

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
