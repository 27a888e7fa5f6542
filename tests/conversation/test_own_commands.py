import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_tui.headless.approver import NobodyApprover
from agent_tui.protocol.events import Event, Notice, ToolStarted, TurnCancelled, TurnFailed, TurnStarted
from agent_tui.providers.scripted import ScriptedProvider, calls, text, use
from agent_tui.toolkit.testing import ScriptedApprover
from tests.support.core_world import audit, config_folder, configure, open_core


def command(workspace: Path, name: str, body: str, *, folder: str = ".agents/commands") -> None:
    path = workspace / folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(body)


def mine(name: str, body: str) -> None:
    command(config_folder(), name, body, folder="commands")


async def test_a_command_becomes_the_prompt_and_the_person_sees_what_was_typed(workspace: Path) -> None:
    (workspace / "a.txt").write_text("the file\n")
    mine("fix", "---\nallowed-tools: Bash(echo *)\n---\nFix $1: !`echo @a.txt` $ARGUMENTS\n")
    async with open_core(workspace, text("done")) as world:
        result = await world.core.run_prompt("/fix 12 now")

        assert result.stop_reason == "end_turn"
        assert world.words().endswith("Fix 12: @a.txt 12 now")
        assert "the file" not in world.words()
        assert [event.prompt for event in world.of(TurnStarted)] == ["/fix 12 now"]


async def test_what_the_text_points_at_goes_along_by_the_same_rules(workspace: Path) -> None:
    (workspace / "a.txt").write_text("the file\n")
    (workspace / ".env").write_text("KEY=hidden\n")
    mine("see", "Look at @a.txt and $1.\n")
    async with open_core(workspace, text("done")) as world:
        await world.core.run_prompt("/see @.env")

        assert "the file" in world.words()
        assert "hidden" not in world.words()
        assert any("@.env. was not attached" in notice for notice in world.notices)


async def test_shell_lines_ask_once_like_the_models_calls_and_nothing_ran_before(workspace: Path) -> None:
    mine("two", "!`touch a` and !`touch b`")
    before: list[bool] = []
    approver = ScriptedApprover(before=lambda _: before.append(any(workspace.iterdir())))
    async with open_core(workspace, text("done"), approver=approver) as world:
        await world.core.run_prompt("/two")

        assert len(world.approver.asked) == 1
        assert before == [False]
        assert [request.title for request in world.approver.requests] == ["touch a", "touch b"]
        assert {request.origin for request in world.approver.requests} == {"/two"}
        assert [line["who"] for line in audit()] == ["person", "person"]
        assert world.words().endswith("and")


async def test_a_denied_shell_line_sends_nothing(workspace: Path) -> None:
    mine("push", "Done: !`git push --force`")
    settings = '[permissions]\ndeny = ["Bash(git push *)"]\n'
    configure(settings)
    async with open_core(workspace) as world:
        result = await world.core.run_prompt("/push")

        assert (result.stop_reason, world.provider.requests) == ("failed", [])
        (problem,) = world.failures
        assert problem.startswith("/push was not sent: `git push --force` did not run. Permission denied")


async def test_a_failing_shell_line_is_told_with_its_exit_code(workspace: Path) -> None:
    mine("try", "---\nallowed-tools: Bash(ls *)\n---\nSee: !`ls missing`")
    async with open_core(workspace, text("done")) as world:
        await world.core.run_prompt("/try")

        assert "exit code: 2" in world.words()


async def test_allowed_tools_hold_for_the_turn_of_the_command_only(workspace: Path) -> None:
    mine("note", "---\nallowed-tools: Write(notes.md)\n---\nWrite it down.")
    write = calls(use("write", {"file_path": "notes.md", "content": "x"}, call_id="c0"))
    again = calls(use("write", {"file_path": "other.md", "content": "x"}, call_id="c1"))
    approver = ScriptedApprover(deny=["c1"])
    async with open_core(workspace, write, again, text("a"), again, text("b"), approver=approver) as world:
        await world.core.run_prompt("/note")
        assert world.approver.asked == [["c1"]]
        assert audit()[0]["rule"].startswith("allow Write(notes.md) (")

        await world.core.run_prompt("go on")
        assert len(world.approver.asked) == 2


async def test_rules_of_a_project_command_never_reach_what_is_high(workspace: Path) -> None:
    command(workspace, "clean", "---\nallowed-tools: Bash(*), Edit(**)\n---\nClean: !`rm -rf .`")
    async with open_core(workspace, trust=True) as world:
        world.core.bind(sink=world.core._desk.sink, approver=NobodyApprover(), ask=None)
        result = await world.core.run_prompt("/clean")

        assert result.stop_reason == "failed"
        assert (workspace / ".agents").is_dir()


async def test_h_p1_commands_of_a_project_count_only_once_it_is_trusted_as_it_is(workspace: Path) -> None:
    command(workspace, "go", "---\nallowed-tools: Bash(touch *)\n---\nGo !`touch ran`")
    async with open_core(workspace, text("hm")) as world:
        assert await world.core.own.all() == []
        await world.core.run_prompt("/go")
        assert world.words().endswith("/go")

    async with open_core(workspace, text("done"), text("hm"), trust=True) as world:
        assert [own.name for own in await world.core.own.all()] == ["go"]
        await world.core.run_prompt("/go")
        assert (workspace / "ran").exists()

        command(workspace, "go", "---\nallowed-tools: Bash(touch *)\n---\nGo !`touch worse`")
        assert await world.core.own.all() == []
        await world.core.own.run("go", "there")
        (failed,) = world.of(TurnFailed)
        assert failed.error.startswith("/go there was not sent: there is no command /go any more")
        assert failed.returned == "/go there"
    assert not (workspace / "worse").exists()


async def test_skills_are_called_by_their_name_and_bring_their_rules(workspace: Path) -> None:
    skill = "---\nname: notes\ndescription: Notes.\nallowed-tools: Bash(touch *)\n---\nWrite $ARGUMENTS.\n"
    command(config_folder(), "SKILL", skill, folder="skills/notes")
    touch = calls(use("bash", {"command": "touch made"}))
    async with open_core(workspace, touch, text("done")) as world:
        await world.core.run_prompt("/notes v1.2")

        assert "Write v1.2." in world.words(0)
        assert world.approver.asked == []
        assert [(own.name, own.source) for own in await world.core.own.all()] == [("notes", "skill of yours")]


async def test_one_name_twice_is_told_apart_by_where_it_comes_from(workspace: Path) -> None:
    command(workspace, "fix", "of the project", folder=".claude/commands")
    mine("fix", "mine")
    async with open_core(workspace, text("a"), text("b"), text("c"), trust=True) as world:
        found = {own.name: own.source for own in await world.core.own.all()}
        assert found == {"fix": "project", "user:fix": "yours"}
        for line, words in (
            ("/fix", "of the project"),
            ("/project:fix", "of the project"),
            ("/user:fix", "mine"),
        ):
            await world.core.run_prompt(line)
            assert world.words().endswith(words)


@pytest.mark.parametrize("line", ["/etc/hosts is what?", "/unknown", "fix /fix"])
async def test_what_names_no_command_goes_to_the_model_as_it_is(workspace: Path, line: str) -> None:
    mine("fix", "mine")
    async with open_core(workspace, text("a")) as world:
        await world.core.run_prompt(line)

        assert world.words().endswith(line)


async def test_two_slashes_send_the_text_with_one(workspace: Path) -> None:
    mine("fix", "mine")
    async with open_core(workspace, text("a")) as world:
        await world.core.run_prompt("//fix x")

        assert world.words().endswith("\n/fix x")


async def test_a_command_names_the_model_of_its_turn(workspace: Path) -> None:
    mine("ask", "---\nmodel: offline:offline\n---\nhelp\n")
    async with open_core(workspace, text("scripted")) as world:
        await world.core.run_prompt("/ask")
        assert world.provider.requests == []

        await world.core.run_prompt("and you?")
        assert len(world.provider.requests) == 1


async def test_a_command_whose_model_cannot_be_had_says_so(workspace: Path) -> None:
    mine("ask", "---\nmodel: anthropic:claude-x\n---\nhelp\n")
    async with open_core(workspace, text("scripted")) as world:
        result = await world.core.run_prompt("/ask")

        assert result.stop_reason == "failed"
        assert "ANTHROPIC_API_KEY" in world.failures[0]
        assert world.core.agent.provider is world.provider


async def test_stopping_ends_the_shell_lines_and_sends_nothing(workspace: Path) -> None:
    mine("slow", "---\nallowed-tools: Bash(sleep *)\n---\nNow !`sleep 300`")
    async with open_core(workspace) as world:

        async def stop_when_it_runs(event: Event) -> None:
            world.events.append(event)
            if isinstance(event, ToolStarted):
                world.core.cancel_turn()

        world.core.bind(sink=stop_when_it_runs, approver=world.approver, ask=None)
        result = await world.core.run_prompt("/slow")

        assert result.stop_reason == "cancelled"
        assert len(world.of(TurnCancelled)) == 1
        assert [event.returned for event in world.of(Notice) if event.returned] == ["/slow"]


async def test_hooks_look_at_the_shell_lines_and_at_the_whole_prompt(workspace: Path) -> None:
    mine("go", "Go: !`echo hi`")
    configure('[[hooks.pre_tool]]\ncommand = "echo not now >&2; exit 2"\ntimeout_s = 60\n')
    async with open_core(workspace) as world:
        await world.core.run_prompt("/go")
        assert "Blocked by a hook: not now" in world.failures[0]
        assert [event.returned for event in world.of(TurnFailed)] == ["/go"]

    configure('[[hooks.user_prompt]]\ncommand = "echo not now >&2; exit 2"\ntimeout_s = 60\n')
    async with open_core(workspace) as world:
        await world.core.run_prompt("/go")
        assert "blocked by a hook: not now" in world.failures[0]
        assert [event.returned for event in world.of(TurnFailed)] == ["/go"]

    configure('[[hooks.user_prompt]]\ncommand = "cat > told"\ntimeout_s = 60\n')
    mine("go", "Go there.")
    async with open_core(workspace, text("x")) as world:
        await world.core.run_prompt("/go")
        assert '"prompt": "Go there."' in (workspace / "told").read_text()


async def test_a_rule_with_an_unclosed_bracket_lends_nothing(workspace: Path) -> None:
    mine("fix", "---\nallowed-tools: Bash(git add *\n---\nFix it.")
    rm = calls(use("bash", {"command": "rm a"}, call_id="c0"))
    async with open_core(workspace, rm, text("done"), approver=ScriptedApprover(deny=["c0"])) as world:
        await world.core.run_prompt("/fix")

        assert world.approver.asked == [["c0"]]
        (problem,) = await world.core.own.problems()
        assert "fix.md:2: allowed-tools: 'Bash(git add *' is not `Tool` or `Tool(specifier)`" in problem


async def test_what_is_wrong_with_commands_is_listed(workspace: Path) -> None:
    mine("bad", "---\nallowed-tools: Bash( )\n---\ntext")
    mine("empty", "")
    async with open_core(workspace) as world:
        first, second = sorted(await world.core.own.problems())

        assert "bad.md:2: allowed-tools: 'Bash( )': empty brackets" in first
        assert "empty.md: the file is empty" in second


STAGES = ["looked up", "checked", "connected"]


@pytest.mark.parametrize("stage", STAGES)
async def test_a_command_that_is_stopped_before_its_turn_sends_nothing_and_is_given_back(
    workspace: Path, stage: str
) -> None:
    command(workspace, "see", "---\nmodel: other\n---\nLook at $1.\n")
    async with open_core(workspace, trust=True) as world:
        own, provider = world.core.own, world.core.agent.provider
        loop = asyncio.get_running_loop()

        def stopping(work: Callable[..., object]) -> Callable[..., object]:
            def run(*args: object) -> object:
                found = work(*args)
                asyncio.run_coroutine_threadsafe(stop(), loop).result()
                return found

            return run

        async def stop() -> None:
            world.core.cancel_turn()

        parts = dict(zip(STAGES, ["_find", "_counts", "_connect"], strict=True))
        own._connect = lambda _name: ScriptedProvider([text("never")])
        setattr(own, parts[stage], stopping(getattr(own, parts[stage])))
        result = await own.run("see", "this")

        assert result.stop_reason == "cancelled"
        assert [event.returned for event in world.of(Notice) if event.returned] == ["/see this"]
        assert len(world.of(TurnCancelled)) == 1
        assert world.core.agent.history == ()
        assert world.core.agent.provider is provider


async def test_a_prompt_that_is_stopped_while_it_is_looked_up_is_not_sent(workspace: Path) -> None:
    async with open_core(workspace, text("never")) as world:
        find = world.core.own._find
        loop = asyncio.get_running_loop()

        async def stop() -> None:
            world.core.cancel_turn()

        def stopped() -> object:
            asyncio.run_coroutine_threadsafe(stop(), loop).result()
            return find()

        world.core.own._find = stopped
        result = await world.core.run_prompt("/odd")

        assert result.stop_reason == "cancelled"
        assert [event.returned for event in world.of(Notice) if event.returned] == ["/odd"]
        assert world.provider.requests == []


async def test_a_stop_before_a_turn_has_no_effect_on_the_next_one(workspace: Path) -> None:
    async with open_core(workspace, text("done")) as world:
        world.core.cancel_turn()

        assert (await world.core.run_prompt("hello")).stop_reason == "end_turn"


async def test_a_command_that_there_is_not_is_named_with_what_may_be_meant(workspace: Path) -> None:
    mine("notes", "Write $1.\n")
    async with open_core(workspace) as world:
        own = world.core.own

        assert await own.unknown("/NOTES x") == await own.unknown("//note") == await own.unknown("note") == ""
        assert await own.unknown("/note x") == (
            "There is no command /note; did you mean '/notes'? To send it as text, begin with two slashes."
        )
        assert await own.unknown("/model", others=["model"]) == ""
        for line in ("/Theme nord", "/allowed-tools"):
            assert "belongs to the screen: agent-tui opened in a terminal has it" in await own.unknown(line)
