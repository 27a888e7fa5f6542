import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.e2e.conftest import Place, Served
from tests.e2e.test_offline import READY
from tests.support.fake_servers import Script, Tool, message

Serve = Callable[[Script], AbstractContextManager[Served]]
TOOL = """
from pydantic import BaseModel
from agent_tui.toolkit.api import Tool, ToolResult

class Params(BaseModel):
    text: str = ""

class Petal(Tool[Params]):
    name = "petal"
    description = "Counts petals."
    params_type = Params
    def run(self, params, ctx):
        return ToolResult.success("five")
"""


def offered(request: dict[str, object]) -> set[str]:
    tools = request["tools"]
    assert isinstance(tools, list)
    return {tool["name"] for tool in tools}


def test_a_project_tool_counts_only_after_the_person_trusted_it(place: Place, serve: Serve) -> None:
    folder = place.project / ".agent-tui/tools"
    folder.mkdir(parents=True)
    (folder / "petal.py").write_text(TOOL)
    with (
        serve([message("One."), message("Two.")]) as served,
        place.terminal(**served.env) as terminal,
    ):
        terminal.until("Trust this project?")
        terminal.until("petal.py")
        terminal.send("\r")
        terminal.until("is left out")
        terminal.send("first\r")
        terminal.until("One.")
        assert "petal" not in offered(served.requests[-1])
        terminal.send("/trust\r")
        terminal.until("Trust this project?")
        terminal.send("\x1b[B\r")
        terminal.until("is trusted as it is now")
        terminal.send("second\r")
        terminal.until("Two.")
        assert "petal" in offered(served.requests[-1])
    assert list(folder.rglob("__pycache__")) == []


def test_a_shell_line_is_shown_and_told_to_the_model_unless_private(place: Place, serve: Serve) -> None:
    with serve([message("Seen.")]) as served, place.terminal(**served.env) as terminal:
        terminal.until(READY)
        terminal.send("!echo sunny-$((40+2))\r")
        terminal.until("sunny-42")
        terminal.send("!!echo secret-$((40+3))\r")
        terminal.until("secret-43")
        terminal.send("go\r")
        terminal.until("Seen.")
        said = json.dumps(served.requests[-1]["messages"])
        assert "sunny-42" in said
        assert "secret-43" not in said


def test_ctrl_b_sends_a_shell_line_to_the_background_and_tasks_ends_it(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.send("!echo u$((1))p; sleep 300\r")
        terminal.until("u1p")
        terminal.send("\x02")
        terminal.until("Sent to the background")
        terminal.until("running in the background as job-1")
        terminal.send("/tasks\r")
        terminal.until("job-1 · running")
        terminal.send("\r")
        terminal.until("(running)")
        terminal.send("\x1b")
        terminal.until("End it with all it started")
        terminal.send("\x1b[B\r")
        terminal.until("job-1 was ended")


def test_item_71_question_is_offered_only_where_somebody_can_answer(place: Place, serve: Serve) -> None:
    with serve([message("Alone."), message("Together.")]) as served:
        place.run("-p", "go", **served.env)
        alone = offered(served.requests[-1])
        with place.terminal(**served.env) as terminal:
            terminal.until(READY)
            terminal.send("go\r")
            terminal.until("Together.")
        together = offered(served.requests[-1])
    assert together - alone == {"question", "exit_plan_mode"}


@pytest.fixture
def outside() -> Iterator[Path]:
    if not os.access("/opt", os.W_OK):
        pytest.skip("no folder outside of /tmp can be written")
    with tempfile.TemporaryDirectory(dir="/opt") as name:  # /tmp and /var/tmp are others in the sandbox
        yield Path(name)


def test_what_the_sandbox_blocked_is_offered_once_and_works_then(
    place: Place, serve: Serve, outside: Path
) -> None:
    (place.project / "leaf.py").write_text(f"open('{outside}/x', 'w').write('petals')\n")
    write = Tool("b1", "bash", {"command": "python3 leaf.py"})
    again = Tool("b2", "bash", write.arguments)
    script = [message("Try.", tools=[write]), message("Again.", tools=[again]), message("Done.")]
    with serve(script) as served, place.terminal("--yolo", **served.env) as terminal:
        terminal.until(READY)
        terminal.send("go\r")
        terminal.until("The sandbox may have blocked")
        assert "No, keep the sandbox" in terminal.text
        terminal.quiet(0.7, wait_s=1.0)
        terminal.send("\x1b[B\r")
        terminal.until("Done.")
        assert "lets commands write in" in json.dumps(served.requests[-2]["messages"])
    assert (outside / "x").read_text() == "petals"


BLOCKED = """
import os, sys
if os.environ.get("HTTPS_PROXY"):
    sys.exit(print("went through", os.environ["HTTPS_PROXY"].split("@")[-1].split(":")[0]))
sys.exit("curl: (6) Could not resolve host: petals.example")
"""


def test_a_host_that_the_sandbox_blocked_is_offered_and_reached_then(place: Place, serve: Serve) -> None:
    (place.project / "leaf.py").write_text(BLOCKED)
    fetch = Tool("b1", "bash", {"command": "python3 leaf.py"})
    script = [message("Try.", tools=[fetch]), message("Again.", tools=[Tool("b2", "bash", fetch.arguments)])]
    with serve([*script, message("Done.")]) as served, place.terminal("--yolo", **served.env) as terminal:
        terminal.until(READY)
        terminal.send("go\r")
        terminal.until("Let commands reach petals.example")
        terminal.quiet(0.7, wait_s=1.0)
        terminal.send("\x1b[B\r")
        terminal.until("Done.")
        told = json.dumps(served.requests[-1]["messages"])
    assert "lets commands reach petals.example" in told
    assert "went through" in told


def test_a_blocked_command_runs_once_without_the_sandbox_where_the_person_says_so(
    place: Place, serve: Serve, outside: Path
) -> None:
    (place.project / "leaf.py").write_text(f"open('{outside}/x', 'a').write('petal ')\n")
    calls = [Tool(f"b{number}", "bash", {"command": "python3 leaf.py"}) for number in range(3)]
    first, again, other = (
        message("Try.", tools=[call]) for call in (*calls[:2], Tool("t", "bash", {"command": "true"}))
    )
    script = [first, again, other, message("Once more.", tools=calls[2:]), message("Done.")]
    with serve(script) as served, place.terminal("--yolo", **served.env) as terminal:
        terminal.until(READY)
        terminal.send("go\r")
        terminal.until("The sandbox may have blocked")
        terminal.quiet(0.7, wait_s=1.0)
        terminal.send("\x1b[B\x1b[B\r")
        terminal.until("Done.")
    assert (outside / "x").read_text() == "petal "


def test_no_color_paints_no_colours_and_no_mouse_leaves_the_mouse(place: Place) -> None:
    with place.terminal("--no-color", "--no-mouse") as terminal:
        terminal.until(READY)
        terminal.quiet()
        colours = re.findall(rb"\x1b\[[0-9;]*?38;2;(\d+);(\d+);(\d+)", bytes(terminal.raw))
        assert all(red == green == blue for red, green, blue in colours)
        assert b"\x1b[?1000h" not in terminal.raw
