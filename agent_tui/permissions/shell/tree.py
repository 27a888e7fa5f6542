"""Finds every command of a script with tree-sitter, also those inside what the strict parser refuses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agent_tui.permissions.shell.prefilter import MAX_CHARS
from agent_tui.permissions.shell.script import Redirect, Script, Simple, Step
from agent_tui.permissions.shell.words import NotStatic, Word, WordScanner, decode_ansi

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = frozenset(
    {"program", "list", "pipeline", "command", "redirected_statement", "negated_command", "comment"}
)
_REASONS = {
    "subshell": "a subshell",
    "compound_statement": "a group",
    "function_definition": "a function",
    "for_statement": "a loop",
    "c_style_for_statement": "a loop",
    "while_statement": "a loop",
    "if_statement": "a condition",
    "case_statement": "a condition",
    "command_substitution": "a command substitution",
    "process_substitution": "a process substitution",
    "simple_expansion": "a variable",
    "expansion": "a variable",
    "arithmetic_expansion": "an arithmetic expansion",
    "brace_expression": "a brace expansion",
    "variable_assignment": "an assignment, which can change what a command does",
    "variable_assignments": "an assignment, which can change what a command does",
    "declaration_command": "an assignment, which can change what a command does",
    "unset_command": "it changes the shell's state",
    "test_command": "a test of the shell",
    "translated_string": "a translated string",
}
_LITERALS = frozenset(
    {"word", "raw_string", "string", "string_content", "ansi_c_string", "concatenation", "extglob_pattern"}
)
_MOST_ROUNDS = 8
_MOST_REPEATED = 24
_MOST_FIELDS = 64
_BACKTICKS = re.compile(r"(?<!\\)`((?:[^`\\]|\\.)*)`", re.DOTALL)


@dataclass
class TreeScript(Script):
    """What tree-sitter saw. `variables` are the assignments, a guess where they are not static; `broken` says that it could not parse the text."""

    broken: bool = False
    variables: dict[str, str] = field(default_factory=dict[str, str])


class TreeReader:
    """Walks the syntax tree of one script."""

    def __init__(self, text: str, *, home: str, cwd: str, found: TreeScript | None = None) -> None:
        self._source = text.encode()
        self._home = home
        self._cwd = cwd
        self._root: Node | None = None
        self._scope: tuple[int, ...] = ()
        self._scopes = 0
        self._rounds = 0
        self.found = found or TreeScript(variables={"HOME": home, "PWD": cwd})

    def read(self) -> TreeScript:
        """Give all commands in order."""
        # tree-sitter costs 42 ms at the first import, so only the worker that needs it pays.
        from tree_sitter import Language, Parser
        from tree_sitter_bash import language

        root = self._root = Parser(Language(language())).parse(self._source).root_node
        if root.has_error:
            self.found.broken = True
            self.found.reasons.append("the command cannot be parsed")
        self._visit(root, "")
        return self.found

    def literals(self) -> Iterator[Word]:
        """Give every word and piece of text, wherever it stands: in lists, conditions, defaults of variables."""
        pending = [self._root] if self._root is not None else []
        while pending:
            node = pending.pop()
            if node.type in _LITERALS:
                yield self._word(node)
            pending.extend(child for child in node.children if child.type not in ("command_name", "comment"))

    def _visit(self, node: "Node", joined_by: str) -> None:
        match node.type:
            case "program" | "list" | "negated_command" | "pipeline":
                self._children(node, joined_by)
            case "command":
                self._command(node, (), joined_by)
            case "redirected_statement":
                self._redirected(node, joined_by)
            case "test_command":
                self._test(node, joined_by)
            case "file_redirect" | "herestring_redirect" | "heredoc_redirect":
                self._bare_redirect(node, joined_by)
            case "for_statement":
                self._loop(node, joined_by)
            case "comment":
                return
            case _:
                self._other(node, joined_by)

    def _children(self, node: "Node", joined_by: str) -> None:
        for child in node.children:
            if child.is_named:
                self._visit(child, joined_by)
                joined_by = ";"
            else:
                joined_by = child.type
                if child.type == "&":
                    self.found.reasons.append("it runs in the background")

    def _other(self, node: "Node", joined_by: str) -> None:
        if node.type in _REASONS:
            self.found.reasons.append(_REASONS[node.type])
        if node.type == "variable_assignment":
            self._assignment(node)
        if node.type in ("declaration_command", "unset_command"):
            self._add(tuple(self._words(node.children)), (), node, (), joined_by)
        self._inner(node)

    def _inner(self, node: "Node") -> None:
        """Walk whatever commands stand below a node; a subshell gets a directory of its own."""
        outer = self._scope
        if node.type in ("subshell", "command_substitution", "process_substitution"):
            self._scopes += 1
            self._scope = (*outer, self._scopes)
        joined_by = ";"
        for child in node.children:
            if child.is_named:
                self._visit(child, joined_by)
                joined_by = ";"
            elif child.type in ("&&", "||"):
                joined_by = child.type
        self._scope = outer

    def _bare_redirect(self, node: "Node", joined_by: str) -> None:
        """Read a redirection without a command of its own: `$(<FILE)`, that of a function."""
        words: list[Word] = []
        redirects = tuple(self._redirect(node, words))
        self._add(tuple(words), redirects, node, (), joined_by)
        if node.type == "heredoc_redirect":
            self._after_heredoc(node)
        else:
            self._nested(node)

    def _loop(self, node: "Node", joined_by: str) -> None:
        """Walk the body of `for` once for each of its first values."""
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        values = [w.text for value in node.children_by_field_name("value") for w in self._fields(value)]
        variable = self._text(name) if name is not None else ""
        self.found.variables[variable] = values[0] if values else ""
        self._other(node, joined_by)
        for value in values[1:_MOST_ROUNDS]:
            if body is None or max(self._rounds, len(self.found.steps)) >= _MOST_REPEATED:
                break
            self._rounds += 1
            self.found.variables[variable] = value
            self._visit(body, ";")

    def _assignment(self, node: "Node") -> tuple[str, Word]:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        word = self._word(value) if value is not None else Word("", "")
        key = self._text(name) if name is not None else ""
        self.found.variables[key] = word.text[:MAX_CHARS]  # `x=$x$x` doubles it each time
        return key, word

    def _command(self, node: "Node", redirects: tuple[Redirect, ...], joined_by: str) -> None:
        assigns: list[tuple[str, Word]] = []
        words: list[Word] = []
        own: list[Redirect] = []
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    assigns.append(self._assignment(child))
                    self.found.reasons.append(_REASONS["variable_assignment"])
                case "file_redirect" | "herestring_redirect" | "heredoc_redirect":
                    own.extend(self._redirect(child, words))
                case "command_name":
                    words.extend(self._fields(child.children[0] if child.children else child))
                case "(" | ")":
                    self.found.reasons.append("a subshell")
                case _:
                    words.extend(self._fields(child))
        self._add(tuple(words), (*own, *redirects), node, tuple(assigns), joined_by)
        for child in node.children:
            self._nested(child)

    def _nested(self, node: "Node") -> None:
        """Walk commands inside words: substitutions, also within strings and expansions."""
        if node.type in ("command_substitution", "process_substitution"):
            self.found.reasons.append(_REASONS[node.type])
            self._inner(node)
            return
        if node.type in _REASONS:
            self.found.reasons.append(_REASONS[node.type])
        for child in node.children:
            if child.is_named:
                self._nested(child)

    def _redirected(self, node: "Node", joined_by: str) -> None:
        body = node.child_by_field_name("body")
        extra: list[Word] = []
        redirects: list[Redirect] = []
        for child in node.children:
            if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                redirects.extend(self._redirect(child, extra))
        before = len(self.found.steps)
        if body is not None:
            self._visit(body, joined_by)
        self._attach(before, body, tuple(redirects), tuple(extra), node)
        for child in node.children:
            if child.type == "heredoc_redirect":
                self._after_heredoc(child)
            elif child.type in ("file_redirect", "herestring_redirect"):
                self._nested(child)

    def _attach(
        self,
        before: int,
        body: "Node | None",
        redirects: tuple[Redirect, ...],
        extra: tuple[Word, ...],
        node: "Node",
    ) -> None:
        """Give redirections to the command they belong to: the last one of a pipeline or list."""
        is_group = body is None or body.type not in (
            "command",
            "pipeline",
            "list",
            "negated_command",
            "test_command",
        )
        if is_group or len(self.found.steps) == before:
            self._add(extra, redirects, node, (), ";")
            return
        step = self.found.steps[-1]
        last = step.stages[-1]
        source = (
            self._text(node) if body is not None and body.type in ("command", "test_command") else last.source
        )
        joined = Simple((*last.words, *extra), (*last.redirects, *redirects), source, last.assigns)
        self.found.steps[-1] = replace(step, stages=(*step.stages[:-1], joined))

    def _after_heredoc(self, node: "Node") -> None:
        """Visit what stands on the line of `<<` after it, and expansions in its body."""
        starts = [self._text(child) for child in node.children if child.type == "heredoc_start"]
        quoted = any(char in start for start in starts for char in "'\"\\")
        for child in node.children:
            if child.type == "heredoc_body":
                self._nested(child)
                for match in _BACKTICKS.finditer("" if quoted else self._text(child)):
                    self.found.reasons.append(_REASONS["command_substitution"])
                    TreeReader(match[1], home=self._home, cwd=self._cwd, found=self.found).read()
            elif child.is_named and child.type not in (
                "heredoc_start",
                "heredoc_end",
                "file_redirect",
                "file_descriptor",
            ):
                joined = ";"
                if child.type == "pipeline":
                    joined = "|"
                self._visit(child, joined)

    def _redirect(self, node: "Node", extra: list[Word]) -> Iterator[Redirect]:
        """Read one redirection; words after its target are arguments of the command."""
        fd, op = "", ""
        target: Word | None = None
        if node.type == "heredoc_redirect":
            for child in node.children:
                if child.type == "file_redirect":
                    yield from self._redirect(child, extra)
                elif child.type in ("word", "string", "raw_string", "concatenation", "number"):
                    extra.append(self._word(child))
            bodies = [child for child in node.children if child.type == "heredoc_body"]
            yield Redirect("<<", None, body=self._text(bodies[0]) if bodies else "")
            return
        for child in node.children:
            if child.type == "file_descriptor":
                fd = self._text(child)
            elif not child.is_named:
                op = child.type
            elif target is None:
                target = self._word(child)
            else:
                extra.append(self._word(child))
        yield Redirect(op, target, fd)

    def _test(self, node: "Node", joined_by: str) -> None:
        """Read `[ ... ]` as a command; `[[ ... ]]` is a test of the shell."""
        if node.children and node.children[0].type == "[[":
            self.found.reasons.append(_REASONS["test_command"])
        words = tuple(self._leaves(node))
        self._add(words, (), node, (), joined_by)
        self._nested(node) if node.children and node.children[0].type != "[" else self._nested_tests(node)

    def _nested_tests(self, node: "Node") -> None:
        for child in node.children:
            self._nested(child)

    def _leaves(self, node: "Node") -> Iterator[Word]:
        for child in node.children:
            if child.type.endswith("_expression") and child.type != "brace_expression":
                yield from self._leaves(child)
            else:
                yield self._word(child)

    def _add(
        self,
        words: tuple[Word, ...],
        redirects: tuple[Redirect, ...],
        node: "Node",
        assigns: tuple[tuple[str, Word], ...],
        joined_by: str,
    ) -> None:
        simple = Simple(words, redirects, self._text(node), assigns)
        if joined_by in ("|", "|&") and self.found.steps:
            step = self.found.steps[-1]
            self.found.steps[-1] = replace(step, stages=(*step.stages, simple))
        else:
            self.found.steps.append(Step((simple,), joined_by, self._scope))

    def _words(self, nodes: "list[Node]") -> Iterator[Word]:
        for node in nodes:
            if node.is_named or node.type in ("export", "declare", "typeset", "local", "readonly", "unset"):
                yield self._word(node)

    def _text(self, node: "Node") -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _word(self, node: "Node") -> Word:
        """Read one argument; what is not known becomes a guess that is not static."""
        raw = self._text(node)
        try:
            scanner = WordScanner(raw, 0, home=self._home)
            word = scanner.scan()
            if scanner.position == len(raw):
                return word
        except NotStatic:
            pass
        return Word(self._guess(node), raw, static=False)

    def _fields(self, node: "Node") -> list[Word]:
        """Read one argument, or those that a variable outside quotes falls into."""
        word = self._word(node)
        if (
            node.type not in ("simple_expansion", "expansion", "command_substitution")
            or not word.text.strip()
        ):
            return [word]
        return [Word(text, word.raw, static=False) for text in word.text.split(maxsplit=_MOST_FIELDS)]

    def _guess(self, node: "Node") -> str:
        """Give the likely text of a word that holds expansions: known variables filled in, unknown ones empty."""
        raw = self._text(node)
        match node.type:
            case "raw_string":
                return raw[1:-1]
            case "ansi_c_string":
                try:
                    return decode_ansi(raw[2:-1])
                except NotStatic:
                    return raw[2:-1]
            case "simple_expansion" | "expansion":
                return self._guess_variable(node)
            case "command_substitution":
                return self._printed(node)
            case "process_substitution" | "arithmetic_expansion":
                return ""
            case "string" | "concatenation" | "command_name" | "translated_string":
                return self._guess_children(node)
            case _:
                return raw.replace("\\\n", "").replace("\\", "")

    def _printed(self, node: "Node") -> str:
        """Give what `$(echo FILE)` stands for; nothing for other commands."""
        inner = node.named_children
        if len(inner) != 1 or inner[0].type != "command":
            return ""
        words = [self._word(child) for child in inner[0].named_children]
        if not words or words[0].text not in ("echo", "printf") or not all(word.static for word in words):
            return ""
        return " ".join(word.text for word in words[1:] if not word.text.startswith(("-", "%")))

    def _guess_variable(self, node: "Node") -> str:
        """Give what is known of a variable, or the text that stands in for it: `${x:-FILE}`, `${x:+FILE}`."""
        raw = self._text(node)
        match = re.match(r"\$\{(\w+):?([-=+])", raw)
        if match is None:
            return self.found.variables.get(raw.strip('${}"'), "")
        known = self.found.variables.get(match[1], "")
        if known and match[2] != "+":
            return known
        return "".join(self._guess(child) for child in node.named_children[1:])

    def _guess_children(self, node: "Node") -> str:
        out: list[str] = []
        size, position = 0, node.start_byte
        for child in node.children:
            if size > MAX_CHARS and child.type in ("simple_expansion", "expansion"):
                position = child.end_byte
                continue
            out.append(self._source[position : child.start_byte].decode("utf-8", "replace"))
            if child.type not in ('"', '$"'):
                out.append(self._guess(child))
            size += len(out[-1])
            position = child.end_byte
        return "".join(out)
