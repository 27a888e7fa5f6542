import pytest

from agent_tui.ui.browser.door import Door
from agent_tui.ui.browser.page import page

DOOR = Door(8000, "secret")
OURS = {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8000"}


def test_the_whole_address_opens() -> None:
    assert DOOR.url == "http://127.0.0.1:8000/secret/"
    assert DOOR.refusal("/secret/", {"Host": "127.0.0.1:8000"}, is_socket=False) == ""
    assert DOOR.refusal("/secret/ws", OURS, is_socket=True) == ""
    assert (
        DOOR.refusal(
            "/secret/ws", {"Host": "localhost:8000", "Origin": "http://localhost:8000"}, is_socket=True
        )
        == ""
    )


@pytest.mark.parametrize(
    ("path", "headers", "is_socket", "part"),
    [
        ("/", {"Host": "127.0.0.1:8000"}, False, "token"),
        ("/secre/", {"Host": "127.0.0.1:8000"}, False, "token"),
        ("/sécret/", {"Host": "127.0.0.1:8000"}, False, "token"),
        ("/static/js/textual.js", {"Host": "127.0.0.1:8000"}, False, "token"),
        ("/secret/", {"Host": "evil.example:8000"}, False, "not served"),
        ("/secret/", {"Host": "127.0.0.1"}, False, "not served"),
        ("/secret/", {"Host": "127.0.0.1:8001"}, False, "not served"),
        ("/secret/", {}, False, "not served"),
        ("/secret/", {**OURS, "Origin": "http://evil.example"}, False, "Another page"),
        ("/secret/", {**OURS, "Origin": "null"}, False, "Another page"),
        ("/secret/ws", {"Host": "127.0.0.1:8000"}, True, "Another page"),
        ("/secret/ws", {**OURS, "Origin": "http://127.0.0.1:9000"}, True, "Another page"),
        ("/secret/ws", {**OURS, "Origin": "https://127.0.0.1:8000"}, True, "Another page"),
    ],
)
def test_everything_else_is_refused(path: str, headers: dict[str, str], is_socket: bool, part: str) -> None:
    assert part in DOOR.refusal(path, headers, is_socket=is_socket)


def test_every_run_has_a_token_of_its_own() -> None:
    assert len({Door(1).token for _ in range(50)}) == 50
    assert len(Door(1).token) >= 43


def test_the_page_loads_nothing_from_elsewhere_and_escapes_its_title() -> None:
    shown = page("<b>&", socket_url="ws://127.0.0.1:8000/secret/ws", font_size="99999")

    assert "<title>&lt;b&gt;&amp;</title>" in shown
    assert "http://" not in shown
    assert "https://" not in shown
    assert 'data-font-size="16"' in shown
    assert 'data-font-size="20"' in page("x", socket_url="", font_size="20")
