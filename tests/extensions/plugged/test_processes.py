import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.extensions.plugged.discover import Places, find_extensions
from agent_tui.extensions.plugged.host import ExtensionHost
from agent_tui.extensions.plugged.manifest import Launch
from agent_tui.extensions.plugged.plug import Pace
from agent_tui.extensions.plugged.process import ProcessPlug
from agent_tui.protocol.errors import ToolError
from agent_tui.protocol.events import Notice
from tests.support.patience import PATIENCE_S, until
from tests.support.plug_world import PlugWorld, plug_world, write_extension, write_program
from tests.support.round_world import call, effects, make_world, outcome

SERVE = """
hear()
tool("echo", readable=True, timeout_s=5, detail=True)
tool("pid")
tool("die")
tool("hang", timeout_s=1)
say(type="register_command", name="ask", description="Asks", needs_args=True)
say(type="subscribe", events=["notice", "session_start", "session_end"])
say(type="ready", protocol=1, something_new=[1])
while True:
    message = hear()
    kind, number = message["type"], message.get("id")
    if kind == "shutdown":
        break
    elif kind == "detail":
        say(type="result", id=number, detail="about " + message["arguments"]["text"])
    elif kind == "event":
        say(type="notify", text=json.dumps(message["event"]))
    elif kind == "command":
        say(type="confirm", id="q", title="Sure?", message=message["args"], yes="Do", no="Leave", danger=True)
        answer = hear()
        say(type="set_status", text="ok" if answer["ok"] else "no")
        say(type="submit", text="go on")
        say(type="result", id=number) if answer["ok"] else say(type="result", id=number, error="not wanted")
    elif message["tool"] == "echo":
        say(type="output", id=number, text="working\\n")
        say(type="result", id=number, content=message["arguments"]["text"], detail="d", output="o", expanded=True)
    elif message["tool"] == "pid":
        say(type="result", id=number, content=str(os.getpid()))
    elif message["tool"] == "die":
        sys.stderr.write("out of paper\\n")
        sys.exit(7)
    elif message["tool"] == "hang":
        time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def asked(world: PlugWorld) -> bool:
    """Tell whether the process owes an answer."""
    return any(joined.plug._pending for joined in world.host._joined.values())


async def pid_of(world: PlugWorld) -> int:
    return int((await world.call("pid")).output)


async def test_x11_a_program_offers_tools_with_detail_output_and_reply(
    workspace: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "e", "prog", SERVE)

    async with plug_world(workspace, tmp_path / "e") as world:
        said: list[str] = []

        async def report(text: str) -> None:
            said.append(text)

        result = await world.call("echo", ctx=replace(world.context, report=report), text="hi")
        shown = world.tools.show("echo", "{}", result)

        assert (result.output, result.is_error) == ("hi", False)
        assert (shown.content, shown.summary, shown.starts_open) == ("o", "d", True)
        assert said == ["working\n"]
        assert await world.title("echo", text="hi") == "about hi"
        assert (world.tools.readable("echo"), world.tools.timeout_s("echo")) == (True, 5)
        assert world.notices == ["The extension 'prog' joined with 4 tools."]


async def test_x12_a_program_asks_shows_a_status_and_submits(workspace: Path, tmp_path: Path) -> None:
    write_program(tmp_path / "e", "prog", SERVE)

    async with plug_world(workspace, tmp_path / "e") as world:
        ((owner, command),) = world.host.commands()
        await world.host.run_command("ask", "now")

        assert (owner, command.needs_args) == ("prog", True)
        assert world.person.asked == [("prog: Sure?", "now", "Do", "Leave", True)]
        assert (world.host.statuses(), world.person.submitted) == (("ok",), ["go on"])
        world.person.answer = False
        with pytest.raises(ToolError, match="not wanted"):
            await world.host.run_command("ask", "now")


async def test_a_program_hears_what_it_subscribed_to_also_the_start_before_it_was_ready(
    workspace: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "e", "prog", SERVE)

    async with plug_world(workspace, tmp_path / "e") as world:
        world.host.session_started("s1")
        world.host.hear(Notice(turn_id="t", text="heard"))
        await until(lambda: len(world.person.notices) == 2)

    assert '"type": "session_start"' in world.person.notices[0][1]
    assert '"text": "heard"' in world.person.notices[1][1]


async def test_x11_a_call_past_its_limit_ends_the_process_and_all_that_waits_for_it(
    workspace: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "e", "prog", SERVE)

    async with plug_world(workspace, tmp_path / "e") as world:
        pid = await pid_of(world)
        waiting = asyncio.ensure_future(make_world(workspace, tools=world.tools).run(call("a", "hang")))
        await until(lambda: asked(world))
        neighbour = asyncio.ensure_future(world.call("echo", text="x"))
        batch = await waiting

        assert effects(batch) == {"a": "timeout"}
        with pytest.raises(ToolError, match=r"'prog' is gone: hang did not answer within 1 s"):
            await neighbour
        await until(lambda: not alive(pid))
        assert await pid_of(world) != pid


async def test_x11_a_call_that_is_cancelled_ends_the_process_and_the_next_one_starts_it_again(
    workspace: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "e", "prog", SERVE)

    async with plug_world(workspace, tmp_path / "e") as world:
        seen: set[int] = set()
        for _ in range(4):  # a stop is no failure: it may happen as often as a person likes
            seen.add(await pid_of(world))
            waiting = asyncio.ensure_future(world.call("hang"))
            await until(lambda: asked(world))
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert len(seen) == 4
        await until(lambda: not any(map(alive, seen)))


async def test_a_crash_is_told_with_its_last_words_and_three_leave_it_off_until_a_person_restarts_it(
    workspace: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "e", "prog", SERVE)

    async with plug_world(workspace, tmp_path / "e") as world:
        for _ in range(3):
            with pytest.raises(ToolError, match="the process ended with code 7"):
                await world.call("die")
            await until(lambda: bool(world.host.rows()[0].problem))
        with pytest.raises(ToolError, match=r"ended with code 7 \(out of paper\); /extensions restart prog"):
            await world.call("pid")
        assert [text for _, text in world.host.publish(world.tools)] == [
            "The extension 'prog' is not there: the process ended with code 7 (out of paper)"
        ]

        assert await world.host.restart("prog") == "prog runs again."
        await world.ready()
        assert await pid_of(world) > 0
        assert any("out of paper" in line for line in world.host.log("prog"))


async def test_an_answer_between_two_crashes_makes_the_count_begin_anew(
    workspace: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "e", "prog", SERVE)

    async with plug_world(workspace, tmp_path / "e") as world:
        for _ in range(4):
            await pid_of(world)
            with pytest.raises(ToolError):
                await world.call("die")
        assert await pid_of(world) > 0


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("time.sleep(600)\n", "was not ready within 0.5 s"),
        (
            "sys.stderr.write('no licence\\n'); sys.exit(4)\n",
            "ended with code 4 before it was ready (no licence)",
        ),
        ("say(type='ready', protocol=9)\ntime.sleep(600)\n", "speaks protocol 9, this program 1"),
        ("tool('bad name')\ntime.sleep(600)\n", "letters, digits"),
        ("say(type='subscribe', events=['nothing'])\ntime.sleep(600)\n", "there is no event 'nothing'"),
    ],
)
async def test_x11_a_handshake_that_fails_is_one_sentence_and_costs_only_this_extension(
    code: str, said: str, workspace: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "e", "bad", code)
    write_extension(
        tmp_path / "e",
        "good",
        "def extend(agent):\n    agent.register_tool('t', 'T.', None, lambda a, c: 'x')\n",
    )

    async with plug_world(workspace, tmp_path / "e", pace=Pace(handshake_s=0.5)) as world:
        (notice,) = world.notices
        assert said in notice
        assert (await world.call("t")).output == "x"


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("command = [\n", "not valid TOML"),
        ("command = []\n", "command: "),
        ('command = ["perl"]\nretries = 3\n', "retries: "),
        ("", "command: is missing"),
    ],
)
async def test_a_manifest_that_cannot_be_used_says_why(
    manifest: str, said: str, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "odd.toml").write_text(manifest)

    async with plug_world(workspace, tmp_path / "e") as world:
        (notice,) = world.notices

    assert said in notice
    assert str(tmp_path / "e" / "odd.toml") in notice


@pytest.mark.parametrize("program", ["no-such-program-anywhere", "./no-such-file"])
async def test_a_program_that_is_not_there_says_so(program: str, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "odd.toml").write_text(f"command = ['{program}']\n")

    async with plug_world(workspace, tmp_path / "e") as world:
        assert world.notices == [
            f"The extension 'odd' is not there: there is no program '{program}'"
            + (" in PATH" if "/" not in program else "")
        ]


async def test_noise_costs_nothing_and_stands_in_the_log(workspace: Path, tmp_path: Path) -> None:
    noise = """
print("Loading...", flush=True)
sys.stdout.buffer.write(b"\\xff\\xfe\\x00 [1, 2] {}\\n" + b"x" * 20_000_000 + b"\\n"); sys.stdout.flush()
say(type="nothing_known")
say(type="result", id=99, content="nobody asked")
"""
    write_program(
        tmp_path / "e", "prog", noise + SERVE.replace("kind, number =", 'print("hm"); kind, number =')
    )

    async with plug_world(workspace, tmp_path / "e", pace=Pace(handshake_s=30)) as world:
        assert (await world.call("echo", text="hi")).output == "hi"
        log = "\n".join(world.host.log("prog"))

    assert "Loading..." in log
    assert "hm" in log
    assert "was not asked" in log


async def test_endless_noise_ends_the_program(workspace: Path, tmp_path: Path) -> None:
    write_program(tmp_path / "e", "prog", "while True: print('x' * 100)\n")

    async with plug_world(workspace, tmp_path / "e", pace=Pace(handshake_s=30)) as world:
        assert "wrote more than 10,000 lines that are no messages" in world.notices[0]


async def test_its_environment_has_no_keys_but_what_the_manifest_names(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("TRACKER_TOKEN", "t-1")
    code = SERVE.replace("str(os.getpid())", "json.dumps([dict(os.environ), os.getcwd()])")
    manifest = write_program(tmp_path / "e", "prog", code)
    manifest.write_text(
        manifest.read_text() + "inherit = ['TRACKER_TOKEN', 'NOT_SET']\nenv = {PLACE = 'here'}\n"
    )

    async with plug_world(workspace, tmp_path / "e") as world:
        variables, cwd = json.loads((await world.call("pid")).output)

    assert "sk-secret" not in variables.values()
    assert (variables["TRACKER_TOKEN"], variables["PLACE"]) == ("t-1", "here")
    assert variables["AGENT_TUI_CHILD"] == "1"
    assert cwd == str(tmp_path / "e")


async def test_x11_nothing_is_left_after_the_end_not_even_what_it_started(
    workspace: Path, tmp_path: Path
) -> None:
    code = SERVE.replace(
        "str(os.getpid())",
        "f\"{os.getpid()} {subprocess.Popen(['sleep', '600'], stdout=None).pid}\"",
    )
    write_program(tmp_path / "e", "prog", code)

    async with plug_world(workspace, tmp_path / "e") as world:
        pids = [int(word) for word in (await world.call("pid")).output.split()]
        assert os.getpgid(pids[0]) == pids[0] == os.getpgid(pids[1])

    await until(lambda: not any(map(alive, pids)))


async def test_x11_a_program_that_does_not_end_by_itself_is_killed_within_two_seconds(
    workspace: Path, tmp_path: Path
) -> None:
    stubborn = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SERVE.replace(
        "        break\n", "        time.sleep(600)\n"
    )
    write_program(tmp_path / "e", "prog", stubborn)

    async with plug_world(workspace, tmp_path / "e") as world:
        pid = await pid_of(world)
        leaving = asyncio.get_running_loop().time()

    assert asyncio.get_running_loop().time() - leaving < PATIENCE_S, "it would sleep ten minutes"
    await until(lambda: not alive(pid))


async def test_a_well_behaved_program_hears_the_end_of_the_session_and_shutdown(
    workspace: Path, tmp_path: Path
) -> None:
    heard = tmp_path / "heard"
    note = f'print(message["type"], message.get("event", {{}}).get("type"), file=open({str(heard)!r}, "a"))'
    code = SERVE.replace("    kind, number =", f"    {note}; kind, number =")
    write_program(tmp_path / "e", "prog", code)

    async with plug_world(workspace, tmp_path / "e") as world:
        world.host.session_started("s1")

    assert heard.read_text().splitlines() == ["event session_start", "event session_end", "shutdown None"]


async def test_what_a_restarted_program_offers_differently_does_not_change_what_the_model_sees(
    workspace: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    changing = SERVE.replace('tool("pid")', f'tool("pid" if not os.path.exists({str(mark)!r}) else "other")')
    write_program(tmp_path / "e", "prog", changing)

    async with plug_world(workspace, tmp_path / "e") as world:
        mark.touch()
        with pytest.raises(ToolError):
            await world.call("die")
        await world.call("echo", text="again")
        world.host.publish(world.tools)
        assert world.tools.owns("pid")

        await world.host.restart("prog")
        await world.ready()
        assert (world.tools.owns("pid"), world.tools.owns("other")) == (False, True)


async def test_a_round_of_calls_to_a_program_is_answered_in_request_order(
    workspace: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "e", "prog", SERVE)

    async with plug_world(workspace, tmp_path / "e") as world:
        rounds = make_world(workspace, tools=world.tools)
        batch = await rounds.run(*[call(f"c{n}", "echo", text=str(n)) for n in range(5)])

    assert [outcome(batch, f"c{n}").result.output for n in range(5)] == list("01234")


async def test_a_bug_of_ours_costs_one_extension_which_nobody_waits_for_and_a_restart_brings_back(
    workspace: Path, tmp_path: Path
) -> None:
    write_program(tmp_path / "e", "prog", SERVE)
    host = ExtensionHost(workspace)
    host.load(find_extensions(Places(user=tmp_path / "e", project=None, packages=False)))
    plug = host._joined["prog"].plug
    assert isinstance(plug, ProcessPlug)
    launch, plug._launch = plug._launch, _broken
    host.start()
    try:
        async with asyncio.timeout(PATIENCE_S):
            await host.settled()
        fallen = plug.state, plug.problem
        plug._launch = launch
        async with asyncio.timeout(PATIENCE_S):
            said = await host.restart("prog")

        assert fallen == ("off", "RuntimeError: a bug")
        assert said == "prog runs again."
    finally:
        await host.aclose()


def _broken() -> Launch:
    raise RuntimeError("a bug")
