"""Reads `allowed-tools` of a command or skill: the rules that are lent to the turn it begins."""

from pathlib import Path

from agent_tui.extensions.commands import CommandFile
from agent_tui.extensions.skills import Skill
from agent_tui.permissions.grammar import Layer, Origin, Rule, RuleError, parse_rule
from agent_tui.protocol.permissions import Decision


def lent_rules(file: CommandFile | Skill) -> tuple[list[Rule], list[str]]:
    """Give the rules, and a sentence with file and line for each text that is none."""
    layer = Layer.PROJECT if file.origin == "project" else Layer.USER
    rules: list[Rule] = []
    wrong: list[str] = []
    for text in file.allowed_tools:
        origin = Origin(layer, Path(file.path.anchor), str(file.path), file.rules_line)
        try:
            rules.append(parse_rule(text, Decision.ALLOW, origin))
        except RuleError as error:
            wrong.append(f"{file.path}:{file.rules_line}: allowed-tools: {error}; this rule does not count")
    return rules, wrong
