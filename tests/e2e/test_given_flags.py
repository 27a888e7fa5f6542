import base64
import struct
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.e2e.conftest import Place, Served
from tests.support.fake_servers import Script, message

Serve = Callable[[Script], AbstractContextManager[Served]]


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(b"\0\1\2\3"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b"")


def test_files_and_images_go_with_the_prompt(place: Place, serve: Serve) -> None:
    (place.project / "two words.txt").write_text("petals\n")
    (place.project / "shot.png").write_bytes(png())
    with serve([message("seen")]) as served:
        done = place.run("-p", "look", "-f", "two words.txt", "-i", "shot.png", **served.env)
        sent = served.requests[0]["messages"][-1]["content"]

    assert done.returncode == 0, done.stderr
    assert any("1\tpetals" in block.get("text", "") for block in sent)
    image = next(block for block in sent if block["type"] == "image")
    assert base64.b64decode(image["source"]["data"]) == png()


def test_files_go_with_the_prompt_of_a_stream(place: Place, serve: Serve) -> None:
    stream = ("--input-format", "stream-json", "--output-format", "stream-json")
    with serve([message("seen")]) as served:
        done = place.run("-p", *stream, "-f", "README.md", "look", **served.env)
        sent = served.requests[0]["messages"][-1]["content"]
        alone = place.run("-p", *stream, "-f", "README.md", **served.env)

    assert done.returncode == 0, done.stderr
    assert any("Counts petals" in block.get("text", "") for block in sent)
    assert alone.returncode == 2
    assert "--file and --image go with a prompt" in alone.stderr


def test_files_go_with_the_first_message_of_the_plain_lines(place: Place, serve: Serve) -> None:
    with serve([message("seen"), message("again")]) as served:
        with place.terminal("--screen-reader", "-f", "README.md", **served.env) as terminal:
            terminal.until("With your first message goes: @README.md")
            terminal.send("look\r")
            terminal.until("seen")
            terminal.send("and now\r")
            terminal.until("again")
        first, second = (request["messages"][-1]["content"] for request in served.requests)

    assert any("Counts petals" in block.get("text", "") for block in first)
    assert "Counts petals" not in str(second)


def test_what_is_piped_in_beside_a_prompt_points_at_nothing(place: Place, serve: Serve) -> None:
    with serve([message("seen")]) as served:
        done = place.run("-p", "look at @src/petals.py", stdin="@README.md is named\n", **served.env)
        sent = served.requests[0]["messages"][-1]["content"]

    assert done.returncode == 0, done.stderr
    assert sent[-1]["text"] == "look at @src/petals.py\n\n@README.md is named"
    assert "def " in str(sent[:-1])
    assert "Counts petals" not in str(sent)


def test_a_file_that_is_not_there_is_a_usage_error(place: Place, serve: Serve) -> None:
    with serve([message("never")]) as served:
        done = place.run("-p", "look", "--file", "nowhere.txt", **served.env)
        asked = len(served.requests)

    assert done.returncode == 2, done.stderr
    assert "there is no 'nowhere.txt'" in done.stderr
    assert asked == 0


def test_settings_and_single_settings_count_for_one_run(place: Place, serve: Serve) -> None:
    (place.project / "more.toml").write_text('[model]\nname = "from-the-file"\neffort = "low"\n')
    with serve([message("one"), message("two"), message("three")]) as served:
        place.run("-p", "a", "--settings", "more.toml", **served.env)
        place.run("-p", "b", "--settings", "more.toml", "--config", "model.name=single", **served.env)
        place.run("-p", "c", "--settings", '{"model": {"name": "inline"}}', **served.env)
        models = [request["model"] for request in served.requests]

    assert models == ["from-the-file", "single", "inline"]


def test_settings_that_cannot_be_read_say_why(place: Place, serve: Serve) -> None:
    with serve([]) as served:
        bad = place.run("-p", "a", "--config", "theme", **served.env)
        worse = place.run("-p", "a", "--settings", "{", **served.env)

    assert (bad.returncode, worse.returncode) == (2, 2)
    assert "write KEY=VALUE" in bad.stderr
    assert "--settings is not valid JSON: " in worse.stderr


@pytest.mark.parametrize("word", ["exec", "run"])
def test_exec_and_run_are_print_mode(place: Place, serve: Serve, word: str) -> None:
    with serve([message("done so")]) as served:
        done = place.run(word, "do it", "--output-format", "text", **served.env)
        sent = served.requests[0]["messages"][-1]["content"]

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "done so"
    assert any(block.get("text") == "do it" for block in sent)
