"""Finds rules that do not do what their writer meant."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_tui.permissions.grammar import Rule, takes_path
from agent_tui.permissions.known_tools import unknown_tool
from agent_tui.permissions.paths import protected_by
from agent_tui.permissions.patterns import has_wildcard
from agent_tui.permissions.rules import RuleBook
from agent_tui.permissions.shell.tables import words_of
from agent_tui.permissions.shell.wrappers import SHELLS as SHELL_PROGRAMS
from agent_tui.permissions.shell.wrappers import SUPERUSER, base_name
from agent_tui.protocol.permissions import Decision

_ANYTHING = frozenset(
    [
        "make",
        "npx",
        "bunx",
        "uvx",
        "find",
        "awk",
        "gawk",
        "sed",
        "docker",
        "podman",
        "ssh",
        "eval",
        "exec",
        "source",
        ".",
    ]
)
_INTERPRETERS = (
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "lua",
    "deno",
    "bun",
    "osascript",
    "Rscript",
    "java",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: `kind` is unknown-tool, shadowed, never-matches, too-wide, duplicate, untrusted or broken."""

    kind: str
    rule: str
    message: str
    file: str = ""
    line: int = 0


def lint(book: RuleBook, *, tools: Sequence[str] = ()) -> list[Finding]:
    """Check every rule of a book. `tools` are the names of further tools there are."""
    findings = [Finding("broken", "", problem.text, problem.file, problem.line) for problem in book.problems]
    for index, rule in enumerate(book.rules):
        if unknown := unknown_tool(rule, tools):
            findings.append(_finding("unknown-tool", rule, unknown))
        findings.extend(_never(rule))
        findings.extend(_wide(rule))
        findings.extend(_shadowed(rule, book.rules, index))
        if rule.effect is Decision.ALLOW and rule not in book.of(Decision.ALLOW):
            findings.append(_finding("untrusted", rule, "it counts only once this project is trusted"))
    return findings


def _finding(kind: str, rule: Rule, message: str) -> Finding:
    return Finding(kind, f"{rule.effect} {rule.text}", message, rule.origin.file, rule.origin.line)


def _never(rule: Rule) -> Iterator[Finding]:
    """Find rules that can never decide anything."""
    specifier = rule.specifier or ""
    if rule.effect is Decision.ALLOW and takes_path(rule.tool) and rule.tool == "edit" and specifier:
        stem = specifier.rstrip("*").rstrip("/")
        if stem and not has_wildcard(stem) and (name := protected_by(stem)):
            yield _finding("never-matches", rule, f"{name} is protected: no rule can allow it")
    if rule.tool == "bash" and specifier:
        yield from _never_command(rule, specifier)


def _never_command(rule: Rule, specifier: str) -> Iterator[Finding]:
    if any(sign in specifier for sign in ("&&", "||", ";", "\n")) or (" | " in specifier):
        yield _finding("never-matches", rule, "a rule means one simple command; write one rule for each part")
    elif rule.effect is Decision.ALLOW and any(
        sign in specifier for sign in ("$(", "`", " > ", " >> ", " < ")
    ):
        yield _finding("never-matches", rule, "an allow rule covers no redirection and no substitution")
    elif rule.effect is Decision.ALLOW and base_name(specifier.split(" ", 1)[0]) == "agent-tui":
        yield _finding("never-matches", rule, "no rule can allow agent-tui itself")
    elif specifier.split(" ", 1)[0].endswith("=") or "=" in specifier.split(" ", 1)[0]:
        yield _finding("never-matches", rule, "an assignment in front of a command is never part of a rule")


def _wide(rule: Rule) -> Iterator[Finding]:
    """Find allow rules that let anything run."""
    if rule.effect is not Decision.ALLOW:
        return
    if rule.tool == "*" or (rule.tool == "bash" and (rule.specifier or "*").strip() == "*"):
        yield _finding("too-wide", rule, "it lets every command run")
        return
    if rule.tool == "webfetch" and rule.specifier == "*":
        yield _finding("too-wide", rule, "it lets data go to every host")
    if rule.tool == "edit" and rule.specifier in ("//**", "~/**", "/**/..", "//"):
        yield _finding("too-wide", rule, "it lets files be written everywhere")
    if rule.tool == "bash" and has_wildcard(rule.specifier or ""):
        program = base_name((rule.specifier or "").split(" ", 1)[0].rstrip("*"))
        if program in _wide_programs():
            yield _finding(
                "too-wide", rule, f"{program} runs whatever it is given; allow exact commands instead"
            )


def _wide_programs() -> frozenset[str]:
    wrappers = words_of("programs.txt", "wrappers")
    return (
        frozenset(_INTERPRETERS)
        | _ANYTHING
        | SHELL_PROGRAMS
        | SUPERUSER
        | wrappers - {"poetry", "uv", "pdm", "git-annex"}
    )


def _shadowed(rule: Rule, rules: Sequence[Rule], index: int) -> Iterator[Finding]:
    """Find rules that another one decides first, and rules written twice."""
    order = (Decision.DENY, Decision.ASK, Decision.ALLOW)
    for other_index, other in enumerate(rules):
        if other is rule or not _covers(other, rule):
            continue
        if order.index(other.effect) < order.index(rule.effect):
            yield _finding(
                "shadowed",
                rule,
                f"{other.effect} {other.text} ({other.origin.file}:{other.origin.line}) decides first",
            )
            return
        if (
            other.effect is rule.effect
            and other_index < index
            and (other.tool, other.specifier) == (rule.tool, rule.specifier)
        ):
            yield _finding("duplicate", rule, f"it stands in {other.origin.file}:{other.origin.line} already")
            return


def _covers(wide: Rule, narrow: Rule) -> bool:
    """Tell whether `wide` matches everything `narrow` does, as far as their texts show."""
    if wide.tool not in ("*", narrow.tool):
        return wide.tool.startswith("mcp__") and narrow.tool.startswith(
            wide.tool.rstrip("*").rstrip("_") + "__"
        )
    if wide.specifier is None:
        return True
    if narrow.specifier is None:
        return False
    if wide.specifier == narrow.specifier:
        return True
    if wide.tool == "bash":
        stem = wide.specifier[:-2]
        return (
            wide.specifier.endswith(" *")
            and not has_wildcard(stem)
            and f"{narrow.specifier} ".startswith(f"{stem} ")
        )
    if takes_path(wide.tool):
        stem = wide.specifier[:-2]
        return wide.specifier.endswith("/**") and not has_wildcard(stem) and narrow.specifier.startswith(stem)
    return wide.specifier == "*"
