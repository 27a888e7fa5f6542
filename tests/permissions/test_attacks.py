from pathlib import Path
from typing import Any

import pytest

from agent_tui.permissions.shell.analysis import Analyser


def safe(analysis: Any) -> bool:
    return analysis.clear and not analysis.touches and all(part.safe for part in analysis.parts)


@pytest.mark.parametrize(
    "command",
    [
        "nm @opts.txt",
        "nm -- @opts.txt",
        "strings @.env",
        "strings -n @.env",
        "objdump -d @opts.txt",
        "readelf -h @opts.txt",
        "size @opts.txt",
        "c++filt @opts.txt",
        "addr2line @opts.txt",
        "gcc @opts.txt",
        "javac @opts.txt",
        "java @opts.txt",
        "file @opts.txt",
        "/usr/bin/nm @opts.txt",
        "nm '@opts.txt'",
        "nm src/a.py @opts.txt",
        "rg -l x | xargs strings",
    ],
)
def test_a_program_that_may_take_its_options_from_a_file_asks(ground: Any, command: str) -> None:
    assert not safe(ground.analyse(command))


def test_a_wildcard_that_finds_a_file_of_options_asks(ground: Any) -> None:
    (ground.project / "@opts").write_text("--plugin=./x.so\n")
    try:
        assert not safe(ground.analyse("nm ?opts"))
    finally:
        (ground.project / "@opts").unlink()


@pytest.mark.parametrize(
    "command",
    [
        "nm a.bin",
        "strings a.bin",
        "git show --stat @",
        "git rev-parse @",
        "echo @x",
        "date -d @0",
        "grep @x src/a.py",
        "rg @x src",
        "ls @x",
    ],
)
def test_a_word_with_an_at_sign_is_text_where_it_is_text(ground: Any, command: str) -> None:
    assert safe(ground.analyse(command))


def program(folder: Path, name: str, *, leads_to: Path | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if leads_to is None:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    else:
        (folder / name).symlink_to(leads_to)


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        (".cargo/bin", "cargo --version"),
        (".cargo/bin", "rustc -V"),
        (".cargo/bin", "rustfmt --version"),
        (".asdf/shims", "node --version"),
        (".local/share/mise/shims", "python3 --version"),
        (".pyenv/shims", "python --version"),
        (".volta/bin", "npm -v"),
        (".asdf/shims", "jq . package.json"),
        (".asdf/shims", "rg x src"),
    ],
)
def test_a_stand_in_that_runs_what_the_project_chooses_asks(
    ground: Any, tmp_path: Path, folder: str, command: str
) -> None:
    program(tmp_path / folder, command.split()[0])
    program(tmp_path / "plain", command.split()[0])

    assert not safe(ground.analyse(command, path=f"{tmp_path / folder}:/usr/bin"))
    assert safe(ground.analyse(command, path=f"{tmp_path / 'plain'}:/usr/bin"))


def test_a_link_to_a_stand_in_asks(ground: Any, tmp_path: Path) -> None:
    program(tmp_path / "lib", "rustup")
    program(tmp_path / "bin", "cargo", leads_to=tmp_path / "lib/rustup")

    assert not safe(ground.analyse("cargo --version", path=f"{tmp_path / 'bin'}:/usr/bin"))


@pytest.mark.parametrize(
    "command",
    ["go version", "go env GOROOT", "dotnet --version", "rustup --version", "yarn --version", "pnpm -v"],
)
def test_what_a_file_of_the_project_turns_into_another_version_asks(ground: Any, command: str) -> None:
    assert not safe(ground.analyse(command))


@pytest.mark.parametrize(
    "command",
    [
        "rg -g .env KEY",
        "rg -g '.e*' KEY",
        "rg -g '*' KEY",
        "rg -g '\\.env' KEY",
        "rg -g '.[e]nv' KEY",
        "rg -g '.{env,x}' KEY",
        "rg --glob=.env KEY",
        "rg --iglob .ENV KEY",
        "rg -g '*.py' --iglob .ENV KEY",
        "rg -tall KEY",
        "rg -g .env -l KEY | xargs cat",
        "grep --include=.env -r KEY .",
        "grep -r --include='\\.env' KEY .",
        "grep -r --include='.[^x]nv' KEY .",
        "grep -r --exclude=x --include='*.py' KEY .",
        "fd -H . | xargs cat",
        "fd -H env | xargs cat",
        "find . -name '\\.env' | xargs cat",
        "find . -name proj | xargs grep -r KEY",
        "find . -name '*.py' | xargs grep -r KEY",
        "find docs | xargs cat",
        "find docs -type f | xargs grep -R x",
    ],
)
def test_a_search_that_could_reach_a_secret_file_asks(ground: Any, command: str) -> None:
    assert not safe(ground.analyse(command))


@pytest.mark.parametrize(
    "command",
    [
        "rg -g '*.py' KEY",
        "rg -g '!*.lock' KEY",
        "rg -tpy KEY",
        "rg -g '*.py' --hidden KEY",
        "rg --files -g .env",
        "rg -g .env KEY src",
    ],
)
def test_a_search_that_reaches_no_secret_file_runs(ground: Any, command: str) -> None:
    assert safe(ground.analyse(command))


@pytest.mark.parametrize("line", ["!.env", "!/.env", "!.*", "!*", "!.e[n]v"])
def test_an_ignore_file_that_brings_a_hidden_secret_back_makes_the_search_ask(
    tmp_path: Path, line: str
) -> None:

    project = tmp_path.resolve()
    (project / ".env").write_text("KEY=1\n")
    analyse = Analyser(project=project, home=Path("/nowhere"), environ={"PATH": "/usr/bin:/bin"})
    assert safe(analyse("rg KEY", project))

    (project / ".ignore").write_text(f"{line}\n")

    assert not safe(analyse("rg KEY", project))


def test_a_link_to_a_secret_file_is_not_read_unasked_by_its_other_name(tmp_path: Path) -> None:

    project = tmp_path.resolve()
    (project / "src").mkdir()
    (project / ".env").write_text("KEY=1\n")
    analyse = Analyser(project=project, home=Path("/nowhere"), environ={"PATH": "/usr/bin:/bin"})
    assert safe(analyse("find src -name '*.txt' | xargs cat", project))

    (project / "src/a.txt").symlink_to("../.env")

    assert not safe(analyse("find src -name '*.txt' | xargs cat", project))
