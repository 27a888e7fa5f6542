from pathlib import Path

import pytest

from agent_tui.extensions.agents import load_agents
from agent_tui.extensions.places import Folder, folders

TOOLS = ["read", "grep", "list", "edit", "bash", "webfetch"]


def write(folder: Path, name: str, head: str, body: str = "You do it.") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(f"---\n{head}\n---\n{body}\n")
    return path


def test_agent_is_read_with_tools_in_our_spelling(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "reviewer",
        "name: reviewer\ndescription: Reviews.\ntools: Read, Grep, LS, Bash(git diff *), WebFetch\nmodel: small-1",
    )

    (agent,), faults = load_agents([Folder(tmp_path, "user")], TOOLS)

    assert faults == ()
    assert (agent.name, agent.description, agent.prompt) == ("reviewer", "Reviews.", "You do it.")
    assert agent.tools == ("read", "grep", "list", "bash", "webfetch")
    assert (agent.model, agent.path) == ("small-1", path)


@pytest.mark.parametrize(
    ("line", "tools"),
    [("", None), ("tools: '*'", None), ("tools:", ()), ("tools: [Edit, read]", ("edit", "read"))],
)
def test_agent_without_a_list_has_all_tools_and_with_an_empty_one_none(
    tmp_path: Path, line: str, tools: tuple[str, ...] | None
) -> None:
    write(tmp_path, "x", f"description: X.\n{line}")

    (agent,), _ = load_agents([Folder(tmp_path, "user")], TOOLS)

    assert (agent.name, agent.tools) == ("x", tools)


@pytest.mark.parametrize("model", ["inherit", "sonnet", "Opus", ""])
def test_model_that_names_none_of_ours_is_the_main_one(tmp_path: Path, model: str) -> None:
    write(tmp_path, "x", f"description: X.\nmodel: {model}")

    (agent,), _ = load_agents([Folder(tmp_path, "user")], TOOLS)

    assert agent.model == ""


def test_bad_agents_are_named_with_file_and_line_and_the_good_one_is_there(tmp_path: Path) -> None:
    write(tmp_path, "a", "name: Bad Name\ndescription: A.")
    write(tmp_path, "b", "name: b")
    write(tmp_path, "c", "description: C.", body="")
    write(tmp_path, "d", "description: D.\ntools: Read, Teleport")
    (tmp_path / "e.md").write_text("no head")
    (tmp_path / "notes.txt").write_text("not an agent")

    agents, faults = load_agents([Folder(tmp_path, "user")], TOOLS)

    assert [agent.name for agent in agents] == ["d"]
    assert [(fault.path.stem, fault.line) for fault in faults] == [
        ("a", 2),
        ("b", 1),
        ("c", 0),
        ("d", 3),
        ("e", 1),
    ]
    assert faults[3].reason == "no such tool: Teleport"


def test_agents_of_a_project_count_only_when_it_is_trusted(tmp_path: Path) -> None:
    workspace, home = tmp_path / "ws", tmp_path / "home"
    workspace.mkdir()
    write(workspace / ".agents" / "agents", "theirs", "description: T.")
    write(home / ".config" / "agents", "mine", "description: M.")

    found = {
        trusted: [
            agent.name
            for agent in load_agents(
                folders("agents", workspace=workspace, home=home, config=home / ".config", project=trusted),
                TOOLS,
            )[0]
        ]
        for trusted in (False, True)
    }

    assert found == {False: ["mine"], True: ["theirs", "mine"]}


def test_nearest_of_two_agents_with_one_name_counts(tmp_path: Path) -> None:
    write(tmp_path / "near", "x", "description: near")
    write(tmp_path / "far", "x", "description: far")

    agents, _ = load_agents([Folder(tmp_path / "near", "project"), Folder(tmp_path / "far", "user")], TOOLS)

    assert [agent.description for agent in agents] == ["near"]
