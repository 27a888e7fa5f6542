import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.agent.prompt import system_prompt
from agent_tui.extensions.front_matter import Unreadable, read_document
from agent_tui.extensions.places import Folder, folders
from agent_tui.extensions.skills import MAX_BODY_CHARS, SkillLibrary
from agent_tui.protocol.errors import ToolError


class Place:
    """A git project inside a home, with a directory to work in two levels below its root."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.config = self.home / ".config" / "agent-tui"
        self.project = self.home / "project"
        self.workspace = self.project / "packages" / "web"
        self.workspace.mkdir(parents=True)
        (self.project / ".git").mkdir()

    def library(self) -> SkillLibrary:
        return SkillLibrary(folders("skills", workspace=self.workspace, home=self.home, config=self.config))

    def skill(self, folder: Path, name: str, text: str | bytes | None = None) -> Path:
        path = folder / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            text = f"---\nname: {name}\ndescription: Does {name}.\n---\nBody of {name}\n"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def names(library: SkillLibrary) -> list[str]:
    return [skill.name for skill in library.all()]


def faults(library: SkillLibrary) -> list[tuple[str, int, str]]:
    return [(fault.path.parent.name, fault.line, fault.reason) for fault in library.find().faults]


def test_ag_01_one_bad_skill_costs_only_itself_and_every_fault_is_named(place: Place) -> None:
    folder = place.workspace / ".agents" / "skills"
    place.skill(folder, "a", "---\nname: a\ndescription: Tool pack: it routes\n---\nBody")
    place.skill(folder, "b", '---\nname: b\ndescription: B.\nargument-hint: "x" or "y"\n---\nBody')
    place.skill(folder, "c")
    place.skill(folder, "d", "Just text.\n")
    place.skill(folder, "e", "")
    place.skill(folder, "f", b"\xef\xbb\xbf---\r\nname: f\r\ndescription: F.\r\n---\r\nBody\r\n")
    place.skill(folder, "g", "---\nname: g\ndescription: G.\nBody without an end\n")
    library = place.library()

    assert names(library) == ["a", "b", "c", "f"]
    assert library.all()[0].description == "Tool pack: it routes"
    assert faults(library) == [
        ("b", 4, "there is text after a quoted value; quote all of it"),
        ("d", 1, "there is no front matter: the first line must be ---"),
        ("e", 0, "the file is empty"),
        ("g", 1, "the front matter is never closed: a second --- is missing"),
    ]
    assert str(library.find().faults[0]).startswith(f"{folder}/b/SKILL.md:4: ")


@pytest.mark.parametrize(
    "where", ["project/.agents", "project/.claude", "project/.agent-tui", ".config/agent-tui"]
)
@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("---\nname: odd\ndescription: 'it's\n---\n", 3, "text after a quoted value"),
        ("---\nname: odd\n\tdescription: x\n---\n", 2, "lower-case words"),
        ("\n---\nname: odd\ndescription: x\n---\n", 1, "the first line must be ---"),
    ],
)
def test_ag_01_a_faulty_skill_is_named_wherever_it_lies(
    place: Place, where: str, text: str, line: int, reason: str
) -> None:
    folder = place.home / where / "skills"
    place.skill(folder, "odd", text)
    place.skill(folder, "good")
    library = place.library()

    [(name, at, why)] = faults(library)

    assert (name, at) == ("odd", line)
    assert reason in why
    assert "good" in names(library)


@pytest.mark.parametrize(
    ("head", "line", "reason"),
    [
        ("name: Not-Kebab\ndescription: x", 2, "must be lower-case words joined by -"),
        ("name: a/../b\ndescription: x", 2, "must be lower-case words"),
        ("description: x\nname: ../../etc", 3, "must be lower-case words"),
        ("name: fine", 1, "the description is missing"),
        ("name: fine\ndescription:   ", 3, "the description is missing"),
    ],
)
def test_a98_skill_that_lacks_what_it_must_have_is_left_out(
    place: Place, head: str, line: int, reason: str
) -> None:
    place.skill(place.workspace / ".claude" / "skills", "odd", f"---\n{head}\n---\nBody")

    [(_, where, why)] = faults(place.library())

    assert names(place.library()) == []
    assert where == line
    assert reason in why


def test_a98_skills_of_all_three_families_and_of_the_user_are_found(place: Place) -> None:
    for family in (".agents", ".agent-tui", ".claude"):
        place.skill(place.workspace / family / "skills", f"in{family.replace('.', '-').replace('--', '-')}")
    place.skill(place.config / "skills", "mine")
    place.skill(place.home / ".agents" / "skills", "home")

    assert names(place.library()) == ["in-agents", "in-agent-tui", "in-claude", "mine", "home"]


def test_a98_new_skill_is_there_without_a_restart(place: Place) -> None:
    library = place.library()
    before = names(library)
    path = place.skill(place.workspace / ".agents" / "skills", "late")
    first = library.load("late", "")
    path.write_text("---\nname: late\ndescription: New.\n---\nAnother body, longer\n")

    assert before == []
    assert "Body of late" in first
    assert "Another body" in library.load("late", "")


def test_h53_item_72_nearest_folder_wins_up_to_the_git_root(place: Place) -> None:
    for level, words in [
        (place.home, "home"),
        (place.project, "root"),
        (place.project / "packages", "middle"),
    ]:
        place.skill(
            level / ".claude" / "skills", "same", f"---\nname: same\ndescription: {words}\n---\n{words}"
        )
    library = place.library()

    assert [(skill.name, skill.description) for skill in library.all()] == [("same", "middle")]
    assert "middle" in library.load("same", "")


def test_h53_above_the_git_root_nothing_is_looked_for(tmp_path: Path) -> None:
    place = Place(tmp_path)
    outside = SkillLibrary(
        folders("skills", workspace=place.workspace, home=tmp_path / "other", config=tmp_path / "other")
    )
    place.skill(place.home / ".agents" / "skills", "above")

    assert names(outside) == []


def test_h53_item_72_missing_skill_is_answered_with_the_names_there_are(place: Place) -> None:
    place.skill(place.workspace / ".agents" / "skills", "tidy")

    with pytest.raises(ToolError, match=r"No skill named 'tody'; did you mean 'tidy'"):
        place.library().load("tody", "")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "..", "", "tidy/../tidy", "a\0b"])
def test_item_72_name_cannot_traverse(place: Place, name: str) -> None:
    place.skill(place.workspace / ".agents" / "skills", "tidy")

    with pytest.raises(ToolError):
        place.library().load(name, "")


def test_item_72_file_of_a_project_cannot_lead_out_of_it(place: Place, tmp_path: Path) -> None:
    secret = place.skill(tmp_path / "outside", "secret")
    folder = place.workspace / ".agents" / "skills"
    (folder / "file").mkdir(parents=True)
    (folder / "file" / "SKILL.md").symlink_to(secret)
    (folder / "folder").symlink_to(secret.parent)
    (folder / "loop").mkdir()
    (folder / "loop" / "SKILL.md").symlink_to("SKILL.md")
    library = place.library()

    assert names(library) == []
    assert [(who, why) for who, _, why in faults(library)] == [
        ("file", "leads out of the project"),
        ("folder", "leads out of the project"),
        ("loop", "leads nowhere"),
    ]


def test_users_own_skill_may_be_a_link(place: Place, tmp_path: Path) -> None:
    place.skill(tmp_path / "dotfiles", "mine")
    (place.config / "skills").mkdir(parents=True)
    (place.config / "skills" / "mine").symlink_to(tmp_path / "dotfiles" / "mine")

    assert names(place.library()) == ["mine"]


def test_m26_only_names_and_descriptions_are_in_the_prompt(place: Place) -> None:
    place.skill(place.workspace / ".agents" / "skills", "tidy")
    library = place.library()

    prompt = system_prompt(skills=[(skill.name, skill.description) for skill in library.all()])

    assert "- tidy: Does tidy." in prompt
    assert "Body of tidy" not in prompt


def test_m26_file_over_a_mebibyte_and_body_over_its_limit_are_left_out(place: Place) -> None:
    folder = place.workspace / ".agents" / "skills"
    head = "---\nname: {}\ndescription: Big.\n---\n"
    place.skill(folder, "body", head.format("body") + "x" * (MAX_BODY_CHARS + 1))
    place.skill(folder, "file", head.format("file") + "x" * (1 << 20))
    place.skill(folder, "just", head.format("just") + "x" * MAX_BODY_CHARS)

    assert names(place.library()) == ["just"]
    assert [why for *_, why in faults(place.library())] == [
        f"the text is longer than {MAX_BODY_CHARS:,} characters",
        "is larger than 1,048,576 bytes",
    ]


def test_fifo_in_place_of_a_skill_holds_nothing_up(place: Place) -> None:
    folder = place.workspace / ".agents" / "skills" / "pipe"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "SKILL.md")

    assert faults(place.library()) == [("pipe", 0, "is not a regular file")]


def test_other_files_are_listed_and_hidden_ones_are_not(place: Place) -> None:
    folder = place.workspace / ".agents" / "skills"
    place.skill(folder, "tidy")
    for name in ("scripts/run.py", "notes.md", ".hidden", "scripts/__pycache__/run.pyc", "sub/SKILL.md"):
        path = folder / "tidy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")

    text = place.library().load("tidy", "")

    assert text.endswith(f"Other files in {folder}/tidy:\n- notes.md\n- scripts/run.py\n- sub/SKILL.md")


def test_arguments_stand_where_the_text_wants_them_or_behind_it(place: Place) -> None:
    folder = place.workspace / ".agents" / "skills"
    place.skill(folder, "with", "---\nname: with\ndescription: W.\n---\nLook at $ARGUMENTS, $1 stays.")
    place.skill(folder, "plain")
    library = place.library()

    assert "Look at a $x b, $1 stays." in library.load("with", " a $x b ")
    assert library.load("plain", "that").endswith("Body of plain\n\nArguments: that")
    assert "Arguments" not in library.load("plain", " ")


def test_skill_for_the_person_alone_is_not_offered_to_the_model(place: Place) -> None:
    place.skill(
        place.workspace / ".agents" / "skills",
        "deploy",
        "---\nname: deploy\ndescription: D.\ndisable-model-invocation: true\n---\nBody",
    )
    library = place.library()

    assert names(library) == []
    assert [skill.name for skill in library.find().skills] == ["deploy"]


def test_head_is_read_in_all_its_usual_forms(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text(
        "---\n# a remark\nname: x   # another\ndescription: >\n  two\n  lines\n\nText: |\n  one\n  two\n"
        'tools: [Read, \'Grep\']\nmore:\n  - a\n  - "b c"\nflat:\n- d\nquoted: "say \\"hi\\""\n'
        "single: 'it''s'\nlong: begins\n  and goes on\nnested:\n  key: value\nempty:\n---\n\nBody\n---\nmore\n"
    )

    document = read_document(path)

    assert dict(document.values) == {
        "name": "x",
        "description": "two lines",
        "text": "one\ntwo",
        "tools": "Read, Grep",
        "more": "a, b c",
        "flat": "d",
        "quoted": 'say "hi"',
        "single": "it's",
        "long": "begins and goes on",
        "nested": "key: value",
        "empty": "",
    }
    assert document.items("more") == ("a", "b c")
    assert document.items("tools") == ("Read", "Grep")
    assert document.lines["tools"] == 11
    assert document.body == "Body\n---\nmore"
    assert document.faults == ()


def test_line_that_is_no_pair_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("---\nname: x\n!! what\ndescription: fine\nname: y\n---\nBody")

    document = read_document(path)

    assert [(fault.line, fault.reason) for fault in document.faults] == [
        (3, "expected `key: value`"),
        (5, "the key 'name' stands twice; the first counts"),
    ]
    assert document.values == {"name": "x", "description": "fine"}


@given(st.text(alphabet=st.sampled_from("ab:-#[]|>\"' \n\t,é"), max_size=80))
def test_whatever_stands_in_a_head_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("head") / "x.md"
    path.write_text(f"---\n{text}\n---\nBody")

    try:
        document = read_document(path)
    except Unreadable as error:
        faults, keys = (error.fault,), (set[str](), set[str](), set[str]())
    else:
        faults, keys = document.faults, (set(document.lists), set(document.values), set(document.lines))

    assert all(fault.path == path and 0 <= fault.line <= text.count("\n") + 3 for fault in faults)
    assert keys[0] <= keys[1] == keys[2]


def test_folder_that_cannot_be_listed_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    assert SkillLibrary([Folder(tmp_path / "file", "user"), Folder(tmp_path / "none", "user")]).all() == []
