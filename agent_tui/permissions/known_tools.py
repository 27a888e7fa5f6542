"""Tells whether a tool that a rule names is there: a rule for none matches nothing, which for a denial is a danger."""

from collections.abc import Collection

from agent_tui.permissions.grammar import FETCHERS, READERS, SHELLS, WRITERS, Rule, canonical_tool
from agent_tui.protocol.near_names import did_you_mean

_SPELLED = {
    "webfetch": "WebFetch",
    "websearch": "WebSearch",
    "todowrite": "TodoWrite",
    "todoread": "TodoRead",
    **{name: name.capitalize() for name in ("bash", "edit", "write", "read", "grep", "glob", "list")},
    **{name: name.capitalize() for name in ("patch", "task", "skill", "question")},
}
"""Names as the documentation writes them in rules; all others as the model knows them."""
BUILT_IN = (
    WRITERS | READERS | SHELLS | FETCHERS | _SPELLED.keys() | {"bash_output", "bash_kill", "exit_plan_mode"}
)
_CANONICAL = frozenset(map(canonical_tool, BUILT_IN))


def unknown_tool(rule: Rule, tools: Collection[str] = (), *, are_all: bool = False) -> str:
    """Say that there is no tool of the name in `rule`, "" when there is.

    `tools` are those there are besides the built-in ones; `are_all` says that nothing can bring more. Tools of MCP
    servers are never unknown: which there are is known only while the servers run.
    """
    if rule.tool in ("*", *_CANONICAL) or rule.tool.startswith("mcp__"):
        return ""
    if rule.tool in map(canonical_tool, tools):
        return ""
    name = rule.text.partition("(")[0].strip()
    known = [*_SPELLED.values(), *sorted(BUILT_IN - _SPELLED.keys()), *sorted(tools)]
    meant = did_you_mean(name, known, otherwise="")
    if are_all:
        return f"there is no tool {name!r}, so the rule matches nothing{meant}"
    return f"no tool is known as {name!r}; unless an extension or a tool file brings it, the rule matches nothing{meant}"


def no_tool(rule: Rule, tools: Collection[str] = (), *, are_all: bool = False) -> str:
    """Say what `unknown_tool` says as a sentence that names the rule."""
    said = unknown_tool(rule, tools, are_all=are_all)
    return said and f"{rule.text!r}: {said}{'' if said.endswith('?') else '.'}"
