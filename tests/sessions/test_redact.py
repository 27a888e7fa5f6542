import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from agent_tui.sessions.redact import MARK, Redactor
from agent_tui.sessions.store import SessionStore
from tests.support.session_world import file_of, one_turn

SECRET = 'tok/en+with "odd" chars é'


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET),
        quote(SECRET, safe=""),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(b"u:" + SECRET.encode()).decode(),
        base64.b64encode(b"user" + SECRET.encode() + b"more").decode(),
        SECRET.encode().hex(),
    ],
)
def test_h_p7_a_known_secret_goes_in_every_spelling(form: str) -> None:
    cleaned = Redactor([SECRET])(f"before {form} after")

    assert MARK in cleaned
    assert SECRET[7:20] not in cleaned
    assert base64.b64encode(SECRET.encode()).decode()[4:20] not in cleaned
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-" + "a" * 40,
        "sk-proj-" + "B1" * 20,
        "ghp_" + "a" * 36,
        "github_pat_" + "a" * 50,
        "AKIA" + "A1B2C3D4E5F6G7H8",
        "xoxb-1234567890-abcdef",
        "AIza" + "a" * 35,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmn",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
        "hf_" + "a" * 34,
        "glpat-" + "a" * 20,
    ],
)
def test_what_looks_like_a_secret_goes(text: str) -> None:
    assert Redactor()(f"x {text} y") == f"x {MARK} y"


def test_a_password_in_a_url_and_a_bearer_token_go_and_the_rest_stays() -> None:
    text = "https://me:hunter22@host/x Authorization: Bearer abcdefghijklmnopqrstuvwxyz"

    assert Redactor()(text) == f"https://me:{MARK}@host/x Authorization: Bearer {MARK}"


def test_ordinary_text_is_left_alone() -> None:
    text = (
        "ask-about http://host:8080/a@b task-sk-1 AKIAx shared_ghost "
        + base64.b64encode(bytes(range(256)) * 50).decode()
    )

    assert Redactor(["short", ""])(text) == text


async def test_h_p7_nothing_secret_reaches_the_disk(tmp_path: Path, workspace: Path) -> None:
    store = SessionStore(tmp_path / "sessions", redact=Redactor(["my-very-secret-key"]))
    session = store.create(workspace)
    encoded = base64.b64encode(b"my-very-secret-key").decode()
    await one_turn(session, "use my-very-secret-key", output=f"{encoded} " + "my-very-secret-key " * 10_000)
    session.close()

    written = b"".join(p.read_bytes() for p in store.root.rglob("*") if p.is_file())

    assert b"my-very-secret" not in written
    assert encoded.encode() not in written
    assert json.loads(file_of(session).read_bytes().split(b"\n")[1][9:])["text"] == f"use {MARK}"
