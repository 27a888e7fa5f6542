import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_LINES = 500

LAYERS: dict[str, set[str]] = {
    "protocol": set(),
    "sandbox": {"protocol"},
    "toolkit": {"protocol", "sandbox"},
    "permissions": {"protocol", "toolkit", "sandbox"},
    "executor": {"protocol", "toolkit", "sandbox"},
    "providers": {"protocol"},
    "sessions": {"protocol"},
    "extensions": {"protocol", "toolkit"},
    "config": {"protocol"},
    "agent": {"protocol", "toolkit", "permissions", "executor", "providers", "sessions", "sandbox"},
    "headless": {"protocol", "toolkit", "permissions"},
    "ui": {"protocol", "toolkit", "permissions", "sessions"},
}
FLOORS = (
    {"conversation"},
    {"run"},
    {"wiring", "api"},
    {"subcommands"},
    {"cli"},
    {"__main__"},
)
"""What stands above the layers, lowest first: each imports floors below it only."""
TOP = {"__init__"}.union(*FLOORS)
INTERFACE_ONLY = {"toolkit", "permissions", "executor", "agent"}
ONLY_IN: dict[str, tuple[str, ...]] = {
    "textual": ("agent_tui/ui/",),
    "anthropic": ("agent_tui/providers/",),
    "openai": ("agent_tui/providers/",),
    "mcp": ("agent_tui/extensions/mcp/",),
    "acp": ("agent_tui/headless/acp/",),
    "distributed": ("agent_tui/headless/batch/",),
    "ray": ("agent_tui/headless/batch/",),
    "rich": ("agent_tui/ui/", "agent_tui/cli", "agent_tui/headless/"),
}
CODE = sorted([*(ROOT / "agent_tui").rglob("*.py"), *(ROOT / "tools").glob("*.py")])
IDS = [str(path.relative_to(ROOT)) for path in CODE]


def imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def imported_at_top(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", CODE, ids=IDS)
def test_module_has_at_most_500_lines_and_says_its_job(path: Path) -> None:
    text = path.read_text()

    assert text.count("\n") <= MAX_LINES
    assert ast.get_docstring(ast.parse(text)), "the first line of a module says its one job"


def test_no_test_file_is_longer_than_a_module_may_be() -> None:
    lengths = {
        path.relative_to(ROOT): path.read_text().count("\n") for path in (ROOT / "tests").rglob("*.py")
    }

    assert {path: lines for path, lines in lengths.items() if lines > MAX_LINES} == {}


def test_every_module_is_used_by_the_program_or_offered_to_authors() -> None:
    text = "".join(path.read_text() for path in CODE)
    used = {name for path in CODE for name in imported(path)}
    used |= {"agent_tui.providers.scripted", "agent_tui.toolkit.testing"}  # offered to authors
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.name
        for path in CODE
        if path.is_relative_to(ROOT / "agent_tui") and not path.stem.startswith("__")
    }

    unused = {name for name in modules if name not in used}

    # what is started as a program of its own is named by its file or its module
    assert {name for name in unused if modules[name] not in text and f'"{name}"' not in text} == set()


@pytest.mark.parametrize("path", CODE, ids=IDS)
def test_imports_keep_to_the_layers(path: Path) -> None:
    relative = path.relative_to(ROOT)
    ours = {name for name in imported(path) if name.startswith("agent_tui.")}

    if relative.parts[0] == "tools":
        allowed = {name for name in ours if name.startswith("agent_tui.toolkit")}
        assert ours == allowed, "a tool imports the public toolkit only"
        return
    layer = relative.parts[1].removesuffix(".py")
    if layer in TOP:
        return
    for name in ours:
        target = name.split(".")[1]
        assert target == layer or target in LAYERS[layer] or target == "__version__", (
            f"{layer} imports {name}"
        )
        if target == "sandbox" and layer in INTERFACE_ONLY:
            assert name.startswith("agent_tui.sandbox.interface"), f"{layer} knows the sandbox interface only"


def test_the_layers_allow_what_is_imported_and_no_more() -> None:
    used: dict[str, set[str]] = {}
    for path in CODE:
        layer = path.relative_to(ROOT).parts[1].removesuffix(".py")
        ours = {name.split(".")[1] for name in imported(path) if name.startswith("agent_tui.")}
        used.setdefault(layer, set()).update(ours - {layer, "__version__"})

    assert {layer: used[layer] for layer in LAYERS} == LAYERS


@pytest.mark.parametrize("path", CODE, ids=IDS)
def test_above_the_layers_imports_go_down(path: Path) -> None:
    floor_of = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    own = path.relative_to(ROOT).parts[1].removesuffix(".py")
    if own not in floor_of:
        return

    for name in {name for name in imported(path) if name.startswith("agent_tui.")}:
        target = name.split(".")[1]
        assert target == own or floor_of.get(target, -1) < floor_of[own], f"{own} imports {name}"


@pytest.mark.parametrize("path", CODE, ids=IDS)
def test_heavy_packages_stay_in_their_layer(path: Path) -> None:
    relative = str(path.relative_to(ROOT))

    for name in {name.split(".")[0] for name in imported(path)}:
        if name in ONLY_IN:
            assert relative.startswith(ONLY_IN[name]), f"{relative} imports {name}"


@pytest.mark.parametrize("path", CODE, ids=IDS)
def test_sdks_are_never_imported_at_module_level(path: Path) -> None:
    relative = str(path.relative_to(ROOT))
    allowed = {"mcp"} if relative.startswith("agent_tui/extensions/mcp/") else set()

    assert not (imported_at_top(path) & ({"anthropic", "openai", "mcp", "tree_sitter"} - allowed))


ALLOWED_BACK = {
    (
        "agent_tui",
        "agent_tui.api",
    ): "the public names are given by __getattr__, and every module asks for __version__"
}


def test_imports_form_no_circle_also_not_by_an_import_inside_a_function() -> None:
    modules = {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in CODE}
    graph = {
        name: {to for to in imported_at_run_time(path) if to in modules and (name, to) not in ALLOWED_BACK}
        - {name}
        for name, path in modules.items()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for target in sorted(graph[name]):
                visit(target, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def imported_at_run_time(path: Path) -> set[str]:
    """Give what is imported anywhere but below `if TYPE_CHECKING`."""
    names: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        waiting += ast.iter_child_nodes(node)
    return names


@pytest.mark.parametrize("path", CODE, ids=IDS)
def test_every_ignore_names_its_code(path: Path) -> None:
    for line in path.read_text().splitlines():
        assert not re.search(r"# type: ignore(?!\[)|# pyright: ignore(?!\[)|# noqa(?!: )", line), line


def modules_after(code: str) -> set[str]:
    return {name.split(".")[0] for name in all_modules_after(code)}


def all_modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    return set(
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_core_imports_neither_screen_nor_sdks() -> None:
    loaded = modules_after("import agent_tui.agent.loop, agent_tui.executor.rounds, agent_tui.sessions.store")

    assert not loaded & {"textual", "rich", "anthropic", "openai", "mcp", "tree_sitter", "pygments"}


def test_importing_the_package_does_no_work() -> None:
    assert not modules_after("import agent_tui") & {"pydantic", "asyncio", "textual", "click"}


def test_interface_imports_nothing_heavy() -> None:
    loaded = modules_after(
        "from agent_tui.ui.lean import import_textual_lean as lean; lean(); import agent_tui.ui.app"
    )

    assert not loaded & {
        "anthropic",
        "openai",
        "mcp",
        "tree_sitter",
        "httpx",
        "pydantic",
        "pygments",
        "markdown_it",
    }


AFTER_THE_FIRST_FRAME = {
    "agent_tui.run.assembly",
    "agent_tui.run.early_session",
    "agent_tui.sessions",
    "agent_tui.subcommands",
    "agent_tui.ui.actions",
    "agent_tui.ui.commands.builtin",
    "agent_tui.ui.screens",
    "click",
    "pydantic",
}


def test_a_start_without_arguments_loads_before_its_first_frame_what_that_needs() -> None:
    loaded = all_modules_after("""
from agent_tui.ui.lean import import_textual_lean as lean
lean()
from agent_tui import cli
from agent_tui.ui.app import AgentApp
AgentApp.run = lambda self, *, mouse: None
for stream in (sys.stdin, sys.stdout, sys.stderr):
    stream.isatty = lambda: True
assert cli.main([]) == 0
""")

    assert not loaded & AFTER_THE_FIRST_FRAME


WITH_THE_FIRST_USE = {
    "agent_tui.conversation.changes",
    "agent_tui.conversation.clipboard",
    "agent_tui.conversation.pictures",
    "agent_tui.extensions.hooks.command",
    "agent_tui.extensions.mcp.entries",
    "agent_tui.extensions.mcp.oauth_config",
    "agent_tui.extensions.mcp.offers",
    "agent_tui.extensions.mcp.server",
    "agent_tui.extensions.plugged.process",
    "agent_tui.extensions.plugged.python",
    "agent_tui.headless.acp",
    "agent_tui.headless.batch",
    "agent_tui.permissions.batch",
    "agent_tui.permissions.shell.analysis",
    "agent_tui.sandbox.denial",
    "agent_tui.sandbox.proxied",
    "agent_tui.sandbox.proxy",
    "agent_tui.sessions.approvals",
    "agent_tui.sessions.deferred",
    "agent_tui.sessions.export",
    "agent_tui.sessions.records",
    "agent_tui.sessions.restore",
    "agent_tui.toolkit.files",
    "agent_tui.toolkit.patching",
    "agent_tui.toolkit.search",
    "agent_tui.toolkit.web",
    "agent_tui.ui.outside_pager",
    "agent_tui.ui.screens.approval.screen",
    "agent_tui.ui.screens.changes",
    "agent_tui.ui.screens.earlier",
    "agent_tui.ui.screens.help",
    "agent_tui.ui.screens.mcp.panel",
    "agent_tui.ui.screens.question",
    "agent_tui.ui.screens.reader.screen",
    "agent_tui.ui.screens.rules",
    "agent_tui.ui.screens.sessions",
    "agent_tui.ui.screens.settings.screen",
    "agent_tui.ui.screens.viewer",
    "anthropic",
    "cryptography",
    "httpx",
    "importlib.metadata",
    "jsonschema",
    "markdown_it",
    "mcp",
    "openai",
    "pygments",
    "tomlkit",
    "tree_sitter",
}


def test_a_start_without_typing_loads_nothing_that_only_use_needs(tmp_path: Path) -> None:
    loaded = all_modules_after(f"""
from agent_tui.ui.lean import import_textual_lean as lean, leave_out_pydantic_plugins
lean()
leave_out_pydantic_plugins()
import asyncio, pathlib
import agent_tui.ui.actions, agent_tui.ui.app, agent_tui.ui.commands.builtin, agent_tui.ui.link
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions
async def start():
    core = await assemble(RunOptions(), pathlib.Path({str(tmp_path)!r}), with_screen=True)
    await core.aclose()
asyncio.run(start())
""")

    assert not loaded & WITH_THE_FIRST_USE
    assert not [name for name in loaded if name.startswith("agent_tui._plugins.bundled")]


def test_what_is_loaded_ahead_of_the_first_turn_is_what_a_start_leaves_out() -> None:
    loaded = all_modules_after("""
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.late import LateTools
from agent_tui.run.ahead import load_ahead as for_the_core
from agent_tui.ui.ahead import load_ahead as for_the_screen
for_the_core("offline", LateTools(tools_dir()).get_ready)
for_the_screen()
""")

    assert loaded >= {
        "agent_tui._plugins.bundled.bash",
        "agent_tui.conversation.changes",
        "agent_tui.conversation.clipboard",
        "agent_tui.conversation.pictures",
        "agent_tui.permissions.shell.analysis",
        "agent_tui.sandbox.proxied",
        "agent_tui.toolkit.files",
        "agent_tui.toolkit.web",
        "agent_tui.ui.outside_pager",
        "agent_tui.ui.screens.approval.screen",
        "agent_tui.ui.screens.changes",
        "agent_tui.ui.screens.earlier",
        "agent_tui.ui.screens.help",
        "agent_tui.ui.screens.mcp.panel",
        "agent_tui.ui.screens.question",
        "agent_tui.ui.screens.reader.screen",
        "agent_tui.ui.screens.rules",
        "agent_tui.ui.screens.sessions",
        "agent_tui.ui.screens.settings.screen",
        "agent_tui.ui.screens.viewer",
    }
