import asyncio
from pathlib import Path

from agent_tui.ui.house import JobLine, TrustLine, TrustView
from agent_tui.ui.screens.picker import Picker
from agent_tui.ui.screens.trust import TrustScreen
from agent_tui.ui.screens.viewer import Viewer
from tests.support.fake_backend import FakeBackend, say
from tests.support.screens import stage

TOOL = TrustLine("tool", "deploy.py", "code of 300 bytes", ".agent-tui/tools/deploy.py")
HIDDEN = TrustLine("setting", "model.base_url", "https://evil.example/\u202ez", ".agent-tui/config.toml")


def untrusted(workspace: Path, **more: object) -> FakeBackend:
    backend = FakeBackend(workspace)
    backend.house.trust_view = TrustView(lines=(TOOL, HIDDEN), digest="d1", **more)
    return backend


async def test_an_untrusted_project_is_asked_about_once_after_the_start_with_no_as_default(
    workspace: Path,
) -> None:
    async with stage(workspace, backend=untrusted(workspace)) as here:
        await here.until(lambda: isinstance(here.app.screen, TrustScreen))
        await here.pilot.pause()
        picture = here.picture()
        assert "deploy.py" in picture
        assert "code of 300 bytes" in picture
        assert "\u202e" not in picture
        assert "evil.example" in picture
        await here.press("y")
        assert isinstance(here.app.screen, TrustScreen)
        await here.press("enter")
        await here.until(lambda: not here.app.in_dialog)
        assert here.backend.house.calls == []
        assert "This project's configuration is left out." in here.notices


async def test_accepting_trust_passes_the_digest_of_what_was_shown(workspace: Path) -> None:
    async with stage(workspace, backend=untrusted(workspace)) as here:
        await here.until(lambda: isinstance(here.app.screen, TrustScreen))
        await here.press("down", "enter")
        await here.until(lambda: not here.app.in_dialog)
        assert here.backend.house.calls == [("accept_trust", "d1")]


async def test_changed_configuration_shows_what_changed(workspace: Path) -> None:
    diff = "--- a/.mcp.json\n+++ b/.mcp.json\n@@ -1 +1 @@\n-old server\n+new server\n"
    async with stage(workspace, backend=untrusted(workspace, changed=True, diff=diff)) as here:
        await here.until(lambda: isinstance(here.app.screen, TrustScreen))
        await here.pilot.pause()
        picture = here.picture()
        assert "changed since you trusted it" in picture
        assert "new server" in picture
        await here.press("escape")


async def test_a_trusted_project_asks_nothing_and_can_be_revoked(workspace: Path) -> None:
    backend = untrusted(workspace, accepted=True)
    async with stage(workspace, backend=backend) as here:
        await here.send("/trust")
        await here.until(lambda: any("deploy.py" in text for text in here.notices))
        await here.send("/trust revoke")
        await here.until(lambda: "Not any more." in here.notices)
        assert not here.app.in_dialog


async def test_tasks_shows_a_job_with_its_last_lines_and_ends_it(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.house.job_lines = [JobLine("job-1", "npm run dev", "running", True, "listening on 3000")]
    async with stage(workspace, backend=backend) as here:
        await here.send("/tasks")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("enter")
        await here.until(lambda: isinstance(here.app.screen, Viewer))
        await here.pilot.pause()
        assert "listening on 3000" in here.picture()
        await here.press("escape")
        await here.until(lambda: isinstance(here.app.screen, Picker))
        await here.press("down", "enter")
        await here.until(lambda: "job-1 was ended." in here.notices)
        assert backend.house.calls == [("end_job", "job-1")]


async def test_a_shell_line_runs_without_a_turn_and_shows_its_output(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("!ls -l")
        await here.send("!!env")
        await here.until(lambda: len(here.backend.house.calls) == 2)
        await here.settle()
        assert here.backend.house.calls == [("run_shell", "ls -l", False), ("run_shell", "env", True)]
        assert here.backend.prompts == []
        assert [kind for kind, _ in here.shown] == ["tool", "tool"]
        assert not here.app.activity.display


async def test_escape_ends_a_running_shell_line(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    backend.house.gate = asyncio.Event()
    async with stage(workspace, backend=backend) as here:
        await here.send("!sleep 100")
        await here.until(lambda: here.app.activity.display)
        await here.press("escape")
        await here.until(lambda: not here.app.activity.display)
        assert not here.app.prompt.text


async def test_ctrl_b_says_whether_a_command_went_to_the_background(workspace: Path) -> None:
    backend = FakeBackend(workspace)
    async with stage(workspace, backend=backend) as here:
        await here.press("ctrl+b")
        assert "No command is running" in here.picture()
        backend.house.foreground = True
        await here.press("ctrl+b")
        assert "/tasks lists it" in here.picture()


async def test_copy_gives_the_source_of_a_reply(workspace: Path) -> None:
    backend = FakeBackend(workspace, script=[[say("**one**")], [say("two")]])
    async with stage(workspace, backend=backend) as here:
        for prompt in ("a", "b"):
            await here.send(prompt)
            await here.idle()
        await here.send("/copy 2")
        await here.until(lambda: here.app.clipboard == "**one**")
        await here.send("/copy 3")
        await here.until(lambda: "! There are 2 replies in this session." in here.notices)
        await here.send("/copy x")
        await here.until(lambda: any("Write /copy" in text for text in here.notices))


async def test_lists_show_what_there_is_with_its_problems(workspace: Path) -> None:
    async with stage(workspace) as here:
        for command in ("/skills", "/agents", "/memory", "/doctor"):
            await here.send(command)
        await here.until(lambda: len(here.notices) == 4)
        said = "\n".join(here.notices)
        assert "one  The first. With more." in said
        assert "! /x/two: has no name" in said
        assert "/init writes AGENTS.md" in said
        assert "✓ python" in said


async def test_init_sends_a_prompt_that_writes_agents_md(workspace: Path) -> None:
    async with stage(workspace) as here:
        await here.send("/init say it in German")
        await here.until(lambda: here.backend.prompts)
        assert here.backend.prompts[0].startswith("Write AGENTS.md")
        assert here.backend.prompts[0].endswith("Also: say it in German")
