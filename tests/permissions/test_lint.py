from pathlib import Path

import pytest

from agent_tui.extensions.bundled import tools_dir
from agent_tui.permissions.grammar import Layer
from agent_tui.permissions.lint import lint
from agent_tui.permissions.sources import RuleFile, load_book


def findings(folder: Path, text: str, *, layer: Layer = Layer.USER) -> list[tuple[str, int]]:
    path = folder / "config.toml"
    path.write_text(text)
    return [(found.kind, found.line) for found in lint(load_book([RuleFile(path, layer, folder)]))]


@pytest.mark.parametrize(
    ("rules", "kind", "line"),
    [
        ('allow = ["Bsh(ls)"]', "unknown-tool", 2),
        ('deny = [\n  "Bash(rm *)",\n]\nallow = [\n  "Bash(rm x)",\n]', "shadowed", 6),
        ('allow = [\n  "Bash(ls)",\n  "Bash(ls)",\n]', "duplicate", 4),
        ('allow = ["Bash(git diff && ls)"]', "never-matches", 2),
        ('allow = ["Bash(ls > out)"]', "never-matches", 2),
        ('allow = ["Edit(.git/**)"]', "never-matches", 2),
        ('allow = ["Bash(agent-tui *)"]', "never-matches", 2),
        ('allow = ["Bash(X=1 make)"]', "never-matches", 2),
        ('allow = ["Bash(python *)"]', "too-wide", 2),
        ('allow = ["Bash(sudo *)"]', "too-wide", 2),
        ('allow = ["Bash(timeout *)"]', "too-wide", 2),
        ('allow = ["Bash(*)"]', "too-wide", 2),
        ('allow = ["WebFetch(domain:*)"]', "too-wide", 2),
        ('allow = ["Bash("]', "broken", 2),
    ],
)
def test_each_kind_of_fault_is_named_with_its_line(tmp_path: Path, rules: str, kind: str, line: int) -> None:
    assert (kind, line) in findings(tmp_path, f"[permissions]\n{rules}\n")


def test_allow_rule_of_an_untrusted_project_is_named(tmp_path: Path) -> None:
    found = findings(tmp_path, '[permissions]\nallow = ["Bash(ls)"]\n', layer=Layer.PROJECT)

    assert found == [("untrusted", 2)]


def test_good_rules_have_no_fault(tmp_path: Path) -> None:
    text = '[permissions]\nallow = ["Bash(git diff *)", "Edit(/src/**)", "WebFetch(domain:docs.python.org)"]\ndeny = ["Read(**/*.pem)"]\n'

    assert findings(tmp_path, text) == []


@pytest.mark.parametrize("tool", sorted(path.stem for path in tools_dir().glob("*.py")))
def test_every_built_in_tool_is_known(tmp_path: Path, tool: str) -> None:
    assert findings(tmp_path, f'[permissions]\nask = ["{tool}"]\n') == []
