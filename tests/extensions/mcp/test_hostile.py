import asyncio
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.protocol.errors import ToolError
from tests.support.mcp_world import SCRIPTS, spec, world
from tests.support.patience import PATIENCE_S


@pytest.mark.parametrize(
    ("command", "args", "why"),
    [
        ("/no/such", (), "there is no program '/no/such'"),
        ("no-such-program-anywhere", (), "in PATH"),
        ("/bin/false", (), "exited with code 1"),
        (sys.executable, ("-S", str(SCRIPTS / "tiny.py"), "exit"), "cannot open the database"),
    ],
)
async def test_mc_02_a_server_that_cannot_start_costs_only_itself(
    workspace: Path, command: str, args: tuple[str, ...], why: str
) -> None:
    broken = spec(name="broken", command=command, args=args)
    async with world(workspace, [broken, spec()]) as here:
        await here.until(lambda: here.status("broken").state == "failed")
        here.publish()

        assert why in here.status("broken").detail
        assert [note for note in here.notices if "'broken' is not available" in note]
        assert len([note for note in here.notices if "broken" in note]) == 1
        assert (await here.call("mcp__tiny__echo", '{"text": "x"}')).output == "echo: x"


async def test_why_a_server_is_not_there_is_told_once_also_between_two_turns(workspace: Path) -> None:
    async with world(workspace, [spec("exit")]) as here:
        await here.until(lambda: here.status().state == "failed")

        assert ["is not available" in news.text for news in here.servers.troubles()] == [True]
        assert here.servers.troubles() == []
        here.publish()
        assert here.notices == []


async def test_mc_02_tries_to_start_are_bounded(workspace: Path) -> None:
    async with world(workspace, [spec("exit")]) as here:
        await here.until(lambda: here.status().state == "failed")

        assert len([line for line in here.servers.log("tiny") if "stderr" in line]) == 3


async def test_mc_02_a_silent_server_is_given_up_and_delays_nobody(workspace: Path) -> None:
    async with world(workspace, [spec("silent", name="silent", start_s=0.5), spec()], settle=False) as here:
        assert here.status("silent").state == "waiting"
        assert here.tools.specs() == []
        await here.until(lambda: here.status().state == "ready")
        await here.until(lambda: "did not answer within 0.5 s" in here.status("silent").detail)


async def test_mc_03_a_server_that_dies_in_a_call_is_an_error_and_starts_again(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        with pytest.raises(ToolError, match=r"ended during the call: exited with code 1 \(dying words\)"):
            await here.call("mcp__tiny__die")

        assert (await here.call("mcp__tiny__echo", '{"text": "again"}')).output == "echo: again"


async def test_mc_03_why_it_ended_is_known_also_when_it_is_up_again_at_once(workspace: Path) -> None:
    async with world(workspace, [spec()], restart_s=0.0) as here:
        for _ in range(3):
            with pytest.raises(ToolError, match=r"ended during the call: exited with code 1 \(dying words"):
                await here.call("mcp__tiny__die")


async def test_mc_03_half_an_answer_is_an_error(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        with pytest.raises(ToolError, match="in the middle of a message"):
            await here.call("mcp__tiny__half")


async def test_mc_03_a_call_that_hangs_times_out_and_the_server_is_replaced(workspace: Path) -> None:
    async with world(workspace, [spec(call_s=0.3)]) as here:
        with pytest.raises(ToolError, match=r"timed out after 0\.3 s"):
            await here.call("mcp__tiny__hang")
        await here.until(lambda: here.status().state != "ready")

        assert (await here.call("mcp__tiny__echo", '{"text": "back"}')).output == "echo: back"


async def test_mc_03_a_call_that_hangs_can_be_cancelled(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        task = asyncio.create_task(here.call("mcp__tiny__hang"))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait([task], timeout=PATIENCE_S / 2)

        assert task.cancelled()


async def test_mc_03_an_answer_of_50_mb_is_cut_and_holds_nothing_up(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        busy = [0.0]

        async def watch() -> None:
            while True:
                begin = time.thread_time()  # what this thread did, whatever else the machine has to do
                await asyncio.sleep(0.01)
                busy.append(time.thread_time() - begin)

        watching = asyncio.create_task(watch())
        result = await here.call("mcp__tiny__big")
        watching.cancel()

        assert len(result.output) < 101_000
        assert "the server's answer of 50,000,08" in result.output
        assert max(busy) < 1.0
        assert (await here.call("mcp__tiny__echo", '{"text": "on"}')).output == "echo: on"


async def test_a_server_that_comes_late_joins_at_the_next_turn_behind_the_others(workspace: Path) -> None:
    async with world(workspace, [spec()], settle=False) as here:
        assert here.publish() == []
        await here.until(lambda: here.status().state == "ready")
        assert here.tools.specs() == []

        assert here.publish(cached=True) == [
            "The MCP server 'tiny' joined with 12 tools. The cached prefix is lost once."
        ]
        assert here.publish() == []


async def test_the_cost_of_servers_that_join_together_is_said_once(workspace: Path) -> None:
    async with world(workspace, [spec(), spec(name="other")], settle=False) as here:
        await here.servers.settled()

        assert here.publish(cached=True) == [
            "The MCP server 'tiny' joined with 12 tools.",
            "The MCP server 'other' joined with 12 tools. The cached prefix is lost once.",
        ]


async def test_a_server_that_fails_again_and_again_says_its_last_words_once(workspace: Path) -> None:
    words = ("-c", "echo boom >&2; echo boom >&2; exit 3")
    async with world(workspace, [spec(command="/bin/sh", args=words)]) as here:
        await here.until(lambda: here.status().state == "failed")

        assert here.publish() == ["The MCP server 'tiny' is not available: exited with code 3 (boom)"]
        assert sum("boom" in line for line in here.servers.log("tiny")) > 2


async def test_a_server_that_is_there_before_the_first_turn_costs_no_cache(workspace: Path) -> None:
    async with world(workspace, [spec()], settle=False) as here:
        await here.until(lambda: here.status().state == "ready")

        assert here.publish(cached=False) == ["The MCP server 'tiny' joined with 12 tools."]


async def test_a_server_that_floods_its_output_is_ended(workspace: Path) -> None:
    async with world(workspace, [spec("flood"), spec(name="good")]) as here:
        await here.until(lambda: here.status().state == "failed")

        assert "10,000 lines" in here.status().detail
        assert here.status("good").state == "ready"


async def test_m25_five_thousand_tools_are_limited(workspace: Path) -> None:
    async with world(workspace, [spec("many")]) as here:
        assert len(here.tools.specs()) == 512
        assert "5,000 tools are offered; the first 512 count" in here.status().problems


@pytest.mark.parametrize(("mode", "count"), [("pages", 6), ("stuck-cursor", 2), ("empty-cursor", 1)])
async def test_mc_10_all_pages_are_read_and_the_end_is_found(workspace: Path, mode: str, count: int) -> None:
    async with world(workspace, [spec(mode)]) as here:
        assert len(here.tools.specs()) == count
        assert bool(here.status().problems) == (mode == "stuck-cursor")


async def test_mc_11_a_burst_of_changes_costs_few_requests(workspace: Path) -> None:
    async with world(workspace, [spec("burst")]) as here:
        await here.until(lambda: any("listed 2" in line for line in here.servers.log("tiny")))

        assert (await here.call("mcp__tiny__echo", '{"text": "x"}')).output == "echo: x"
        assert len([line for line in here.servers.log("tiny") if " listed " in line]) < 4


async def test_mc_11_new_tools_join_at_the_next_turn(workspace: Path) -> None:
    async with world(workspace, [spec("list-changed")]) as here:
        await here.call("mcp__tiny__echo")
        await here.until(lambda: "mcp__tiny__late" in here.status().tools)
        before = [tool.name for tool in here.tools.specs()]

        assert before == ["mcp__tiny__echo"]
        assert here.publish(cached=True) == [
            "The tools of the MCP server 'tiny' changed: 1 new (mcp__tiny__late). The cached prefix is lost once."
        ]
        assert [tool.name for tool in here.tools.specs()] == ["mcp__tiny__echo", "mcp__tiny__late"]


async def test_mc_11_a_removed_tool_says_so_and_running_calls_finish(workspace: Path) -> None:
    async with world(workspace, [spec("shrinking")]) as here:
        slow = await here.call("mcp__tiny__slow")
        await here.until(lambda: len(here.status().tools) == 1)

        assert slow.output == "slow but done"
        with pytest.raises(ToolError, match="no longer offered"):
            await here.call("mcp__tiny__gone")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] != "Z"


def _family(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()]


def _shell_server(folder: Path) -> object:
    script = (
        f'sleep 1000 & echo $! $$ >> {folder}/pids; exec "{sys.executable}" -S "{SCRIPTS / "tiny.py"}" good'
    )
    return replace(spec(), command="sh", args=("-c", script))


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
async def test_mc_13_nothing_a_server_started_outlives_us(workspace: Path, tmp_path: Path) -> None:
    async with world(workspace, [_shell_server(tmp_path)]) as here:
        assert here.status().state == "ready"
        assert all(_alive(pid) for pid in _family(tmp_path))

    await here.until(lambda: not [pid for pid in _family(tmp_path) if _alive(pid)])


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
async def test_mc_13_reloading_and_reconnecting_never_doubles(workspace: Path, tmp_path: Path) -> None:
    server = _shell_server(tmp_path)
    async with world(workspace, [server]) as here:
        for _ in range(3):
            await here.servers.reload([server])
        assert len(_family(tmp_path)) == 2

        await here.servers.reload([replace(server, call_s=5.0)])
        await here.servers.settled()
        here.servers.reconnect("tiny")
        await here.until(lambda: len(_family(tmp_path)) == 6 and here.status().state == "ready")

        await here.until(lambda: len([pid for pid in _family(tmp_path) if _alive(pid)]) == 2)


async def test_a_server_that_is_gone_from_the_settings_takes_its_tools_along(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        await here.servers.reload([])
        here.publish()

        assert here.tools.specs() == []


async def test_a_server_can_be_switched_off_and_on(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        here.servers.enable("tiny", False)
        await here.until(lambda: here.status().state == "off")
        with pytest.raises(ToolError, match="is switched off"):
            await here.call("mcp__tiny__echo")
        assert here.publish() == ["The MCP server 'tiny' is off; its tools are gone."]
        assert here.tools.specs() == []

        here.servers.enable("tiny", True)
        await here.until(lambda: here.status().state == "ready")
        assert here.publish() == ["The MCP server 'tiny' joined with 12 tools."]

        assert (await here.call("mcp__tiny__echo")).output == "echo: None"
