from pathlib import Path

import pytest

from agent_tui.extensions.command_text import Piece, joined, pieces
from agent_tui.extensions.commands import CommandFile, CommandLibrary, FoundCommands
from agent_tui.extensions.places import Folder, folders


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def find(folder: Path, *, origin: str = "user", counts: bool = True) -> FoundCommands:
    return CommandLibrary([Folder(folder, origin, folder)], project_counts=lambda: counts).find()


def test_a_command_is_read_with_its_head(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "fix.md",
        "---\ndescription: Fix: an issue\nargument-hint: NUMBER\n"
        "allowed-tools: Bash(git add:*), Edit(src/**) Read\nmodel: openai:gpt-5\n---\nFix $1.\n",
    )

    assert find(tmp_path) == FoundCommands(
        (
            CommandFile(
                name="fix",
                description="Fix: an issue",
                path=path,
                origin="user",
                body="Fix $1.",
                argument_hint="NUMBER",
                allowed_tools=("Bash(git add:*)", "Edit(src/**)", "Read"),
                rules_line=4,
                model="openai:gpt-5",
            ),
        ),
        (),
    )


def test_a_file_without_a_head_is_a_command_and_its_first_line_describes_it(tmp_path: Path) -> None:
    put(tmp_path, "Review.md", "# Look at the change\n\nBe kind.\n")
    put(tmp_path, "front/end/page.md", "Make a page.")

    first, second = find(tmp_path).commands

    assert (first.name, first.description) == ("review", "Look at the change")
    assert second.name == "front:end:page"


@pytest.mark.parametrize("model", ["inherit", "sonnet", "Haiku", ""])
def test_names_of_other_agents_models_mean_the_one_in_use(tmp_path: Path, model: str) -> None:
    put(tmp_path, "a.md", f"---\nmodel: {model}\n---\nx\n")

    assert find(tmp_path).commands[0].model == ""


def test_ag_01_a_command_that_cannot_be_used_costs_only_itself_and_is_named(tmp_path: Path) -> None:
    bad = {
        "closed.md": "---\ndescription: x\n",
        "empty.md": "",
        "head.md": "---\ndescription: x\n---\n\n",
        "latin.md": "",
        "spaced name.md": "text",
        "many.md": "!`x` " * 21,
    }
    for name, content in bad.items():
        put(tmp_path, name, content)
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    put(tmp_path, "lenient.md", '---\ndescription: "a" or "b"\nwhat: x\nnonsense\n---\nText')
    put(tmp_path, "good.md", "\ufeff---\r\ndescription: Tool pack: it routes\r\n---\r\nText\r\n")

    found = find(tmp_path)

    assert {c.name: c.description for c in found.commands} == {
        "good": "Tool pack: it routes",
        "lenient": '"a" or "b"',
    }
    assert {fault.path.name for fault in found.faults} == {*bad, "lenient.md"}
    assert "lenient.md:3: the key 'what' means nothing here" in " ".join(map(str, found.faults))
    assert all(str(fault).startswith(str(tmp_path)) for fault in found.faults)


def test_a_project_command_cannot_lead_out_of_the_project(tmp_path: Path) -> None:
    outside = put(tmp_path, "outside.md", "secret")
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "a.md").symlink_to(outside)
    (inside / "b.md").symlink_to(tmp_path / "nowhere")

    found = find(inside, origin="project")

    assert found.commands == ()
    assert [fault.reason for fault in found.faults] == ["leads out of the project", "leads nowhere"]


def test_h53_places_are_searched_up_to_the_git_root_then_the_persons(tmp_path: Path) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    workspace = root / "app"
    workspace.mkdir(parents=True)
    (root / ".git").mkdir()
    put(workspace, ".claude/commands/near.md", "near")
    put(root, ".agents/commands/far.md", "far")
    put(root, ".agent-tui/commands/middle.md", "middle")
    put(tmp_path, ".agents/commands/above.md", "above")
    put(home, ".config/agent-tui/commands/mine.md", "mine")
    put(home, ".agents/commands/shared.md", "shared")
    config = home / ".config/agent-tui"

    def names(counts: bool) -> list[str]:
        places = folders("commands", workspace=workspace, home=home, config=config)
        library = CommandLibrary(places, project_counts=lambda: counts)
        return [command.name for command in library.find().commands]

    assert names(True) == ["near", "far", "middle", "mine", "shared"]
    assert names(False) == ["mine", "shared"]


@pytest.mark.parametrize(
    ("body", "arguments", "expected"),
    [
        ("Fix $1 in $2.", "12 'two words'", "Fix 12 in two words."),
        ("All: $ARGUMENTS", "a  b", "All: a  b"),
        ("$1 and $3.", "one", "one and ."),
        ("$10", "1 2 3 4 5 6 7 8 9 ten", "ten"),
        ("no place", "left over", "no place\n\nArguments: left over"),
        ("no place", "", "no place"),
        ("$1", "it's", "it's"),
        ("$ARGUMENTS", "$1 and $ARGUMENTS", "$1 and $ARGUMENTS"),
        ("costs $0 and $HOME", "", "costs $0 and $HOME"),
    ],
)
def test_arguments_are_put_in_once(body: str, arguments: str, expected: str) -> None:
    assert joined(pieces(body, arguments), []) == expected


def test_shell_lines_are_those_of_the_file_alone() -> None:
    parts = pieces("Now: !`git log $1` and !`date`, not \\!`no`, a!`no`, !`two\nlines`", "-3 !`evil`")

    assert [part for part in parts if part.is_shell] == [
        Piece("git log -3", is_shell=True),
        Piece("date", is_shell=True),
    ]
    assert joined(parts, ["one\n", "!`x` $1"]).startswith("Now: one and !`x` $1, not")


def test_arguments_that_look_like_shell_lines_stay_text() -> None:
    parts = pieces("Say $ARGUMENTS", "!`touch evil`")

    assert parts == [Piece("Say !`touch evil`")]
