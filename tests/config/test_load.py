from pathlib import Path

import pytest

from agent_tui.config.load import Layer, load


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def user(tmp_path: Path, text: str | bytes) -> Layer:
    return Layer("user", write(tmp_path / "config.toml", text))


def test_stronger_layer_overrides_a_scalar_and_origin_says_so(tmp_path: Path) -> None:
    weak = Layer("user", write(tmp_path / "u.toml", '[model]\nname = "a"\neffort = "low"\n'))
    strong = Layer("project", write(tmp_path / "p.toml", '[model]\nname = "b"\n'))

    loaded = load([weak, strong])

    assert (loaded.settings.model.name, loaded.settings.model.effort) == ("b", "low")
    assert loaded.origins["model.name"] == str(tmp_path / "p.toml")


def test_untrusted_project_may_only_tighten(tmp_path: Path) -> None:
    text = '[model]\nbase_url = "http://evil"\n[permissions]\nallow = ["Bash(*)"]\nmode = "bypass"\n'
    layer = Layer("project", write(tmp_path / "p.toml", text), tightens_only=True)

    loaded = load([layer])

    assert loaded.settings == load([]).settings


def test_override_wins_over_files(tmp_path: Path) -> None:
    loaded = load([user(tmp_path, '[model]\nname = "a"\n')], overrides={"model.name": ("--model", "c")})

    assert loaded.settings.model.name == "c"
    assert loaded.origins["model.name"] == "--model"


def test_managed_settings_are_stronger_than_flags(tmp_path: Path) -> None:
    managed = Layer("managed", write(tmp_path / "m.toml", '[model]\nname = "m"\n'), managed=True)
    layers = [user(tmp_path, '[model]\nname = "a"\neffort = "low"\n'), managed]

    loaded = load(layers, overrides={"model.name": ("--model", "c"), "model.effort": ("--effort", "high")})

    assert (loaded.settings.model.name, loaded.settings.model.effort) == ("m", "high")
    assert loaded.origins["model.name"] == str(tmp_path / "m.toml")


PROFILED = """
[model]
name = "a"
effort = "low"
[profiles.fast.model]
name = "b"
nosuch = 1
[profiles.fast.hooks]
stop = []
[profiles.other.model]
name = 5
"""


def test_a_profile_lies_over_all_files_and_below_flags(tmp_path: Path) -> None:
    project = Layer("project", write(tmp_path / "p.toml", '[model]\nname = "p"\neffort = "max"\n'))

    loaded = load(
        [user(tmp_path, PROFILED), project], profile="fast", overrides={"ui.theme": ("--theme", "x")}
    )

    assert (loaded.settings.model.name, loaded.settings.model.effort) == ("b", "max")
    assert loaded.origins["model.name"] == f"{tmp_path / 'config.toml'} [profiles.fast]"
    assert [(one.key, one.line) for one in loaded.problems] == [("model.nosuch", 7), ("hooks.stop", 9)]
    assert list(loaded.profiles) == ["fast", "other"]


def test_profiles_that_are_not_chosen_say_nothing(tmp_path: Path) -> None:
    loaded = load([user(tmp_path, PROFILED)])

    assert loaded.settings.model.name == "a"
    assert loaded.problems == ()


def test_a_layer_that_only_tightens_has_no_profiles(tmp_path: Path) -> None:
    layer = Layer("project", write(tmp_path / "p.toml", PROFILED), tightens_only=True)

    loaded = load([layer], profile="fast")

    assert (loaded.settings, list(loaded.profiles)) == (load([]).settings, [])


@pytest.mark.parametrize(
    "content",
    [
        b'model = "x\n',
        b"\xff\xfea\x00",
        b"x" * 2_000_000,
    ],
    ids=["unclosed quote", "utf-16", "too large"],
)
def test_cf_01_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    loaded = load([user(tmp_path, content)])

    assert loaded.broken
    assert str(tmp_path / "config.toml") in str(loaded.problems[0])


def test_cf_01_directory_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()

    loaded = load([Layer("user", tmp_path / "config.toml")])

    assert "is a folder; settings are read from a file" in str(loaded.problems[0])


def test_cf_01_toml_error_names_line_and_column(tmp_path: Path) -> None:
    loaded = load([user(tmp_path, '[model]\nname = "x\n')])

    assert f"{loaded.problems[0].file}:2: not valid TOML: illegal character" in str(loaded.problems[0])
    assert "column 10" in str(loaded.problems[0])


@pytest.mark.parametrize("prefix", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_cf_01_bom_and_crlf_are_accepted(tmp_path: Path, prefix: bytes, end: bytes) -> None:
    loaded = load([user(tmp_path, prefix + b"[model]" + end + b'name = "a"' + end)])

    assert not loaded.problems
    assert loaded.settings.model.name == "a"


def test_cf_01_empty_file_is_fine(tmp_path: Path) -> None:
    assert not load([user(tmp_path, "")]).problems


def test_cf_03_unknown_key_is_a_warning(tmp_path: Path) -> None:
    loaded = load([user(tmp_path, '[model]\nname = "a"\nfuture = 1\n[nosuch]\nx = 1\n')])

    assert loaded.settings.model.name == "a"
    assert [(p.key, p.line, p.fatal) for p in loaded.problems] == [
        ("model.future", 3, False),
        ("nosuch.x", 5, False),
    ]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[ui]\ntheme = 5\n", "ui.theme"),
        ('[limits]\nmax_rounds = "abc"\n', "limits.max_rounds"),
        ("[limits]\nmax_rounds = -1\n", "limits.max_rounds"),
        ('[permissions]\nmode = "yes"\n', "permissions.mode"),
        ("theme = 5\n", "theme"),
    ],
)
def test_cf_03_wrong_type_falls_back_to_its_default_and_is_named(tmp_path: Path, text: str, key: str) -> None:
    loaded = load([user(tmp_path, text)])

    assert loaded.settings == load([]).settings
    assert [problem.key for problem in loaded.problems] == [key]
    assert not loaded.broken


def test_wrong_value_in_a_strong_layer_keeps_the_weaker_one(tmp_path: Path) -> None:
    weak = Layer("user", write(tmp_path / "u.toml", '[ui]\ntheme = "light"\n'))
    strong = Layer("project", write(tmp_path / "p.toml", "[ui]\ntheme = 5\n"))

    loaded = load([weak, strong])

    assert loaded.settings.ui.theme == "light"
    assert str(loaded.problems[0]).endswith(f"got 5; what {weak.file} says counts")
