import asyncio
import json
import os
import re
import sqlite3
import time
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent_tui.protocol.errors import SessionNameError
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.sessions.commands import main
from agent_tui.sessions.deferred import find_waiting
from agent_tui.sessions.export import to_html, to_markdown
from agent_tui.sessions.index import NAME, SessionIndex
from agent_tui.sessions.info import SessionInfo
from agent_tui.sessions.store import SessionStore
from tests.support.agent_world import problems_of
from tests.support.session_world import file_of, one_turn


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


@pytest.fixture
def run(store: SessionStore, workspace: Path) -> Callable[..., tuple[int, str]]:
    def command(*arguments: str) -> tuple[int, str]:
        said: list[str] = []
        code = main(arguments, root=store.root, workspace=workspace, say=said.append)
        return code, "\n".join(said)

    return command


def made(store: SessionStore, workspace: Path, *prompts: str, name: str = "", output: str = "hello") -> str:
    async def write() -> str:
        session = store.create(workspace, name=name)
        for prompt in prompts:
            await one_turn(session, prompt, output=output)
        session.close()
        return session.id

    return asyncio.run(write())


def test_list_shows_the_sessions_of_this_directory(store, workspace, tmp_path, run) -> None:
    mine, other = made(store, workspace, "fix it", "again"), made(store, tmp_path, "elsewhere")

    here, everywhere = run("list")[1], run("list", "--all")[1]

    assert mine in here
    assert "2 turns  fix it" in here
    assert "  1 turn  elsewhere" in everywhere
    assert other not in here
    assert other in everywhere
    assert str(tmp_path) in everywhere


def test_search_finds_words_in_prompts_and_results(store, workspace, run) -> None:
    wanted = made(store, workspace, "parse dates", output="the zeppelin module")
    made(store, workspace, "something else")

    code, said = run("search", "zepp")

    assert code == 0
    assert wanted in said
    assert "zeppelin module" in said
    assert run("search", "unicorn") == (1, "No session holds 'unicorn'.")
    assert run("search", 'odd " quote', "AND")[0] == 1


def test_the_index_follows_changes_and_survives_its_own_damage(store, workspace) -> None:
    session_id = made(store, workspace, "first")
    assert [f.info.turns for f in store.search("first")] == [1]

    session = store.open(session_id)
    asyncio.run(one_turn(session, "second thing"))
    session.close()
    assert [i.turns for i in store.list()] == [2]
    assert len(store.search("second")) == 1

    (store.root / NAME).write_bytes(b"garbage" * 1000)
    assert [i.turns for i in store.list()] == [2]
    file_of(session).unlink()
    assert store.list() == []
    assert store.search("second") == []


def test_the_index_is_private(store, workspace) -> None:
    made(store, workspace, "x")
    store.list()

    assert (store.root / NAME).stat().st_mode & 0o777 == 0o600


def test_a_list_takes_in_no_words_and_a_search_those_that_changed(store, workspace) -> None:
    session_id = made(store, workspace, "find the needle")

    def found(word: str) -> list[str]:
        return [hit.info.session_id for hit in store.search(word)]

    def words_of_sessions() -> int:
        with closing(sqlite3.connect(store.root / NAME)) as database:
            return database.execute("SELECT count(*) FROM words").fetchone()[0]

    store.list()
    assert words_of_sessions() == 0
    assert found("needle") == [session_id]
    session = store.open(session_id)
    asyncio.run(session.rename("haystack"))
    session.close()
    assert [info.name for info in store.list()] == ["haystack"]
    assert (found("haystack"), found("needle"), words_of_sessions()) == ([session_id], [session_id], 1)
    store.path_of(session_id).unlink()
    assert store.list() == []
    assert words_of_sessions() == 0


def test_search_over_a_thousand_sessions_is_quick(store, workspace) -> None:
    template = store.path_of(made(store, workspace, "needle in here"))
    data = template.read_bytes()
    for number in range(999):
        template.with_name(f"copy-{number}.jsonl").write_bytes(data)
    index = SessionIndex(store.root)
    paths = list(store.paths())
    index.search("needle", paths)

    before = time.process_time()
    found = index.search("needle", paths)
    spent = time.process_time() - before

    assert len(found) == 50
    assert spent < 0.3


def test_show_and_export_write_what_was_said(store, workspace, run, tmp_path) -> None:
    session_id = made(store, workspace, "fix <b>it</b>", name="My work")

    markdown = run("show", session_id)[1]
    page = tmp_path / "page.html"
    assert run("export", session_id[:8], "--format", "html", "-o", str(page))[0] == 0

    assert "# My work" in markdown
    assert "## fix <b>it</b>" in markdown
    assert "**✓ Read** `a.txt`\n\n```\nhello\n```" in markdown
    html = page.read_text()
    assert "fix &lt;b&gt;it&lt;/b&gt;" in html
    assert "<script" not in html
    assert not re.search(r"""(src|href)=""", html)


def test_a_fence_in_the_output_does_not_end_the_fence_of_the_export() -> None:
    info = SessionInfo("i", "", "", 0, 0, 1, "x", Path("x"), 0)
    block = ReplayBlock("tool", "```\ncode\n```", display_name="Read", content_type="diff", state="error")

    assert "````diff\n```\ncode\n```\n````" in to_markdown(info, [block])
    assert '<details class="error" open>' in to_html(info, [block])


def test_an_export_can_be_imported_again(store, workspace, run, tmp_path) -> None:
    session_id = made(store, workspace, "fix it")
    exported = tmp_path / "out.jsonl"
    run("export", session_id, "--format", "jsonl", "-o", str(exported))

    code, said = run("import", str(exported))
    copy = said.split()[0]

    assert code == 0
    assert copy != session_id
    assert store.open(copy).messages() == store.open(session_id).messages()


@pytest.mark.parametrize("kind", ["jsonl", "md"])
def test_an_export_is_not_written_over_a_session(store, workspace, run, tmp_path, capsys, kind) -> None:
    session_id = made(store, workspace, "fix it")
    file = store.path_of(session_id)
    before = file.read_bytes()
    link = tmp_path / "out"
    link.symlink_to(file)

    assert run("export", session_id, "--format", kind, "-o", str(link)) == (1, "")
    assert file.read_bytes() == before
    assert "is where sessions are stored; name another place" in capsys.readouterr().err


def test_export_of_a_large_session_holds_one_record_at_a_time(store, workspace, run, tmp_path) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "petal " * 20_000}]}
    records = [{"type": "user", "id": f"u{n}", "at": 1.0, "text": "", "message": message} for n in range(100)]
    session_id = store.write_whole(workspace, records)
    exported = tmp_path / "out.jsonl"

    tracemalloc.start()
    run("export", session_id, "--format", "jsonl", "-o", str(exported))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [json.loads(line)["type"] for line in exported.read_text().splitlines()] == [
        "header",
        *["user"] * 100,
    ]
    assert most < exported.stat().st_size / 4


def test_a_claude_code_session_is_imported(store, workspace, run, tmp_path) -> None:
    lines = [
        {"type": "summary", "summary": "Parser work"},
        {"type": "user", "message": {"role": "user", "content": "fix it"}},
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "meta"}},
        {
            "type": "assistant",
            "message": {
                "model": "m",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "I read."},
                    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a"}},
                ],
            },
        },
        {
            "type": "user",
            "message": {
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}]}
                ]
            },
        },
    ]
    source = tmp_path / "claude.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)))

    session_id = run("import", str(source))[1].split()[0]
    session = store.open(session_id)

    assert session.name == "Parser work"
    assert [b.kind for b in session.replay()] == ["user", "thinking", "assistant", "tool"]
    messages = session.messages()
    assert problems_of(messages, provider="imported", model="m") == []


def test_a_codex_session_is_imported(store, workspace, run, tmp_path) -> None:
    def item(**payload: object) -> str:
        return json.dumps({"type": "response_item", "payload": payload})

    source = tmp_path / "codex.jsonl"
    source.write_text(
        "\n".join(
            [
                json.dumps({"type": "session_meta", "payload": {}}),
                item(type="message", role="user", content=[{"type": "input_text", "text": "list files"}]),
                item(type="function_call", call_id="c1", name="shell", arguments='{"command": ["ls"]}'),
                item(type="function_call_output", call_id="c1", output="a.txt"),
                item(type="message", role="assistant", content=[{"type": "output_text", "text": "one file"}]),
            ]
        )
    )

    session = store.open(run("import", str(source))[1].split()[0])

    assert [b.kind for b in session.replay()] == ["user", "tool", "assistant"]
    assert problems_of(session.messages(), provider="imported", model="") == []


def test_what_is_no_session_is_not_imported(run, tmp_path, capsys) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text('{"a": 1}\nnot json\n')

    assert run("import", str(source))[0] == 1
    assert "holds no session" in capsys.readouterr().err


def test_rename_and_delete(store, workspace, run, capsys) -> None:
    session_id = made(store, workspace, "fix it", output="x" * 100_000)

    assert run("rename", session_id, "Big", "fix")[0] == 0
    assert "Big fix" in run("list")[1]
    assert run("delete", "big fix")[0] == 1
    assert "for good" in run("delete", "big fix")[1]
    assert run("delete", "big fix", "--yes") == (0, "Removed 'Big fix'.")
    assert run("show", session_id)[0] == 1
    assert "No session is called" in capsys.readouterr().err


def test_a_name_that_no_session_has_is_said_first_then_what_may_be_meant_and_where_was_looked(
    store, workspace, run, capsys
) -> None:
    session_id = made(store, workspace, "fix it")
    run("rename", session_id, "petals")

    code, _ = run("show", "pettals")

    said = capsys.readouterr().err.removeprefix("agent-tui: ")
    assert code == 1
    assert said.startswith(f"No session is called 'pettals'. Did you mean: {session_id} (petals)? Looked in ")
    assert str(store.root) in said


@pytest.mark.parametrize(
    "refused",
    [
        lambda store, workspace: store.find("petals", workspace),
        lambda store, workspace: store.open("petals"),
        lambda store, workspace: find_waiting(store, "petals"),
        lambda store, workspace: store.create(workspace, session_id="a/b"),
    ],
)
def test_a_refused_name_never_begins_with_a_folder(store, workspace, refused) -> None:
    with pytest.raises(SessionNameError) as caught:
        refused(store, workspace)

    assert not str(caught.value).startswith(str(store.root))
    assert caught.value.path == store.root


def test_a_session_in_use_is_not_deleted(store, workspace, run) -> None:
    session = store.create(workspace)
    asyncio.run(one_turn(session))

    assert run("delete", session.id, "--yes")[0] == 75
    assert file_of(session).exists()
    session.close()


def test_ss_13_gc_removes_only_what_no_session_names(store, workspace, run) -> None:
    kept = made(store, workspace, "a", output="k" * 100_000)
    gone = made(store, workspace, "b", output="g" * 100_000)
    store.path_of(gone).unlink()
    for name in store.blobs.names():
        os.utime(store.blobs.path(name), (0, 0))

    assert "1 stored texts" in run("gc")[1]
    assert len(list(store.blobs.names())) == 2
    assert "1 stored texts (100,000 bytes) and 1 leftovers were removed" in run("gc", "--yes")[1]
    assert len(list(store.blobs.names())) == 1
    assert "k" * 100_000 in str(store.open(kept).messages())


def test_ss_12_gc_removes_old_sessions_only_when_asked_and_names_them_first(store, workspace, run) -> None:
    old, new = made(store, workspace, "old"), made(store, workspace, "new")
    os.utime(store.path_of(old), (time.time() - 40 * 86_400,) * 2)

    assert "would remove" not in run("gc", "--yes")[1]
    assert f"would remove  {old}" in run("gc", "--older-than", "30")[1]
    assert store.path_of(old).exists()
    run("gc", "--older-than", "30", "--yes")

    assert [i.session_id for i in store.list()] == [new]


def test_verify_names_the_damage(store, workspace, run) -> None:
    session_id = made(store, workspace, "a", output="x" * 100_000)
    assert run("verify") == (0, f"{session_id}  sound")
    path = store.path_of(session_id)
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"read", b"reed")
    path.write_bytes(b"\n".join(lines)[:-20])
    next(iter(store.root.glob("blobs/*/*"))).unlink()

    code, said = run("verify", session_id)

    assert code == 1
    for words in (
        "line 3: the record does not match",
        "the last record is cut off",
        "missing or damaged",
        "is lost",
    ):
        assert words in said


def test_fork_copies_the_path_to_a_prompt(store, workspace, run) -> None:
    session_id = made(store, workspace, "one", "two", output="x" * 100_000)
    prompts = run("fork", session_id, "--at", "nothing")[1]
    second = re.search(r"(\w+)  two", prompts).group(1)

    whole, part = run("fork", session_id)[1], run("fork", session_id, "--at", second, "--name", "try")[1]

    assert store.open(whole).messages() == store.open(session_id).messages()
    forked = store.open(part)
    assert (forked.name, [b.text for b in forked.replay() if b.kind == "user"]) == ("try", ["one"])
    assert len(forked.messages()) == 4
