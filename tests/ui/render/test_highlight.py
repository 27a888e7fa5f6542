import subprocess
import sys

import pytest

from agent_tui.ui.palette import Palette
from agent_tui.ui.render.highlight import PAGE, Highlighter
from agent_tui.ui.render.inks import Inks
from agent_tui.ui.render.lexing import ROOT, find_lexer, lex

PALETTE = Palette.DARK
INKS = Inks(PALETTE)
SAMPLES = {
    "python": 'class A(B):\n    """Doc\n    string."""\n    x: int = 0x1F  # c\n    def f(self): return f"{x!r}"\n',
    "bash": "for i in $(seq 3); do echo \"a $i\" 'x'; done # c\ncat <<EOF\nhi\nEOF\n",
    "javascript": "const a = `x ${b} y`; /re/.test('x') // c\n/* a\nb */ class A extends B {}\n",
    "html": "<a href='x'>b</a><script>var x=1;</script>\n",
    "rust": 'fn main() { let x: &\'a str = "a"; /* b /* c */ */ }\n',
    "css": "a { color: red; }\n",
    "toml": "[a]\nb = 1\n",
    "yaml": "a: b\nc:\n  - |\n    x\n",
    "json": '{"a": [1, true, "x"]}\n',
    "c": "int main(void) { return 0; } /* x */\n#include <a.h>\n",
    "sql": "select * from a where b='c';\n",
    "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
    "go": "func main() {\n\tfmt.Println(`raw\nstring`)\n}\n",
    "make": "all: x\n\techo $(Y)\n",
}


def colours(highlighter: Highlighter, index: int) -> dict[str, str]:
    return {
        run.text.strip(): str(run.style).split()[-1] for run in highlighter.line(index) if run.text.strip()
    }


@pytest.mark.parametrize("language", SAMPLES)
def test_tokens_equal_those_of_pygments(language: str) -> None:
    lexer = find_lexer(language, "")
    assert lexer is not None

    tokens, _ = lex(lexer, SAMPLES[language], ROOT)

    wanted = [
        (tuple(kind), value) for _, kind, value in lexer.get_tokens_unprocessed(SAMPLES[language]) if value
    ]
    assert [token for token in tokens if token[1]] == wanted


@pytest.mark.parametrize("language", [*SAMPLES, "no-such-language", "", "text"])
def test_highlighting_never_changes_the_text(language: str) -> None:
    lines = (SAMPLES.get(language, "plain\n") * 9).split("\n")
    highlighter = Highlighter(lines, INKS, language=language)

    drawn = ["".join(run.text for run in highlighter.line(n)) for n in range(len(lines))]

    assert drawn == [line.expandtabs(4) for line in lines]


def test_an_open_string_goes_on_over_the_edge_of_a_page() -> None:
    lines = ['x = """open', *["if text"] * (PAGE + 5), '"""', "if y:"]
    highlighter = Highlighter(lines, INKS, language="python")

    assert colours(highlighter, PAGE + 2) == {"if text": PALETTE.tok_string}
    assert colours(highlighter, len(lines) - 1)["if"] == PALETTE.tok_keyword


def test_a_page_looks_the_same_whichever_way_it_was_reached() -> None:
    lines = [f'a{n} = """x' if n % 50 == 0 else f"def f{n}(): pass" for n in range(1_500)]
    first, second = (Highlighter(lines, INKS, language="python") for _ in range(2))

    last = first.line(1_400)
    everything = [second.line(n) for n in range(len(lines))]

    assert last == everything[1_400]


def test_lines_that_are_added_colour_their_page_anew() -> None:
    lines = ['x = """', "still text"]
    highlighter = Highlighter(lines, INKS, language="python")
    before = colours(highlighter, 1)
    lines[0] = "x = 1"
    lines.append("def f(): pass")
    highlighter.grown(0)

    assert before == {"still text": PALETTE.tok_string}
    assert colours(highlighter, 2)["def"] == PALETTE.tok_keyword


def test_very_long_lines_are_plain() -> None:
    highlighter = Highlighter(["x = '" + "a" * 5_000 + "'", "def f(): pass"], INKS, language="python")

    assert {str(run.style) for run in highlighter.line(1)} == {PALETTE.code_text}


@pytest.mark.parametrize(
    ("language", "path", "name"),
    [
        ("", "src/app.py", "Python"),
        ("", "Makefile", "Makefile"),
        ("py", "", "Python"),
        ("python title=x", "", "Python"),
        ("", "Dockerfile", "Docker"),
        ("", "C:\\a\\b.rs", "Rust"),
        ("shell", "", "Bash"),
    ],
)
def test_item_59_the_lexer_comes_from_language_or_file_name(language: str, path: str, name: str) -> None:
    lexer = find_lexer(language, path)

    assert lexer is not None
    assert lexer.name == name


def test_unknown_names_have_no_lexer() -> None:
    assert find_lexer("", "notes.unknown") is None
    assert find_lexer("", "LICENSE") is None
    assert find_lexer("x" * 400, "") is None


def test_importing_the_transcript_loads_no_lexer_no_markdown_and_no_pydantic() -> None:
    code = (
        "import sys, agent_tui.ui.transcript.view, agent_tui.ui.render.content\n"
        "print([m for m in ('pygments', 'markdown_it', 'pydantic') if m in sys.modules])"
    )

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "[]"
