import sys
from pathlib import Path

from agent_tui.extensions.bundled import themes_dir, tools_dir
from agent_tui.extensions.loader import load_tools

TOOL = """
from dataclasses import dataclass
from pydantic import BaseModel
from agent_tui.toolkit.tool import Tool, DisplayConfig
from agent_tui.protocol.tools import ToolResult

class Params(BaseModel):
    text: str = ""

class {cls}(Tool[Params]):
    name = "{name}"
    description = "Says it back."
    params_type = Params
    def run(self, params, ctx):
        return ToolResult.success(params.text)
"""


def write_tool(folder: Path, file: str, *, name: str = "echo", cls: str = "Echo", extra: str = "") -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TOOL.format(name=name, cls=cls) + extra)
    return path


def names(folder: Path, source: str = "user") -> list[str]:
    return [tool.name for tool in load_tools(folder, source=source).tools]


def test_files_and_packages_are_units_and_underscored_names_are_not(tmp_path: Path) -> None:
    write_tool(tmp_path, "b.py", name="b")
    write_tool(tmp_path, "a/__init__.py", name="a")
    write_tool(tmp_path, "_hidden.py", name="hidden")
    write_tool(tmp_path, "_package/__init__.py", name="package")
    write_tool(tmp_path, ".dot.py", name="dot")
    (tmp_path / "notes.txt").write_text("no tool")
    (tmp_path / "folder_without_init").mkdir()

    assert names(tmp_path) == ["a", "b"]


def test_a_missing_folder_gives_no_tools(tmp_path: Path) -> None:
    loaded = load_tools(tmp_path / "absent", source="user")

    assert (loaded.tools, loaded.failures) == ((), [])


def test_a_module_has_its_own_name_and_is_known_before_it_executes(tmp_path: Path) -> None:
    write_tool(
        tmp_path,
        "selfaware.py",
        extra="\nimport sys\nassert __name__ in sys.modules\nSEEN = __name__\n"
        "@dataclass\nclass Fact:\n    value: 'int'\n",
    )

    (tool,) = load_tools(tmp_path, source="user").tools

    assert type(tool).__module__ == "agent_tui._plugins.user.selfaware"
    assert sys.modules[type(tool).__module__].SEEN == "agent_tui._plugins.user.selfaware"


def test_a_package_may_import_its_own_files_relatively(tmp_path: Path) -> None:
    write_tool(tmp_path, "pack/__init__.py", name="pack", extra="\nfrom .inner import VALUE\n")
    (tmp_path / "pack" / "inner.py").write_text("VALUE = 3\n")

    loaded = load_tools(tmp_path, source="user")

    assert loaded.failures == []
    assert [tool.name for tool in loaded.tools] == ["pack"]


def test_the_folder_never_goes_on_sys_path_so_glob_py_shadows_nothing(tmp_path: Path) -> None:
    write_tool(tmp_path, "glob.py", name="glob")
    write_tool(tmp_path, "user_of_glob.py", name="other", extra="\nimport glob\nassert glob.glob\n")
    before = list(sys.path)

    assert names(tmp_path) == ["glob", "other"]
    assert sys.path == before
    assert (
        "site-packages" in sys.modules["glob"].__file__ or str(tmp_path) not in sys.modules["glob"].__file__
    )


def test_an_imported_tool_class_does_not_count(tmp_path: Path) -> None:
    write_tool(tmp_path, "base.py", name="base")
    (tmp_path / "thief.py").write_text(
        "import sys\nEcho = sys.modules['agent_tui._plugins.user.base'].Echo\n"
    )

    loaded = load_tools(tmp_path, source="user")

    assert [tool.name for tool in loaded.tools] == ["base"]
    assert [failure.path.name for failure in loaded.failures] == ["thief.py"]


def test_a_failing_file_costs_only_itself_and_says_why(tmp_path: Path) -> None:
    write_tool(tmp_path, "good.py", name="good")
    (tmp_path / "syntax.py").write_text("def broken(:\n")
    (tmp_path / "absent_import.py").write_text("import no_such_module_anywhere\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "empty.py").write_text("x = 1\n")

    loaded = load_tools(tmp_path, source="user")

    reasons = {failure.path.name: str(failure) for failure in loaded.failures}
    assert [tool.name for tool in loaded.tools] == ["good"]
    assert set(reasons) == {"syntax.py", "absent_import.py", "leaves.py", "empty.py"}
    assert "line 1" in reasons["syntax.py"]
    assert "no_such_module_anywhere" in reasons["absent_import.py"]
    assert "SystemExit" in reasons["leaves.py"]
    assert "defines no tool" in reasons["empty.py"]
    assert "agent_tui._plugins.user.syntax" not in sys.modules


def test_a_faulty_declaration_is_refused_with_the_attribute(tmp_path: Path) -> None:
    write_tool(tmp_path, "spaced.py", name="two words")
    head = "from agent_tui.toolkit.tool import Tool\nclass T(Tool):\n    name = 't'\n"
    (tmp_path / "undescribed.py").write_text(f"{head}    params_type = int\n    def run(self, p, c): ...\n")
    (tmp_path / "untyped.py").write_text(
        f"{head}    description = 'd'\n    params_type = int\n    def run(self, p, c): ...\n"
    )
    write_tool(
        tmp_path,
        "unmade.py",
        name="unmade",
        extra="    def __init__(self):\n        raise ValueError('no luck')\n",
    )

    reasons = {f.path.name: str(f) for f in load_tools(tmp_path, source="user").failures}

    assert "'two words'" in reasons["spaced.py"]
    assert "description" in reasons["undescribed.py"]
    assert "params_type" in reasons["untyped.py"]
    assert "no luck" in reasons["unmade.py"]


def test_item_75_the_second_file_with_a_name_is_refused(tmp_path: Path) -> None:
    write_tool(tmp_path, "one.py", name="echo")
    write_tool(tmp_path, "two.py", name="echo")

    loaded = load_tools(tmp_path, source="user")

    assert len(loaded.tools) == 1
    assert "already defined" in str(loaded.failures[0])
    assert loaded.failures[0].path.name == "two.py"


def test_two_folders_with_one_source_name_keep_their_modules_apart(tmp_path: Path) -> None:
    write_tool(tmp_path / "x", "same.py", name="first")
    write_tool(tmp_path / "y", "same.py", name="second")

    (first,) = load_tools(tmp_path / "x", source="user").tools
    (second,) = load_tools(tmp_path / "y", source="user").tools

    assert type(first).__module__ != type(second).__module__


def test_foreign_files_leave_no_bytecode_and_never_run_any(tmp_path: Path) -> None:
    path = write_tool(tmp_path, "plain.py", name="plain")

    load_tools(tmp_path, source="project")

    assert sorted(entry.name for entry in tmp_path.iterdir()) == [path.name]


def test_a38_a_tool_without_display_gets_a_default(tmp_path: Path) -> None:
    write_tool(tmp_path, "bare.py", name="bare")

    (tool,) = load_tools(tmp_path, source="user").tools

    assert tool.display.display_name == "bare"


def test_the_bundled_folders_are_those_of_the_checkout() -> None:
    assert tools_dir().name == "tools"
    assert themes_dir().parent == tools_dir().parent


def test_loading_writes_nothing_into_the_folder_of_a_project_not_even_for_helpers(tmp_path: Path) -> None:
    write_tool(tmp_path, "pack/__init__.py", extra="\nfrom . import helper\n")
    (tmp_path / "pack/helper.py").write_text("VALUE = 1\n")
    before = sys.dont_write_bytecode

    assert names(tmp_path, "project") == ["echo"]

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["__init__.py", "helper.py", "pack"]
    assert sys.dont_write_bytecode == before
