import pytest

from agent_tui.protocol.display import ResultContentType
from agent_tui.ui.palette import Palette
from agent_tui.ui.render.content import content_body, guess
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.rows import Body

PALETTE = Palette.DARK
INKS = Inks(PALETTE)


def texts(body: Body) -> list[str]:
    return [body.row(index).text for index in range(body.height)]


def colours(body: Body) -> set[str]:
    return {
        str(run.style).split()[-1] for n in range(body.height) for run in body.row(n).runs if run.text.strip()
    }


@pytest.mark.parametrize("kind", list(ResultContentType))
def test_a37_every_content_type_is_drawn(kind: ResultContentType) -> None:
    body = content_body("a: 1\nb", kind.value, 40, INKS, path="x.txt")

    assert "a: 1" in " ".join(texts(body))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": [1, null]}', "json"),
        ("a: [1, x]\n", "yaml"),
        ("<a b='c'>d</a>", "xml"),
        ("def f(): return 1", "code"),
    ],
)
def test_a37_the_type_picks_the_colours(text: str, kind: str) -> None:
    assert len(colours(content_body(text, kind, 60, INKS, language="python" if kind == "code" else ""))) > 1


@pytest.mark.parametrize(
    ("text", "kind"), [("{not json", "json"), ("<a><b></a>", "xml"), ("[" * 99_999, "json")]
)
def test_item_59_markup_that_does_not_parse_is_plain(text: str, kind: str) -> None:
    assert colours(content_body(text, kind, 60, INKS)) == {PALETTE.text}


def test_cut_json_keeps_its_colours() -> None:
    text = '{"a": [1, 2,\n... (20,000 characters in all)'

    assert len(colours(content_body(text, "json", 60, INKS, is_truncated=True))) > 1


def test_xml_entities_are_never_expanded() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;&b;">]><a>&d;</a>'

    assert texts(content_body(bomb, "xml", 80, INKS)) == [bomb]


def test_item_58_markup_and_escapes_in_plain_results_are_data() -> None:
    text = "[bold]x[/bold] [@click=app.bell]y[/] \x1b[31mred [/"

    assert texts(content_body(text, "plain_text", 80, INKS)) == [text.replace("\x1b", "␛")]


def test_code_has_line_numbers_from_the_first_line() -> None:
    body = content_body("a\nb\nc", "code", 40, INKS, path="x.py", first_line=99)

    assert texts(body) == [" 99  a", "100  b", "101  c"]
    assert body.row(0).start == 5


def test_wrapped_code_continues_under_itself() -> None:
    body = content_body("x" * 12, "code", 10, INKS, first_line=7)

    assert texts(body) == ["7  xxxxxxx", "   xxxxx"]
    assert body.row(0).join == ""


@pytest.mark.parametrize(
    ("text", "path", "kind"),
    [
        ('{"a": 1}', "", "json"),
        ("{a}", "", "plain_text"),
        ("<?xml version='1.0'?><a/>", "", "xml"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@", "", "diff"),
        ("\x1b[31mred", "", "terminal"),
        ("# x", "README.md", "markdown"),
        ("x = 1", "a.py", "code"),
        ("hello", "", "plain_text"),
    ],
)
def test_auto_looks_at_text_and_name(text: str, path: str, kind: str) -> None:
    assert guess(text, path) == kind


def test_100_000_lines_are_laid_out_lazily() -> None:
    body = content_body(
        "\n".join(f"line {n}" for n in range(100_000)), "code", 80, INKS, path="x.py", first_line=1
    )

    assert body.height == 100_000
    assert body.row(99_999).text == "100000  line 99999"
