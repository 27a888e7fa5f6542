from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_tui.conversation.core import Core
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.providers.scripted import ScriptedProvider, calls, text, use
from agent_tui.run.assembly import assemble
from agent_tui.run.options import RunOptions


class Nobody:
    async def review(self, requests: object) -> dict[str, object]:
        return {}


@pytest.fixture
async def core(workspace: Path) -> AsyncIterator[Core]:
    made = await assemble(RunOptions(provider="offline"), workspace, with_screen=True)

    async def sink(_event: object) -> None:
        return None

    made.bind(sink=sink, approver=Nobody(), ask=None)
    yield made
    await made.aclose()


async def read(core: Core, path: Path) -> str:
    core.agent.provider = ScriptedProvider([calls(use("read", {"file_path": str(path)})), text("done")])
    await core.run_turn("look")
    return core.agent.provider.requests[1].messages[-1].content[0].content


async def test_a_rule_kept_by_hand_counts_and_reset_takes_it_back(core: Core) -> None:
    said = await core.house.keeping.add_rule("deny", "Bash(rm *)", "session")

    assert "this session" in said
    assert any(rule.text == "Bash(rm *)" and rule.decision == "deny" for rule in core.rules())
    assert core.house.keeping.forget_session_rules().startswith("1 grant ")
    assert not any(rule.text == "Bash(rm *)" for rule in core.rules())


async def test_what_is_no_rule_is_refused(core: Core) -> None:
    with pytest.raises(AgentTuiError, match="no rule"):
        await core.house.keeping.add_rule("allow", "Bash(", "session")


async def test_an_added_folder_can_be_read_without_asking(core: Core, tmp_path: Path) -> None:
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "note.txt").write_text("petals\n")
    assert "petals" not in await read(core, folder / "note.txt")

    said = await core.house.keeping.add_folder(str(folder))

    assert str(folder) in said
    assert "petals" in await read(core, folder / "note.txt")
    assert core.house.keeping.folders() == [str(core.workspace), str(folder)]
    assert "counts already" in await core.house.keeping.add_folder(str(folder))


@pytest.mark.parametrize("given", ["/", "~", "nowhere", "file.txt", "own"])
async def test_a_folder_that_is_too_much_or_none_is_refused(core: Core, given: str) -> None:
    (core.workspace / "file.txt").write_text("x")
    path = str(Path.home() / ".config") if given == "own" else given
    Path(Path.home() / ".config" / "agent-tui").mkdir(parents=True, exist_ok=True)

    with pytest.raises(AgentTuiError):
        await core.house.keeping.add_folder(path)
    assert core.house.keeping.folders() == [str(core.workspace)]


async def test_commands_run_in_the_folder_that_was_chosen(core: Core, tmp_path: Path) -> None:
    (core.workspace / "src").mkdir()
    (tmp_path / "outside").mkdir()
    keeping = core.house.keeping

    assert str(core.workspace / "src") in await keeping.change_folder("src")
    assert await keeping.change_folder("") == f"Commands run in {core.workspace / 'src'}."
    with pytest.raises(AgentTuiError, match="/add-dir"):
        await keeping.change_folder(str(tmp_path / "outside"))


async def test_keys_are_kept_and_forgotten_and_never_listed(core: Core) -> None:
    keeping = core.house.keeping

    said = await keeping.store_key("openai", "sk-secret")
    views = {view.provider: view for view in await keeping.keys()}

    assert "sk-secret" not in said
    assert views["openai"].source
    assert "sk-secret" not in repr(views)
    await keeping.forget_key("openai")
    assert not {view.provider: view for view in await keeping.keys()}["openai"].source
    with pytest.raises(AgentTuiError, match="no provider"):
        await keeping.store_key("nobody", "x")
