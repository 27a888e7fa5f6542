import asyncio
import os
import shutil
from pathlib import Path

import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.protocol.permissions import Risk
from agent_tui.protocol.tools import ToolResult
from tests.support.patience import PATIENCE_S
from tests.support.tool_world import ToolWorld, make_world, path_without_rg

ENGINES = [
    pytest.param("rg", marks=pytest.mark.skipif(not shutil.which("rg"), reason="rg is not installed")),
    "plain",
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain":
        monkeypatch.setenv("PATH", path_without_rg(tmp_path))
    return request.param


@pytest.fixture
def world(workspace: Path, engine: str) -> ToolWorld:
    return make_world(workspace)


@pytest.fixture
def plain_world(workspace: Path) -> ToolWorld:
    return make_world(workspace)


async def grep(world: ToolWorld, pattern: str, **more: object) -> str:
    result = await world.run("grep", pattern=pattern, **more)
    assert not result.is_error, result.output
    return result.output


@pytest.mark.parametrize("pattern", ["--flag", "-v", "-", "--pre=touch pwned", "-e", "--"])
async def test_se_05_h42_item_49_a_pattern_that_begins_with_a_dash_is_a_pattern(
    world: ToolWorld, pattern: str
) -> None:
    world.put("o.txt", f"x\n{pattern}\n")

    assert await grep(world, pattern) == f"o.txt:2:{pattern}"
    assert not (world.root / "pwned").exists()


@pytest.mark.parametrize("pattern", ["(", "[a", "\\K", "*", "a{3,1}", "(?P<n>x)(?P<n>y)", "\\"])
async def test_se_10_h41_an_invalid_expression_explains_itself(world: ToolWorld, pattern: str) -> None:
    world.put("a.txt", "x")

    result = await world.run("grep", pattern=pattern)

    assert result.is_error
    assert result.output.startswith("Invalid regular expression")
    assert "literal" in result.output


async def test_se_10_an_empty_pattern_and_a_missing_path_are_refused(world: ToolWorld) -> None:
    assert (await world.run("grep", pattern="")).is_error
    assert (await world.run("grep", pattern="x", path="nosuch")).is_error
    assert (await world.run("grep", pattern="a\nb")).is_error
    assert (await world.run("grep", pattern="a\0b")).is_error


async def test_se_10_a_huge_count_neither_hangs_nor_crashes(world: ToolWorld) -> None:
    world.put("a.txt", "aaa\n")

    assert await grep(world, "a{99999}") == "No matches found"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(.*a){20}$"])
async def test_se_10_a_catastrophic_expression_is_stopped(world: ToolWorld, pattern: str) -> None:
    world.put("slow.txt", "a" * 40 + "b\n")

    async with asyncio.timeout(PATIENCE_S):
        result = await world.run("grep", pattern=pattern)

    assert "No matches" in result.output or "takes longer than 3 s in slow.txt" in result.output


async def test_item_49_h41_no_match_is_success(world: ToolWorld) -> None:
    world.put("a.txt", "x\n")

    assert await grep(world, "nothing") == "No matches found"


async def test_h41_first_hundred_of_all_and_offset_for_the_rest(world: ToolWorld) -> None:
    for letter in "ab":
        world.put(f"{letter}.txt", "".join(f"hit {n}\n" for n in range(125)))

    first = await grep(world, "hit")
    second = await grep(world, "hit", offset=100)
    last = await grep(world, "hit", offset=200)
    past = await grep(world, "hit", offset=900)

    assert first.split("\n")[0] == "a.txt:1:hit 0"
    assert first.split("\n")[99:] == [
        "a.txt:100:hit 99",
        "(showing first 100 of 250 matches; continue with offset=100)",
    ]
    assert second.split("\n")[24:26] == ["a.txt:125:hit 124", "b.txt:1:hit 0"]
    assert second.endswith("(showing 101 to 200 of 250 matches; continue with offset=200)")
    assert last.endswith("b.txt:125:hit 124\n(showing 201 to 250 of 250 matches)")
    assert past == "(offset 900 is past the end: 250 matches in all)"


async def test_output_modes(world: ToolWorld) -> None:
    world.put("b.txt", "x\nx\n")
    world.put("a/a.txt", "x\n")

    assert await grep(world, "x", output_mode="files") == "a/a.txt\nb.txt"
    assert await grep(world, "x", output_mode="count") == "a/a.txt:1\nb.txt:2\n(3 matches in 2 files)"
    assert await grep(world, "x", output_mode="files", head_limit=1) == (
        "a/a.txt\n(showing first 1 of 2 files; continue with offset=1)"
    )
    assert await grep(world, "x", **{"-n": False}) == "a/a.txt:x\nb.txt:x\nb.txt:x"


async def test_a105_context_lines_are_printed_in_groups(world: ToolWorld) -> None:
    world.put("a.txt", "".join(f"{n}\n" for n in range(1, 21)))
    world.put("b.txt", "5\n6\n")

    assert await grep(world, "^(5|7|15)$", **{"-C": 1}) == (
        "a.txt-4-4\na.txt:5:5\na.txt-6-6\na.txt:7:7\na.txt-8-8\n--\na.txt-14-14\na.txt:15:15\na.txt-16-16\n"
        "--\nb.txt:1:5\nb.txt-2-6"
    )
    assert await grep(world, "^3$", **{"-A": 2, "-B": 1}) == "a.txt-2-2\na.txt:3:3\na.txt-4-4\na.txt-5-5"
    assert await grep(world, "^3$", **{"-A": 2, "-C": 1}) == "a.txt-2-2\na.txt:3:3\na.txt-4-4"


async def test_context_stays_with_the_matches_that_are_shown(world: ToolWorld) -> None:
    world.put("a.txt", "hit 1\nx\nhit 2\ny\nhit 3\n")

    assert await grep(world, "hit", head_limit=1, offset=1, **{"-C": 1}) == (
        "a.txt-2-x\na.txt:3:hit 2\na.txt-4-y\n(showing 2 to 2 of 3 matches; continue with offset=2)"
    )


async def test_case_literal_and_multiline(world: ToolWorld) -> None:
    world.put("a.txt", "Foo(\nbar\nÄrger\n")

    assert await grep(world, "foo", **{"-i": True}) == "a.txt:1:Foo("
    assert await grep(world, "ärger", **{"-i": True}) == "a.txt:3:Ärger"
    assert await grep(world, "Foo(", literal=True) == "a.txt:1:Foo("
    assert await grep(world, "o\\(.*?r$", multiline=True) == "a.txt:1:Foo(\na.txt:2:bar"
    assert await grep(world, "o\\(\nb", multiline=True) == "a.txt:1:Foo(\na.txt:2:bar"
    assert await grep(world, "Foo\\(.bar") == "No matches found"


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"\d{3}", "abc 123"),
        (r"^abc", "abc 123"),
        (r"123$", "abc 123"),
        (r"\bföö\b", "x föö y"),
        (r"f\w+", "x föö y"),
        (r"x .{3} y", "x föö y"),
        (r"interface {", "interface {"),
        (r"{}", "a{}"),
        (r"[[:digit:]]+x", "77x"),
        (r"(?i)ABC", "abc 123"),
        (r"a\.b|c\|d", "c|d"),
        (r"\x41\x42", "AB"),
        (r"[^a-z]{4}", "----"),
        (r"日本", "日本語"),
        (r"\t", "a\tb"),
        (r"a{2}", "aa"),
        (r"x+?y", "xxy"),
    ],
)
async def test_the_same_expressions_mean_the_same(world: ToolWorld, pattern: str, line: str) -> None:
    world.put("a.txt", f"{line}\nother\n")

    assert await grep(world, pattern) == f"a.txt:1:{line}"


async def test_crlf_lines_end_before_the_carriage_return(world: ToolWorld) -> None:
    world.put("a.txt", "one\r\ntwo\r\n")

    assert await grep(world, "e$") == "a.txt:1:one"
    assert await grep(world, "two") == "a.txt:2:two"


async def test_a_last_line_without_a_newline_counts(world: ToolWorld) -> None:
    world.put("a.txt", "one\ntwo")

    assert await grep(world, "two$", output_mode="count") == "a.txt:1\n(1 match in 1 file)"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
async def test_files_with_a_byte_order_mark_are_read(world: ToolWorld, encoding: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    world.put("a.txt", mark + "erste\nzweite ü\n".encode(encoding))

    assert await grep(world, "^(erste|zweite ü)$") == "a.txt:1:erste\na.txt:2:zweite ü"


async def test_bytes_that_are_no_utf8_do_not_hide_a_line(world: ToolWorld) -> None:
    world.put("a.txt", b"caf\xe9 hit\n")

    assert await grep(world, "hit") == "a.txt:1:caf\ufffd hit"


@pytest.mark.parametrize("at", [0, 3, 5_000, 200_000])
async def test_item_49_binary_files_are_left_out(world: ToolWorld, at: int) -> None:
    world.put("bin", b"hit\n" + b"x" * at + b"\0hit\n")
    world.put("a.txt", "hit\n")

    assert await grep(world, "hit") == "a.txt:1:hit"
    assert await grep(world, "hit", output_mode="count") == "a.txt:1\n(1 match in 1 file)"
    assert await grep(world, "hit", path="bin") == "No matches found"
    assert await grep(world, "hi.", multiline=True) == "a.txt:1:hit"


async def test_item_49_h43_hidden_ignored_and_git_files_are_left_out(world: ToolWorld) -> None:
    (world.root / ".git").mkdir()
    world.put(".git/config", "hit\n")
    world.put(".gitignore", "out/\n!.shown\n# hit\n")
    for name in (".hidden", "out/a.txt", "sub/.deep/a.txt", ".shown", "a.txt"):
        world.put(name, "hit\n")

    assert await grep(world, "hit") == "a.txt:1:hit"
    assert await grep(world, "hit", path="out") == "out/a.txt:1:hit"
    assert await grep(world, "hit", path=".hidden") == ".hidden:1:hit"


@pytest.mark.parametrize(
    "name", [".env", "prod.env", "server.pem", "id_rsa", "sub/credentials", "deploy/.aws/x"]
)
async def test_secret_files_are_left_out_unless_named(world: ToolWorld, name: str) -> None:
    world.put(name, "hit\n")
    world.put("a.txt", "hit\n")

    assert await grep(world, "hit") == "a.txt:1:hit"
    assert await grep(world, "hit", path=name) == f"{name}:1:hit"
    assert world.permissions("grep", pattern="hit", path=name)[0].risk is Risk.HIGH
    assert world.permissions("grep", pattern="hit")[0].risk is Risk.LOW


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.md", ["a/x.md", "x.md"]),
        ("**/*.{md,sh}", ["a/x.md", "a/x.sh", "x.md"]),
        ("a/*.md", ["a/x.md"]),
        ("/x.md", ["x.md"]),
        ("a/", ["a/x.md", "a/x.sh"]),
        ("!*.md", ["a/x.sh", "x.py"]),
        ("*.{md", []),
        ("x.[mp]*", ["a/x.md", "x.md", "x.py"]),
    ],
)
async def test_se_07_globs_choose_files(world: ToolWorld, glob: str, expected: list[str]) -> None:
    for name in ("x.md", "a/x.md", "a/x.sh", "x.py"):
        world.put(name, "x\n")

    output = await grep(world, "x", glob=glob, output_mode="files")

    assert output == ("\n".join(expected) or "No matches found")


async def test_se_07_include_is_another_name_of_glob(world: ToolWorld) -> None:
    world.put("x.md", "x\n")
    world.put("x.py", "x\n")

    assert await grep(world, "x", include="*.md") == "x.md:1:x"


async def test_a105_types_choose_files_and_an_unknown_one_is_said(world: ToolWorld) -> None:
    for name in ("a.py", "b.pyi", "c.ts", "d.tsx", "Makefile"):
        world.put(name, "x\n")

    assert await grep(world, "x", type="py", output_mode="files") == "a.py\nb.pyi"
    assert await grep(world, "x", type="typescript", output_mode="files") == "c.ts\nd.tsx"
    assert await grep(world, "x", type="make", output_mode="files") == "Makefile"
    assert await grep(world, "x", type="py", glob="*.pyi", output_mode="files") == "b.pyi"
    assert (await grep(world, "x", type="nope", output_mode="files")).endswith(
        "(type 'nope' is not known: all types were searched)"
    )


async def test_long_lines_are_cut_around_the_match(world: ToolWorld) -> None:
    world.put("a.txt", "x" * 3000 + "needle" + "y" * 3000 + "\n")

    line = (await grep(world, "needle")).removeprefix("a.txt:1:")

    assert line == "…" + "x" * 125 + "needle" + "y" * 369 + "…"


async def test_long_answers_are_cut_at_a_line_and_say_where_to_go_on(world: ToolWorld) -> None:
    world.put("a.txt", "".join(f"hit {n:03} {'z' * 480}\n" for n in range(100)))

    output = await grep(world, "hit")

    lines = output.split("\n")
    assert len(output) < 32_768
    assert (
        lines[-1] == f"(showing first {len(lines) - 1} of 100 matches; continue with offset={len(lines) - 1})"
    )


async def test_se_08_paths_with_special_characters_are_paths(world: ToolWorld) -> None:
    world.put("src/(app)/[id]/index.tsx", "hi\n")
    world.put("a b*?.txt", "hi\n")

    assert await grep(world, "hi", path="src/(app)/[id]") == "src/(app)/[id]/index.tsx:1:hi"
    assert await grep(world, "hi", path="a b*?.txt") == "a b*?.txt:1:hi"


async def test_se_03_links_are_not_followed(world: ToolWorld, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("hit\n")
    world.put("f.txt", "hit\n")
    (world.root / "loop").symlink_to(".")
    (world.root / "self").symlink_to("self")
    (world.root / "out.txt").symlink_to(outside)

    assert await grep(world, "hit") == "f.txt:1:hit"


async def test_files_are_in_order_of_their_paths(world: ToolWorld) -> None:
    for name in ("b", "a/z", "a-b", "a.b", "B", "a/a/a", "ä"):
        world.put(name, "x\n")

    assert (await grep(world, "x", output_mode="files")).split("\n") == sorted(
        ["b", "a/z", "a-b", "a.b", "B", "a/a/a", "ä"]
    )


async def test_special_files_end_nothing(world: ToolWorld) -> None:
    os.mkfifo(world.root / "fifo")
    world.put("a.txt", "hit\n")

    assert await grep(world, "hit") == "a.txt:1:hit"
    assert (await world.run("grep", pattern="x", path="fifo")).is_error
    assert (await world.run("grep", pattern="x", path="/dev/zero")).is_error


async def test_a_sparse_file_of_a_terabyte_is_binary_at_once(world: ToolWorld) -> None:
    with world.put("big").open("wb") as file:
        file.truncate(1 << 40)  # to read it would take ten minutes
    world.put("a.txt", "hit\n")

    async with asyncio.timeout(PATIENCE_S):
        assert await grep(world, "hit") == "a.txt:1:hit"


async def test_names_of_any_bytes(world: ToolWorld) -> None:
    world.put("new\nline", "hit\n")
    (world.root / os.fsdecode(b"bad\xff")).write_bytes(b"hit\n")

    assert await grep(world, "hit") == "bad\ufffd:1:hit\nnew\\nline:1:hit"


async def test_a_configuration_of_rg_is_not_read(
    world: ToolWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "ripgreprc"
    config.write_text("--pre=/bin/false\n--hidden\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    world.put(".hidden", "hit\n")
    world.put("a.txt", "hit\n")

    assert await grep(world, "hit") == "a.txt:1:hit"


async def test_an_rg_of_the_workspace_is_not_run(
    plain_world: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = plain_world.put("bin/rg", "#!/bin/sh\ntouch pwned\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{plain_world.root}/bin:.:bin")
    plain_world.put("a.txt", "hit\n")

    assert await grep(plain_world, "hit", path="a.txt") == "a.txt:1:hit"
    assert not (plain_world.root / "pwned").exists()


async def test_an_rg_that_does_not_know_an_option_is_replaced(
    plain_world: ToolWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    fake = folder / "rg"
    fake.write_text("#!/bin/sh\necho 'error: Found argument --no-ignore-dot' >&2\nexit 2\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    plain_world.put("a.txt", "hit\n")

    assert await grep(plain_world, "hit") == "a.txt:1:hit"


async def test_panel_groups_by_file_and_marks_the_match(plain_world: ToolWorld) -> None:
    plain_world.put("a.txt", "one hit\nx\n")
    plain_world.put("b.txt", "hit\n")
    result: ToolResult = await plain_world.run("grep", pattern="hit", **{"-A": 1})

    shown = plain_world.shown("grep", result, pattern="hit")

    assert shown.content_type is ResultContentType.TERMINAL
    assert shown.content == (
        "a.txt (1)\n     1  one \x1b[1;31mhit\x1b[0m\n     2  x\n\nb.txt (1)\n     1  \x1b[1;31mhit\x1b[0m"
    )
    assert shown.summary == "2 matches in 2 files"


async def test_a50_title_and_summary(plain_world: ToolWorld) -> None:
    plain_world.put("a.txt", "hit\n")
    result = await plain_world.run("grep", pattern="hit")

    assert plain_world.title("grep", pattern="p" * 40) == "p" * 30
    assert plain_world.summary("grep", result, pattern="hit") == "[Grep: 'hit' (1 match)]"
    assert plain_world.summary("grep", result, pattern="p" * 40) == f"[Grep: '{'p' * 20}' (1 match)]"
