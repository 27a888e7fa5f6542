import asyncio
import json
import random
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent_tui.protocol.messages import AssistantMessage, ToolResultBlock, ToolUseBlock, UserMessage
from agent_tui.protocol.permissions import PermissionRequest
from agent_tui.protocol.tools import ToolResult
from agent_tui.sessions.blobs import Blobs
from agent_tui.sessions.frames import RawRecord, active_leaf, active_path, frame, read_frames, seal
from agent_tui.sessions.outline import Outline
from agent_tui.sessions.restore import INTERRUPTED, NEVER_RAN, restore
from agent_tui.sessions.restored import Restored
from agent_tui.sessions.session import Session
from agent_tui.sessions.store import SessionStore
from agent_tui.sessions.tree import (
    branch_end,
    doubtful_files,
    files_after,
    files_at,
    files_before,
    files_left,
    first_files,
    last_files,
    points,
    redo_target,
    undo_target,
)
from agent_tui.sessions.upkeep import verify
from tests.support.random_session import NOBODY_KNOWS, RandomSession
from tests.support.session_world import file_of, outcome, user


def harmed(lines: Sequence[bytes], chance: random.Random) -> list[bytes]:
    """Lines as a bad disk, another program or an older one of ours may leave them."""
    found: list[bytes] = []
    for line in lines:
        match chance.randrange(30):
            case 0:
                at = chance.randrange(len(line) - 1)
                found.append(line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :])
            case 1:
                found.append(line[: chance.randrange(1, len(line))] + b"\n")
            case 2:
                found += [line, line]
            case 3:
                found += [b"\n", b"\0" * 40 + b"\n", seal("[1]"), seal('{"id":7}'), seal("nonsense")]
            case 4:
                found.append(seal(json.dumps(json.loads(line[9:]), sort_keys=True, indent=None)))
            case 5:
                found.append(line[:8].upper() + line[8:])
            case _:
                found.append(line)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_an_outline_finds_what_reading_the_whole_file_finds(seed: int, tmp_path: Path) -> None:
    chance, path = random.Random(seed), tmp_path / "file.jsonl"
    lines = harmed([frame(record) for record in RandomSession(chance).records(120)], chance)
    saved = chance.choice([len(lines), len(lines) - 9])
    data, unsaved = b"".join(lines[:saved]), lines[saved:]
    torn = b"" if unsaved else chance.choice([b"", lines[0], lines[0][:30], frame({"id": "new"})[:-1]])
    path.write_bytes(data + torn)

    frames, outline = read_frames(data + torn + b"".join(unsaved)), Outline(path, unsaved)

    assert outline.damage == frames.damage
    assert (outline.size_bytes, outline.file_bytes) == (frames.size_bytes, len(data + torn))
    assert outline.facts == [r for r in frames.records if r.get("type") in ("header", "rename")]
    assert outline.begins_with_header is (frames.records[0].get("type") == "header")
    assert outline.leaf == active_leaf(frames.records)
    for leaf in (None, "", "nowhere", *frames.spans):
        entries = outline.path(leaf)
        records = active_path(frames.records, leaf)
        assert list(outline.records(entries)) == records
        assert [outline.span(index) for index in entries] == [frames.spans[str(r["id"])] for r in records]
    assert list(outline.records(outline.of_kinds("user"))) == [
        record for record in frames.records if record.get("type") == "user"
    ]


def test_a_record_that_changed_under_the_reader_is_none(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    records = RandomSession(random.Random(1)).records(20)
    path.write_bytes(b"".join(map(frame, records)))
    outline = Outline(path)
    wanted = outline.path()

    path.write_bytes(path.read_bytes().replace(b'"at"', b'"AT"'))
    changed = list(outline.records(wanted))
    path.unlink()

    assert changed == list(outline.records(wanted)) == [{}] * len(wanted)
    assert restore(changed, Blobs(tmp_path)).unread == len(wanted)


@pytest.mark.parametrize("seed", range(4))
def test_what_tells_the_tree_is_kept_of_records_and_nothing_that_was_said(seed: int, tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    records = RandomSession(random.Random(seed)).records(200)[1:]
    session = store.open(store.write_whole(tmp_path, records))

    kept, whole = session.records(), list(session.whole_records())

    assert not any(record.keys() & {"message", "messages", "outcome", "calls"} for record in kept)
    for tell in (points, undo_target, redo_target, first_files, last_files, files_left, active_leaf):
        assert tell(kept) == tell(whole)
    for entry in (record for record in records if record["type"] == "user"):
        for tell in (files_before, files_after, files_at, doubtful_files, branch_end):
            assert tell(kept, str(entry["id"])) == tell(whole, str(entry["id"]))
    session.close()


def test_what_opening_holds_does_not_grow_with_what_was_compacted_away(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    restored: list[int] = []
    shown: list[float] = []
    sizes: list[int] = []
    for turns in (100, 400):
        session_id = store.write_whole(tmp_path, long_talk(turns))
        warm = store.open(session_id)
        warm.restored()  # makes what serves all sessions
        warm.close()
        tracemalloc.start()
        session = store.open(session_id)
        session.restored()
        restored.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.reset_peak()
        blocks = session.paged_replay(kept=20)
        shown.append(tracemalloc.get_traced_memory()[1] / len(blocks))
        tracemalloc.stop()
        sizes.append(file_of(session).stat().st_size)
        session.close()

    assert restored[1] < restored[0] * 1.7  # what grows is where the lines lie
    assert restored[1] < sizes[1] / 4
    assert shown[1] < 1_500


def long_talk(turns: int) -> list[RawRecord]:
    records: list[RawRecord] = []

    def add(kind: str, **facts: Any) -> None:
        parent = str(records[-1]["id"]) if records else ""
        records.append({"type": kind, "id": f"{len(records):x}", "at": 1.0, "parent": parent, **facts})

    for number in range(turns):
        text = f"{number} " * 900
        content = [{"type": "text", "text": text}]
        add("user", text=text, message={"role": "user", "content": content})
        add("assistant", message={"role": "assistant", "content": content})
        if number % 20 == 19:
            add("compacted", messages=[{"role": "user", "content": content}], summary=text)
    return records


@pytest.mark.parametrize("seed", range(12))
def test_restoring_means_what_the_records_say_one_after_the_other(seed: int, tmp_path: Path) -> None:
    chance, store = random.Random(seed), SessionStore(tmp_path / "sessions")
    session_id = store.write_whole(tmp_path, RandomSession(chance).records(200)[1:])
    path = store.path_of(session_id)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], *harmed(lines[1:], chance)]))
    session = store.open(session_id)
    frames = read_frames(path.read_bytes())

    restored = session.restored()
    means = meaning(active_path(read_frames(path.read_bytes()).records))

    assert restored.unread == means.unread
    assert restored.messages == means.messages
    assert (restored.usage, restored.todos) == (means.usage, means.todos)
    assert restored.summaries == means.summaries
    assert (restored.pending, restored.interrupted) == (means.pending, means.interrupted)
    assert session.leaf == active_leaf(frames.records)
    assert bool(frames.damage) is bool(session.notices) is any("line" in s for s in verify(path, store.blobs))
    session.close()


def block_of(call_id: str, result: ToolResult) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=call_id, content=result.output, is_error=result.is_error)


def meaning(path: Sequence[Any]) -> Restored:
    """What restoring must find, read off records that are all there, without hurry."""
    means, said, begin = Restored(), list[UserMessage | AssistantMessage](), 0
    open_calls: list[str] = []
    outcomes: dict[str, ToolResult] = {}
    asked: dict[str, PermissionRequest] = {}
    arguments: dict[str, str] = {}

    def answer() -> None:
        unknown = ToolResult.error(NEVER_RAN if asked else INTERRUPTED)
        blocks = [block_of(call, outcomes.get(call, unknown)) for call in open_calls]
        if blocks:
            said.append(UserMessage(content=tuple(blocks)))
        open_calls.clear()

    for record in path:
        content: Any = record.get("message")
        counts = record["type"] in ("user", "assistant", "results") and content is not None
        if (counts or record["type"] == "outcome") and record.get("turn_id"):
            means.interrupted = True
        match record:
            case {"type": "user", "message": _}:
                answer()
                said.append(UserMessage.model_validate(content))
            case {"type": "assistant"}:
                answer()
                reply = AssistantMessage.model_validate(content)
                said.append(reply)
                means.usage += reply.usage
                uses = [block for block in reply.content if isinstance(block, ToolUseBlock)]
                open_calls = [use.id for use in uses]
                arguments = {use.id: use.arguments_json for use in uses}
                outcomes, asked = {}, {}
            case {
                "type": "outcome",
                "outcome": {"tool_use_id": str(call), "result": result},
            }:
                outcomes[call] = ToolResult.model_validate(result)
                if summary := record["outcome"]["summary"]:
                    means.summaries[call] = summary
            case {"type": "results"}:
                calls = [block["tool_use_id"] for block in content["content"]]
                lost = ToolResult.error("(the result was lost)")
                said.append(UserMessage(content=tuple(block_of(c, outcomes.get(c, lost)) for c in calls)))
                open_calls, asked = [], {}
            case {"type": "approval_request", "requests": list(requests)}:
                for request in requests:
                    whole = {**request, "arguments_json": arguments.get(request["call_id"], "{}")}
                    asked[request["call_id"]] = PermissionRequest.model_validate(whole)
            case {"type": "approval_response", "verdicts": list(verdicts)}:
                for verdict in verdicts:
                    if not verdict["deferred"]:
                        asked.pop(verdict["call_id"], None)
            case {"type": "compacted", "messages": list(messages)}:
                begin = len(said)
                said += [UserMessage.model_validate(message) for message in messages]
            case {"type": "todo", "items": list(items)}:
                means.todos = tuple(items)
            case {"type": "turn_end"}:
                means.interrupted = False
            case {"type": _} if record["type"] in ("user", NOBODY_KNOWS):
                means.unread += 1
            case _:
                pass
    means.pending = tuple(request for call, request in asked.items() if call not in outcomes)
    answer()
    means.messages = said[begin:]
    return means


@pytest.mark.parametrize("earlier", [0, 200])
async def test_the_newest_result_of_a_call_is_found_wherever_it_stands(tmp_path: Path, earlier: int) -> None:
    session = SessionStore(tmp_path / "sessions").create(tmp_path)
    for output, count in (("old", 1), ("new", 1), ("other", earlier)):
        for number in range(count):
            done = outcome("c" if output != "other" else f"o{number}", output)
            await session.outcome(done, turn_id="t")

    whole = session.full_output("c")

    assert whole is not None
    assert (whole.text, session.full_output("nobody")) == ("new", None)
    session.close()


@pytest.mark.parametrize("read", [lambda s: s.outline().kinds, lambda s: [r["type"] for r in s.records()]])
async def test_what_is_read_while_a_record_is_written_does_not_hide_it(
    tmp_path: Path, read: Callable[[Session], list[str]]
) -> None:
    writing, go_on = threading.Event(), threading.Event()

    def hold(line: str) -> str:
        if "second" in line:
            writing.set()
            go_on.wait(10)
        return line

    session = SessionStore(tmp_path / "sessions", redact=hold).create(tmp_path)
    await session.user_message(user("first"), turn_id="t", text="first")

    async with asyncio.TaskGroup() as group:
        group.create_task(session.user_message(user("second"), turn_id="t", text="second"))
        await asyncio.to_thread(writing.wait, 10)
        read(session)
        go_on.set()

    assert read(session).count("user") == 2
    session.close()
