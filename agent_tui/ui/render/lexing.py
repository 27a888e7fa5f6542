"""Pygments lexers with a memory: tokens of a piece of text, and the state in which the next piece begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from inspect import signature
from typing import Protocol, cast

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext, RegexLexer
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]  # untyped options
from pygments.util import ClassNotFound

# Asking pygments by file name looks through every installed package for plugins, 30 ms the first time.
BY_SUFFIX = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript",
    "jsx": "jsx", "ts": "typescript", "tsx": "tsx", "json": "json", "jsonl": "json", "md": "markdown",
    "toml": "toml", "yaml": "yaml", "yml": "yaml", "xml": "xml", "html": "html", "htm": "html", "css": "css",
    "scss": "scss", "sh": "bash", "bash": "bash", "zsh": "bash", "fish": "fish", "c": "c", "h": "c",
    "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "rs": "rust", "go": "go", "java": "java",
    "kt": "kotlin", "rb": "ruby", "php": "php", "sql": "sql", "lua": "lua", "swift": "swift", "cs": "csharp",
    "scala": "scala", "hs": "haskell", "ex": "elixir", "exs": "elixir", "erl": "erlang", "clj": "clojure",
    "r": "r", "jl": "julia", "pl": "perl", "ini": "ini", "cfg": "ini", "conf": "ini", "diff": "diff",
    "patch": "diff", "mk": "make", "tf": "terraform", "proto": "protobuf", "vue": "vue", "svelte": "html",
    "tcss": "css", "zig": "zig", "nix": "nix", "dart": "dart", "graphql": "graphql", "tex": "latex",
}  # fmt: skip
BY_NAME = {
    "makefile": "make", "gnumakefile": "make", "dockerfile": "docker", "cmakelists.txt": "cmake",
    ".bashrc": "bash", ".zshrc": "bash", ".profile": "bash", "gemfile": "ruby", "rakefile": "ruby",
}  # fmt: skip
ALIASES = {"shell": "bash", "console": "bash", "zsh": "bash", "jsonc": "json", "json5": "json"}
PLAIN = frozenset({"", "text", "txt", "plain", "plaintext", "none", "output"})

State = tuple[str, ...]
Token = tuple[tuple[str, ...], str]
Rule = tuple[Callable[..., object], object, object]
ROOT: State = ("root",)


class _Match(Protocol):
    def end(self) -> int: ...
    def group(self) -> str: ...


class _Stacked(Protocol):
    def get_tokens_unprocessed(
        self, text: str, stack: State
    ) -> Iterable[tuple[int, tuple[str, ...], str]]: ...


@lru_cache(maxsize=64)
def find_lexer(language: str, path: str) -> Lexer | None:
    """Give the lexer of a language, else of a file name; None for plain text and unknown ones."""
    words = language.lower().split(None, 1)
    word = words[0].strip("{}.,") if words else _by_path(path)
    word = ALIASES.get(word, BY_SUFFIX.get(word, word))
    if word in PLAIN or len(word) > 40:
        return None
    try:
        return get_lexer_by_name(word, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _by_path(path: str) -> str:
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    return BY_NAME.get(name) or BY_SUFFIX.get(name.rsplit(".", 1)[-1] if "." in name else "", "")


def lex(lexer: Lexer, text: str, state: State) -> tuple[list[Token], State]:
    """Give the tokens of `text`, begun in `state`, and the state at its end.

    Lexers that keep no stack of states begin at their root each time.
    """
    scan = type(lexer).get_tokens_unprocessed
    try:
        if scan is RegexLexer.get_tokens_unprocessed:
            return _lex_rules(lexer, text, state)
        if scan is ExtendedRegexLexer.get_tokens_unprocessed:
            return _lex_context(cast("ExtendedRegexLexer", lexer), text, state)
        if _takes_stack(
            type(lexer)
        ):  # it adds to what the rules give; their end state is still the right one
            return _foreign(cast("_Stacked", lexer).get_tokens_unprocessed(text, state)), _lex_rules(
                lexer, text, state
            )[1]
        return _foreign(lexer.get_tokens_unprocessed(text)), ROOT
    except Exception:  # foreign code: lexers fail on odd input in ways of their own; the text stays readable
        return [((), text)], ROOT


def _foreign(tokens: Iterable[tuple[int, tuple[str, ...], str]]) -> list[Token]:
    return [(tuple(kind), value) for _, kind, value in tokens]


@lru_cache(maxsize=64)
def _takes_stack(lexer_type: type[Lexer]) -> bool:
    return (
        issubclass(lexer_type, RegexLexer)
        and "stack" in signature(lexer_type.get_tokens_unprocessed).parameters
    )


def _lex_context(lexer: ExtendedRegexLexer, text: str, state: State) -> tuple[list[Token], State]:
    context = LexerContext(text, 0, list(state))
    return _foreign(lexer.get_tokens_unprocessed(text, context)), tuple(context.stack)


def _lex_rules(lexer: Lexer, text: str, state: State) -> tuple[list[Token], State]:
    """Do what RegexLexer.get_tokens_unprocessed does; that one keeps its stack of states to itself."""
    rules = cast("dict[str, list[Rule]]", vars(type(lexer))["_tokens"])
    stack, at, size = list(state), 0, len(text)
    tokens: list[Token] = []
    while at < size:
        for match_at, action, new_state in rules[stack[-1]]:
            match = cast("_Match | None", match_at(text, at))
            if match is None:
                continue
            if isinstance(action, tuple):
                tokens.append((tuple(cast("tuple[str, ...]", action)), match.group()))
            elif action is not None:
                tokens.extend(_group_tokens(cast("Callable[..., Iterable[object]]", action), lexer, match))
            stalled = match.end() == at and new_state is None
            at = match.end()
            if new_state is not None:
                _enter(stack, new_state)
            if not stalled:
                break
        else:
            tokens.append((() if text[at] == "\n" else ("Error",), text[at]))
            if text[at] == "\n":
                stack = ["root"]
            at += 1
    return tokens, tuple(stack)


def _group_tokens(action: Callable[..., Iterable[object]], lexer: Lexer, match: _Match) -> Iterator[Token]:
    for _, kind, value in cast("Iterable[tuple[int, tuple[str, ...], str]]", action(lexer, match)):
        yield tuple(kind), value


def _enter(stack: list[str], new_state: object) -> None:
    match new_state:
        case int():
            del stack[max(1, len(stack) + new_state if new_state < 0 else new_state) :]
        case str():
            _step(stack, new_state)
        case tuple():
            for step in cast("tuple[str, ...]", new_state):
                _step(stack, step)
        case _:
            raise TypeError(f"unknown lexer state {new_state!r}")


def _step(stack: list[str], step: str) -> None:
    if step == "#pop":
        del stack[max(1, len(stack) - 1) :]
    else:
        stack.append(stack[-1] if step == "#push" else step)
