import json

from tests.e2e.conftest import Place
from tests.e2e.test_offline import READY


def skill(place: Place, name: str, text: str) -> None:
    path = place.project / ".agents/skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_skills_are_listed_and_shown_from_a_shell(place: Place) -> None:
    skill(place, "notes", "---\nname: notes\ndescription: Writes notes.\n---\nWrite them.\n")
    listed = place.run("skills", "list")
    as_json = place.run("skills", "list", "--json")
    shown = place.run("skills", "info", "notes")
    unknown = place.run("skills", "info", "zip")

    assert (listed.returncode, listed.stdout) == (0, "notes  Writes notes. (project)\n")
    (row,) = json.loads(as_json.stdout)["skills"]
    assert (row["name"], row["origin"], row["for_model"]) == ("notes", "project", True)
    assert row["path"] == str(place.project / ".agents/skills/notes/SKILL.md")
    assert "Write them." in shown.stdout
    assert (unknown.returncode, "No skill named 'zip'; there are notes." in unknown.stderr) == (2, True)


def test_a_skill_that_cannot_be_used_is_named_and_ends_with_1(place: Place) -> None:
    skill(place, "odd", "---\nname: odd\n---\nNothing.\n")
    listed = place.run("skills", "list")
    as_json = place.run("skills", "list", "--json")

    assert listed.returncode == as_json.returncode == 1
    assert "the description is missing" in listed.stderr
    assert "the description is missing" in json.loads(as_json.stdout)["problems"][0]


def test_a_new_skill_is_a_command_after_looking_again(place: Place) -> None:
    with place.terminal() as terminal:
        terminal.until(READY)
        terminal.until("git main")  # the core is there
        skill(place, "notes", "---\nname: notes\ndescription: Writes notes.\n---\nWrite them.\n")
        terminal.send("/reload-skills")
        terminal.until("› /reload-skills")
        terminal.send("\r")
        terminal.until("new or changed: notes")
        terminal.send("/note")
        terminal.until("Writes notes.")
