import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.extensions.mcp.results import OUTPUT_LIMIT_CHARS, tool_result
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.tools import ToolResult
from agent_tui.toolkit.testing import make_context
from tests.support.mcp_world import spec, world

PNG = bytes.fromhex("89504e470d0a1a0a0000000d494844520000000200000003080600000000000000")


def result_of(workspace: Path, answer: JsonObject, *, sees_images: bool = True) -> ToolResult:
    ctx = replace(make_context(workspace), sees_images=sees_images)
    return tool_result(answer, ctx, facts={})


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        ({"content": []}, "(no output)"),
        ({}, "(no output)"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"content": [], "structuredContent": {"n": 1}}, '{\n "n": 1\n}'),
        ({"content": [{"type": "text", "text": "said"}], "structuredContent": {"n": 1}}, "said"),
        (
            {"content": [{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}]},
            "[audio audio/wav: 4 characters, left out]",
        ),
        ({"content": [{"type": "hologram"}]}, "[hologram: 0 characters, left out]"),
        ({"content": ["text", None]}, "\n".join(["[a content block that is not an object is left out]"] * 2)),
        (
            {"content": [{"type": "resource", "resource": {"uri": "memo://a", "text": "body"}}]},
            "[resource memo://a]\nbody",
        ),
        (
            {
                "content": [
                    {"type": "resource", "resource": {"uri": "f://a", "mimeType": "a/b", "blob": "AAAA"}}
                ]
            },
            "[resource f://a: a/b, 4 characters of base64, left out]",
        ),
        ({"content": [{"type": "resource_link", "uri": "f://b", "name": "b"}]}, "[resource 'b': f://b]"),
        (
            {"content": [{"type": "image", "mimeType": "image/png", "data": "?"}]},
            "[image left out: image/png, not valid base64]",
        ),
        (
            {"content": [{"type": "image", "mimeType": "image/png", "data": encoded(b"<svg/>")}]},
            "[image left out: image/png, 6 bytes that are no PNG, JPEG, GIF or WebP]",
        ),
        ({"content": [{"type": "text", "text": "a\x1b]52;c;eA==\x07b\u202e"}]}, "ab"),
    ],
)
def test_mc_12_every_kind_of_content_is_shown_or_named(
    workspace: Path, answer: JsonObject, output: str
) -> None:
    assert result_of(workspace, answer).output == output


def test_h94_an_error_is_an_error(workspace: Path) -> None:
    result = result_of(workspace, {"isError": True, "content": [{"type": "text", "text": "no such repo"}]})

    assert (result.is_error, result.output) == (True, "no such repo")


def test_mc_12_an_image_has_the_type_of_its_bytes(workspace: Path) -> None:
    answer: JsonObject = {"content": [{"type": "image", "mimeType": "text/html", "data": encoded(PNG)}]}

    assert [image.media_type for image in result_of(workspace, answer).images] == ["image/png"]
    assert (
        result_of(workspace, answer, sees_images=False).output
        == "[image left out: this model cannot see images]"
    )


def test_mc_12_a_large_image_is_left_out(workspace: Path) -> None:
    answer: JsonObject = {"content": [{"type": "image", "mimeType": "image/png", "data": "A" * 8_000_000}]}

    result = result_of(workspace, answer)

    assert result.images == ()
    assert "8,000,000 characters of base64" in result.output


async def test_mc_12_a_long_text_is_cut_and_kept_whole_in_a_file(workspace: Path) -> None:
    async with world(workspace, [spec("kinds")]) as here:
        result = await here.call("mcp__tiny__long")

    kept = Path(str(result.data["log_path"]))
    assert len(result.output) < OUTPUT_LIMIT_CHARS + 500
    assert f"characters left out; the whole output is in {kept}" in result.output
    assert kept.read_text() == "y" * 2_000_000
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_a_result_can_be_had_as_json(workspace: Path) -> None:
    async with world(workspace, [spec()]) as here:
        text = await here.tools.execute_json("mcp__tiny__echo", '{"text": "x"}', here.context())

    assert json.loads(text)["output"] == "echo: x"
