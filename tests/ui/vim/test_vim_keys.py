import random
from collections.abc import Sequence

import pytest

from agent_tui.ui.keymap import Keymap
from agent_tui.ui.vim.keys import VimKeys


class Paper:
    def __init__(self, text: str = "", at: int = 0) -> None:
        self.text, self.at = text, at
        self.marked: tuple[int, int] | None = None

    def replace(self, start: int, end: int, text: str) -> None:
        self.text = self.text[:start] + text + self.text[end:]
        self.at = start + len(text)

    def go(self, at: int) -> None:
        assert 0 <= at <= len(self.text)
        self.at, self.marked = at, None

    def mark(self, start: int, end: int) -> None:
        self.at, self.marked = end, (start, end)


class Vi:
    """Plays keys as a person writes them: "<esc>", "<c-r>", "<cr>" stand for one key."""

    def __init__(self, text: str = "", at: int = 0, *, keys: Keymap | None = None) -> None:
        self.paper = Paper(text, at)
        self.vim = VimKeys(keys or Keymap(preset="vim"), self.paper, ("prompt", "edit", "global"))
        self.vim.engine.begin()
        self.vim.engine.escape()
        self.paper.at = at
        self.outer: list[str] = []

    def play(self, keys: str) -> "Vi":
        for key, character in _split(keys):
            if self.vim.engine.mode == "insert":
                if key == "escape":
                    self.vim.engine.escape()
                elif key == "backspace":
                    self.paper.replace(max(0, self.paper.at - 1), self.paper.at, "")
                else:
                    self.paper.replace(self.paper.at, self.paper.at, character)
                continue
            taken = self.vim.press(key, character or None)
            if taken.action:
                self.outer.append(taken.action)
        return self


_NAMED = {
    "<esc>": ("escape", ""),
    "<c-r>": ("ctrl+r", ""),
    "<cr>": ("enter", "\n"),
    "<bs>": ("backspace", ""),
    " ": ("space", " "),
}


def _split(keys: str) -> Sequence[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    while keys:
        named = next((name for name in _NAMED if keys.startswith(name)), None)
        found.append(_NAMED[named] if named else (keys[0], keys[0]))
        keys = keys[len(named or keys[0]) :]
    return found


def played(before: str, keys: str) -> str:
    """The text after the keys; "|" shows the cursor before the character it stands on."""
    at = before.index("|")
    vi = Vi(before.replace("|", ""), at).play(keys)
    return f"{vi.paper.text[: vi.paper.at]}|{vi.paper.text[vi.paper.at :]}"


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|one two three", "w", "one |two three"),
        ("|one two three", "2w", "one two |three"),
        ("one two |three", "b", "one |two three"),
        ("|foo.bar baz", "w", "foo|.bar baz"),
        ("|foo.bar baz", "W", "foo.bar |baz"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("one |two", "0", "|one two"),
        ("  |x one", "0", "|  x one"),
        ("  one|", "^", "  |one"),
        ("|one", "$", "on|e"),
        ("|one", "lllll", "on|e"),
        ("on|e", "hhhh", "|one"),
        ("|one\ntwo", "j", "one\n|two"),
        ("lon|g\nab\nlong", "jj", "long\nab\nlon|g"),
        ("a\nb\n|c", "gg", "|a\nb\nc"),
        ("|a\nb\nc", "G", "a\nb\n|c"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("|a(b[c]d)e", "%", "a(b[c]d|)e"),
        ("a(b[c]d|)e", "%", "a|(b[c]d)e"),
        ("|a-b-c", "f-", "a|-b-c"),
        ("|a-b-c", "t-;", "a-|b-c"),
        ("|a-b-c", "f-;", "a-b|-c"),
        ("|a-b-c", "f-;,", "a|-b-c"),
        ("a-b-|c", "F-", "a-b|-c"),
        ("a-b-c|d", "T-", "a-b-|cd"),
        ("|a\nb\n\nc", "}", "a\nb\n|\nc"),
        ("a\n\nb|", "{", "a\n|\nb"),
    ],
)
def test_motions_lead_where_vims_do(before: str, keys: str, after: str) -> None:
    assert played(before, keys) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|one two three", "dw", "|two three"),
        ("|one two three", "d2w", "|three"),
        ("|one two three", "2dw", "|three"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("|one two", "de", "| two"),
        ("one two th|ree", "db", "one two |ree"),
        ("one |two three", "d$", "one| "),
        ("one |two three", "D", "one| "),
        ("one |two", "d0", "|two"),
        ("a\n|b\nc", "dd", "a\n|c"),
        ("a\nb\n|c", "dd", "a\n|b"),
        ("|a\nb\nc", "2dd", "|c"),
        ("|a\nb\nc", "dj", "|c"),
        ("a\n|b\nc", "dG", "|a"),
        ("a\n|b\nc", "dgg", "|c"),
        ("|a-b-c", "df-", "|b-c"),
        ("|a-b-c", "dt-", "|-b-c"),
        ("|abc", "x", "|bc"),
        ("ab|c", "x", "a|b"),
        ("|abcd", "3x", "|d"),
        ("ab|c", "X", "a|c"),
        ("|x", "X", "|x"),
        ("say |(a b)", "d%", "say| "),
        ("|one two", "cwxy<esc>", "x|y two"),
        ("on|e two", "cwX<esc>", "on|X two"),
        ("fo|o.bar", "cwX<esc>", "fo|X.bar"),
        ("|one two three", "c2wX<esc>", "|X three"),
        ("|foo.bar baz", "cWX<esc>", "|X baz"),
        ("a\n  |b\nc", "ccX<esc>", "a\n  |X\nc"),
        ("a |b c", "CX<esc>", "a |X"),
        ("|abc", "sX<esc>", "|Xbc"),
        ("  |abc", "SX<esc>", "  |X"),
        ("|one two", "ywP", "one| one two"),
        ("|one two", "yyp", "one two\n|one two"),
        ("a\n|b", "yyP", "a\n|b\nb"),
        ("|ab", "xp", "b|a"),
        ("|a\nb", "ddp", "b\n|a"),
        ("|a\nb", "yy2p", "a\n|a\na\nb"),
        ("|ab", "rx", "|xb"),
        ("|abc", "2rx", "x|xc"),
        ("|aBc", "3~", "Ab|C"),
        ("|one\n  two", "J", "one| two"),
        ("|a\nb\nc", "3J", "a b| c"),
        ("|one", ">>", "    |one"),
        ("    |one", "<<", "|one"),
        ("|One Two", "guw", "|one Two"),
        ("|one", "gUiw", "|ONE"),
        ("|one two", "g~$", "|ONE TWO"),
    ],
)
def test_operators_take_what_vims_do(before: str, keys: str, after: str) -> None:
    assert played(before, keys) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("one tw|o", "daw", "on|e"),
        ("foo.b|ar baz", "diW", "| baz"),
        ('say "a |b" c', 'di"', 'say "|" c'),
        ('say "a |b" c', 'da"', "say | c"),
        ('|say "a b" c', 'ci"X<esc>', 'say "|X" c'),
        ("f(a, g(|b), c)", "di(", "f(a, g(|), c)"),
        ("f(a, |g(b), c)", "dib", "f(|)"),
        ("f[a, |b]", "da[", "|f"),
        ("{ a\n|b }", "di{", "{|}"),
        ("a\n|b\n\nc", "dip", "|\nc"),
        ("a\n|b\n\nc", "dap", "|c"),
        ("one |two", 'di"', "one |two"),
    ],
)
def test_text_objects_take_what_vims_do(before: str, keys: str, after: str) -> None:
    assert played(before, keys) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|one two three", "dw.", "|three"),
        ("|one two", "cwX<esc>w.", "X |X"),
        ("|a b c", "ix <esc>.", "xx|  a b c"),
        ("|abcdef", "x3.", "|ef"),
        ("|a-b-c-d", "df-.", "|c-d"),
        ("|a\nb\nc", "dd.", "|c"),
        ("|one two", "A!<esc>.", "one two!|!"),
        ("|a b", "rx w.", "x |x"),
        ("|abc def", "v2ld.", "|f"),
        ("|a", "oB<esc>.", "a\nB\n|B"),
        ('"|a" "b"', 'ci"X<esc>3l.', '"X" "|X"'),
    ],
)
def test_a_dot_does_the_last_change_again(before: str, keys: str, after: str) -> None:
    assert played(before, keys) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|one two", "dwu", "|one two"),
        ("|one two", "dwu<c-r>", "|two"),
        ("|one two three", "dwdwuu", "|one two three"),
        ("|ab", "ixyz<esc>u", "|ab"),
        ("|ab", "cwX<esc>u", "|ab"),
        ("|one two", "dw.u", "|two"),
        ("|abc", "u", "|abc"),
    ],
)
def test_undo_takes_back_a_whole_command(before: str, keys: str, after: str) -> None:
    assert played(before, keys) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|one two", "vwd", "|wo"),
        ("one |two", "vbd", "|wo"),
        ("|one\ntwo\nthree", "Vjd", "|three"),
        ("|one two", "viwd", "| two"),
        ("|one two", "vey$p", "one twoon|e"),
        ("|one two", "veU", "|ONE two"),
        ("|ONE two", "veu", "|one two"),
        ("|one two", "vegU", "|ONE two"),
        ("|one two", "vecX<esc>", "|X two"),
        ("|one two", "vww<esc>x", "one t|w"),
        ("|one\ntwo", "Vj>", "    |one\n    two"),
        ("|one", "vlrx", "x|xe"),
    ],
)
def test_visual_mode_selects_first(before: str, keys: str, after: str) -> None:
    assert played(before, keys) == after


def test_any_keys_at_all_leave_a_whole_text() -> None:
    chance = random.Random(11)
    keys = [*"hjklwWeEbB0^$GfFtT;,dcy><iaIAoOxXDCsSYpPr~JvVuU.{}%\"'([p12 gu", "<esc>", "<c-r>", "<bs>"]
    for _ in range(300):
        vi = Vi("one (two)\n\n  'three' あe\u0301 four\nlast", chance.randrange(30))
        vi.play("".join(chance.choice(keys) for _ in range(60)))
        assert 0 <= vi.paper.at <= len(vi.paper.text)


def test_vims_keys_can_be_changed_like_any_other() -> None:
    keys = Keymap({"vim": {"q": "delete", "d": ""}}, preset="vim")

    assert Vi("one two", 0, keys=keys).play("qw").paper.text == "two"
    assert Vi("one two", 0, keys=keys).play("dw").paper.text == "one two"
