from pathlib import Path

import pytest

from agent_tui.config.edit import parse_value, set_value, unset_value
from agent_tui.config.layers import settings_layers
from agent_tui.config.load import Layer, load
from agent_tui.config.overview import overview
from agent_tui.config.paths import Paths
from agent_tui.protocol.errors import ConfigError
from agent_tui.protocol.toml_text import line_of

WRITTEN = """# my settings
[model]            # who answers
name = "a"         # the one I like

[ui]
# calm
theme = "nord"
mouse = false
"""


def user_file(tmp_path: Path, text: str = WRITTEN) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return file


def test_a_changed_value_leaves_comments_order_and_neighbours(tmp_path: Path) -> None:
    file = user_file(tmp_path)

    set_value(file, "ui.theme", "gruvbox")

    assert file.read_text() == WRITTEN.replace('"nord"', '"gruvbox"')


def test_a_new_key_joins_its_table_and_a_new_table_comes_last(tmp_path: Path) -> None:
    file = user_file(tmp_path)

    set_value(file, "model.effort", "high")
    set_value(file, "limits.max_rounds", 3)

    loaded = load([Layer("user", file)])
    assert (loaded.settings.model.effort, loaded.settings.limits.max_rounds) == ("high", 3)
    assert file.read_text().startswith("# my settings\n[model]            # who answers\n")
    assert "# calm" in file.read_text()


def test_taking_a_key_out_leaves_the_rest(tmp_path: Path) -> None:
    file = user_file(tmp_path)

    assert unset_value(file, "ui.mouse")
    assert not unset_value(file, "ui.mouse")
    assert file.read_text() == WRITTEN.replace("mouse = false\n", "")


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        (b'# a\r\n[ui]\r\ntheme = "x"\r\n', "ui.theme", b'# a\r\n[ui]\r\ntheme = "y"\r\n'),
        (b'[ui]\r\ntheme = "x"\r\n', "ui.keys", b'[ui]\r\ntheme = "x"\r\nkeys = "y"\r\n'),
        (b'# a\r\n[ui]\ntheme = "x"\r\n# b\n', "ui.theme", b'# a\r\n[ui]\ntheme = "y"\r\n# b\n'),
        (b'[ui]\ntheme = "x"', "ui.theme", b'[ui]\ntheme = "y"'),
        (
            b'ui.theme = "x"\nmodel.name="q"\nui.mouse=true\n',
            "ui.theme",
            b'ui.theme = "y"\nmodel.name="q"\nui.mouse=true\n',
        ),
        (
            b'[model.facts.a]\nx=1\n[ui]\n[model]\nname = "q"\n',
            "model.name",
            b'[model.facts.a]\nx=1\n[ui]\n[model]\nname = "y"\n',
        ),
        (
            b'[model.facts.a]\nx=1\n[ui]\n[model]\nname = "q"\n',
            "model.effort",
            b'[model.facts.a]\nx=1\n[ui]\n[model]\nname = "q"\neffort = "y"\n',
        ),
        (
            b'[ui]\ntheme = "x"\n\n# who answers\n[model]\n',
            "ui.keys",
            b'[ui]\ntheme = "x"\nkeys = "y"\n\n# who answers\n[model]\n',
        ),
    ],
)
def test_only_what_was_asked_changes_byte_for_byte(
    bom: bytes, before: bytes, key: str, after: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(bom + before)

    set_value(file, key, "y")

    assert file.read_bytes() == bom + after


def test_taking_a_key_out_of_a_table_in_two_places_leaves_the_rest_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b'[model.facts.a]\r\nx=1\r\n[ui]\r\n[model]\r\nname = "q"\r\neffort = "low"\r\n')

    assert unset_value(file, "model.name")
    assert file.read_bytes() == b'[model.facts.a]\r\nx=1\r\n[ui]\r\n[model]\r\neffort = "low"\r\n'


def test_a_file_that_is_not_toml_is_left_alone(tmp_path: Path) -> None:
    file = user_file(tmp_path, "[ui\ntheme=")

    with pytest.raises(ConfigError, match="mend it first"):
        set_value(file, "ui.theme", "dark")

    assert file.read_text() == "[ui\ntheme="


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    fresh, old = tmp_path / "deep" / "config.toml", user_file(tmp_path)
    old.chmod(0o644)

    set_value(fresh, "ui.theme", "dark")
    set_value(old, "ui.theme", "dark")

    assert fresh.stat().st_mode & 0o777 == 0o600
    assert old.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in fresh.parent.iterdir()] == ["config.toml"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    file = user_file(tmp_path)
    link = tmp_path / "link.toml"
    link.symlink_to(file)

    set_value(link, "ui.theme", "dark")

    assert link.is_symlink()
    assert 'theme = "dark"' in file.read_text()


def test_the_private_file_of_a_project_is_kept_from_git(tmp_path: Path) -> None:
    file = tmp_path / ".agent-tui" / "config.local.toml"

    set_value(file, "ui.theme", "dark")

    assert (tmp_path / ".agent-tui" / ".gitignore").read_text() == "config.local.toml\n"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("ui.theme", "nord", "nord"),
        ("ui.theme", '"nord"', "nord"),
        ("ui.mouse", "false", False),
        ("ui.row_diff", "true", True),
        ("limits.max_rounds", "12", 12),
        ("limits.max_budget_usd", "1.5", 1.5),
        ("model.name", "4711", "4711"),
        ("model.fallback", "a, b", ["a", "b"]),
        ("tools.disable", '["bash"]', ["bash"]),
    ],
)
def test_a_value_is_read_as_a_person_types_it(key: str, text: str, value: object, tmp_path: Path) -> None:
    assert parse_value(key, text, file=tmp_path / "x") == value


@pytest.mark.parametrize(
    ("key", "text", "part"),
    [
        ("ui.thema", "nord", "is not a setting"),
        ("nope", "1", "is not a setting"),
        ("limits.max_rounds", "-1", "must be at least 0"),
        ("permissions.mode", "wild", "'wild'"),
        ("permissions.allow", "Bash(*)", "is not a setting"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_file_and_key(
    key: str, text: str, part: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_value(key, text, file=tmp_path / "config.toml")

    assert part in str(caught.value)
    assert f"config.toml: {key}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ('[permissions]\nmode = "plan"\n[sandbox]\nmode = "off"\n', "sandbox.mode", 4),
        ('ui.theme = "x"\n', "ui.theme", 1),
        ('[model.facts."m.1"]\ncontext_tokens = 1\n', "model.facts", 0),
        ("[model]\nfacts = {}\n", "model.facts", 2),
        ('ui = { theme = "x" }\n', "ui.theme", 1),
        ('# theme = "y"\n[ui]\n"theme" = "x"\n', "ui.theme", 3),
        ("", "ui.theme", 0),
    ],
)
def test_the_line_of_a_key_is_that_of_its_own_table(text: str, key: str, line: int) -> None:
    assert line_of(text, key) == line


def test_every_setting_is_listed_with_its_places_and_what_counts(tmp_path: Path) -> None:
    paths = Paths(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "k")
    project = tmp_path / "proj"
    (project / ".agent-tui").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    paths.user_config.write_text('[ui]\n\ntheme = "nord"\n')
    (project / ".agent-tui" / "config.toml").write_text('[ui]\ntheme = "dark"\n')
    layers = settings_layers(paths, project, trusted=False)

    listed = {one.key: one for one in overview(load(layers), layers)}

    theme = listed["ui.theme"]
    assert (theme.value, theme.origin) == ("nord", f"{paths.user_config}:3")
    assert [(place.layer, place.value, place.counts) for place in theme.places] == [
        ("user", "nord", True),
        ("project", "dark", False),
    ]
    assert listed["permissions.mode"].choices[0] == "default"
    assert listed["ui.mouse"].choices == ("true", "false")
    assert listed["ui.row_diff"].choices == ("true", "false")
    assert listed["model.name"].origin == "default"
