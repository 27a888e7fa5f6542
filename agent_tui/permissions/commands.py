"""`agent-tui permissions`: check, list, add, remove, lint, suggest, log, import."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from agent_tui.permissions.audit import AuditLog
from agent_tui.permissions.explain import as_json, as_text
from agent_tui.permissions.grammar import Layer, Origin, Rule, parse_rule
from agent_tui.permissions.grants import GrantStore, new_grant, utc_now
from agent_tui.permissions.known_tools import no_tool
from agent_tui.permissions.modes import Mode, parse_mode
from agent_tui.permissions.needs import Places
from agent_tui.permissions.policy import Policy
from agent_tui.permissions.rules import RuleBook
from agent_tui.permissions.shell.analysis import Analyser
from agent_tui.permissions.sources import (
    RuleFile,
    claude_files,
    load_book,
    project_files,
    read_rules,
    user_file,
)
from agent_tui.protocol.arguments import ArgumentParser
from agent_tui.protocol.permissions import Decision, PermissionKind, Scope
from agent_tui.sandbox.interface import Strength

_UNITS = {"m": 60, "h": 3600, "d": 86_400}
CHILD_VARIABLE = "AGENT_TUI_CHILD"


@dataclass(frozen=True)
class Setup:
    """What the commands work on. Paths are real paths; `assumed` says where `strength` comes from."""

    project: Path
    home: Path
    state_dir: Path
    book: RuleBook
    own: tuple[Path, ...] = ()
    strength: Strength = Strength.NONE
    assumed: str = "no probe has run yet"
    tools: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def policy(self, *, mode: Mode, strength: Strength) -> Policy:
        """Build the policy that a session here would have."""
        return Policy(
            places=Places(self.project, self.home, own=self.own),
            grants=GrantStore(self.state_dir),
            audit=AuditLog(self.state_dir),
            analyse=Analyser(project=self.project, home=self.home, environ=self.environ),
            book=self.book,
            mode=mode,
            strength=lambda: strength,
        )


def standard_setup(
    *,
    project: Path,
    home: Path,
    config_dir: Path,
    state_dir: Path,
    own: tuple[Path, ...] = (),
    trusted: bool = False,
    strength: Strength = Strength.NONE,
    assumed: str = "no probe has run yet",
    extra: Sequence[RuleFile] = (),
) -> Setup:
    """Read the rules of the user and the project without the rest of the settings, which keeps `check` quick."""
    book = load_book([*extra, user_file(config_dir), *project_files(project)], trusted=trusted)
    return Setup(project, home, state_dir, book, own or (config_dir, state_dir), strength, assumed)


def explain_command(policy: Policy, command: str, *, cwd: Path) -> str:
    """Say what would happen to a command, for a person."""
    return as_text(policy, command, cwd=cwd)


def main(arguments: Sequence[str], *, setup: Callable[[Path], Setup]) -> int:
    """Run one command and give its exit code: 0 done, 1 refused or faults found, 2 usage.

    `setup` is called with the working directory once the arguments are known to be right.
    """
    try:
        options = parser().parse_args(list(arguments))
    except SystemExit as exit_:
        return int(exit_.code or 0)
    changes: bool = options.changes
    if changes and os.environ.get(CHILD_VARIABLE):
        return _refuse("a command that agent-tui itself runs may not change permissions")
    cwd = Path(os.path.realpath(options.cwd))
    if not cwd.is_dir():
        return _refuse(f"{options.cwd} is not a directory", code=2)
    run: Callable[[Setup, argparse.Namespace, Path], int] = options.run
    try:
        return run(setup(cwd), options, cwd)
    except BrokenPipeError:  # the reader of the output had enough
        raise
    except (OSError, ValueError) as error:
        return _refuse(str(error))


def _refuse(message: str, *, code: int = 1) -> int:
    print(f"agent-tui permissions: {message}", file=sys.stderr)
    return code


def parser() -> ArgumentParser:
    """Give the parser of `agent-tui permissions`; each action of it names its function as `run`."""
    made = ArgumentParser(prog="agent-tui permissions", description="Show, test and change permissions.")
    commands = made.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[[Setup, argparse.Namespace, Path], int], text: str, *, changes: bool = False
    ) -> ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--json", action="store_true", help="Print JSON.")
        added.add_argument("-C", "--cwd", default=".", metavar="DIR", help="Work in this directory.")
        added.set_defaults(run=run, changes=changes)
        return added

    check = command("check", check_command, "Say what would happen to a shell command.")
    check.add_argument("command", metavar="CMD")
    check.add_argument("--mode", default="default", help="Permission mode to assume.")
    check.add_argument("--sandbox", choices=[s.value for s in Strength], help="Sandbox to assume.")
    command("list", list_rules, "List every rule and grant with its place.")
    add = command("add", add_rule, "Keep a rule outside the project.", changes=True)
    add.add_argument("decision", choices=["allow", "ask", "deny"])
    add.add_argument("rule", metavar="RULE")
    add.add_argument("--scope", choices=["project", "user"], default="project")
    add.add_argument("--expires", default="", metavar="30m|2h|7d", help="End of the rule, from now.")
    remove = command("remove", remove_rule, "Take back a kept rule by its id or its text.", changes=True)
    remove.add_argument("rule", metavar="ID|RULE")
    command(
        "lint", lint_rules, "Find rules that do not do what their writer meant; exit 1 when there are any."
    )
    suggest = command("suggest", suggest_rules, "Suggest rules from the answers given so far.")
    suggest.add_argument("--at-least", type=int, default=3, metavar="N")
    log = command("log", show_log, "Show the decisions, newest last.")
    log.add_argument("-n", "--limit", type=int, default=50, metavar="N")
    log.add_argument("--all", action="store_true", help="Show every project's.")
    bring = command(
        "import",
        import_rules,
        "Show the permission lists of .claude/settings*.json; --yes keeps them.",
        changes=True,
    )
    bring.add_argument("--yes", action="store_true", help="Keep what was shown.")
    return made


def check_command(setup: Setup, options: argparse.Namespace, cwd: Path) -> int:
    """Print what would happen to a command. Exit code 0 whatever the decision."""
    mode = parse_mode(options.mode)
    strength = Strength(options.sandbox) if options.sandbox else setup.strength
    policy = setup.policy(mode=mode, strength=strength)
    assumed = "as given" if options.sandbox else setup.assumed
    if options.json:
        report = as_json(policy, options.command, cwd=cwd)
        report["assumed"] = {"mode": mode.value, "sandbox": strength.value, "because": assumed}
        print(json.dumps(report, ensure_ascii=True))
        return 0
    print(_visible(as_text(policy, options.command, cwd=cwd)))
    print(f"assumed: mode {mode}, sandbox {strength} ({assumed})")
    return 0


def list_rules(setup: Setup, options: argparse.Namespace, _cwd: Path) -> int:
    """Print every rule that counts, deny first, with its id, layer, file and line."""
    policy = setup.policy(mode=Mode.DEFAULT, strength=setup.strength)
    shown = list(policy.rules())
    if options.json:
        print(json.dumps([_rule_json(rule) for rule in shown]))
        return 0
    for rule in shown:
        expires = f"  until {rule.expires_at:%Y-%m-%d %H:%M}" if rule.expires_at else ""
        print(
            _visible(
                f"{rule.rule_id}  {rule.effect:5}  {rule.text}  ({rule.origin.layer}, {_place(rule)}){expires}"
            )
        )
    for problem in (*setup.book.problems, *GrantStore(setup.state_dir).problems):
        where = f"{problem.file}:{problem.line}" if problem.line else problem.file
        print(_visible(f"problem: {where}: {problem.text}; nothing is allowed unasked"))
    if not shown:
        print("There are no rules.")
    return 0


def _place(rule: Rule) -> str:
    return f"{rule.origin.file}:{rule.origin.line}" if rule.origin.file else "this session"


def _rule_json(rule: Rule) -> dict[str, str | int | None]:
    return {
        "id": rule.rule_id,
        "decision": rule.effect.value,
        "rule": rule.text,
        "layer": rule.origin.layer.value,
        "file": rule.origin.file,
        "line": rule.origin.line,
        "expires_at": rule.expires_at.isoformat() if rule.expires_at else None,
    }


def add_rule(setup: Setup, options: argparse.Namespace, _cwd: Path) -> int:
    """Keep one rule in the state file."""
    decision, scope = Decision(options.decision), Scope(options.scope)
    kept = _keep(
        setup,
        decision,
        options.rule,
        scope=scope,
        expires_at=_expiry(options.expires),
        source="permissions add",
    )
    print(json.dumps({"id": kept}) if options.json else f"Kept as {kept}.")
    if lost := no_tool(_parsed(setup, options.rule, decision), setup.tools):
        _refuse(lost)
    return 0


def _keep(
    setup: Setup,
    decision: Decision,
    rule: str,
    *,
    scope: Scope,
    source: str,
    expires_at: datetime | None = None,
) -> str:
    """Store a rule and give its id. Raises ValueError or OSError."""
    parsed = _parsed(setup, rule, decision)
    kinds = {"edit": PermissionKind.WRITE, "bash": PermissionKind.EXECUTE, "webfetch": PermissionKind.NETWORK}
    grant = new_grant(
        decision=decision,
        tool=parsed.tool,
        kind=kinds.get(parsed.tool, PermissionKind.READ if parsed.tool == "read" else PermissionKind.TOOL),
        pattern=parsed.text,
        scope=scope,
        project=setup.project,
        now=utc_now(),
        expires_at=expires_at,
        source=source,
    )
    return GrantStore(setup.state_dir).add(grant).grant_id


def _parsed(setup: Setup, rule: str, decision: Decision) -> Rule:
    """Read a rule. Raises ValueError."""
    return parse_rule(rule, decision, Origin(Layer.GRANT, setup.project))


def _expiry(text: str) -> datetime | None:
    """Read `30m`, `2h` or `7d`. Raises ValueError."""
    if not text:
        return None
    unit, number = text[-1:], text[:-1]
    if unit not in _UNITS or not number.isdigit() or int(number) == 0:
        raise ValueError(f"--expires {text!r}: write a number and m, h or d, such as 2h")
    return utc_now() + timedelta(seconds=int(number) * _UNITS[unit])


def remove_rule(setup: Setup, options: argparse.Namespace, _cwd: Path) -> int:
    """Take back a kept rule; rules of settings files are named with their place instead."""
    store = GrantStore(setup.state_dir)
    held = [grant for grant in store.all() if options.rule in (grant.grant_id, grant.pattern)]
    chosen = [
        grant for grant in held if grant.project in ("", str(setup.project)) or grant.grant_id == options.rule
    ]
    for grant in chosen:
        store.remove(grant.grant_id)
        if not options.json:
            print(_visible(f"Took back: {grant.decision} {grant.pattern}"))
    if options.json:
        print(json.dumps({"removed": [grant.grant_id for grant in chosen]}))
    if chosen:
        return 0
    for rule in setup.book.rules:
        if options.rule in (rule.rule_id, rule.text):
            return _refuse(f"{rule.text} stands in {_place(rule)}; edit it there")
    return _refuse(f"no kept rule is called {options.rule!r}; 'agent-tui permissions list' shows them")


def lint_rules(setup: Setup, options: argparse.Namespace, _cwd: Path) -> int:
    """Print the faults of all rules; exit code 1 when there are any."""
    from agent_tui.permissions.lint import lint  # only this command needs it

    policy = setup.policy(mode=Mode.DEFAULT, strength=setup.strength)
    held = [rule for rule in policy.rules() if rule.origin.layer is Layer.GRANT]
    book = RuleBook((*setup.book.rules, *held), problems=setup.book.problems, trusted=setup.book.trusted)
    findings = lint(book, tools=setup.tools)
    if options.json:
        print(json.dumps([asdict(finding) for finding in findings]))
    else:
        _print_lines(
            (f"{f.file}:{f.line}: {f.kind}: {f.rule + ': ' if f.rule else ''}{f.message}" for f in findings),
            empty="No faults.",
        )
    return 1 if findings else 0


def suggest_rules(setup: Setup, options: argparse.Namespace, _cwd: Path) -> int:
    """Print rules that past answers speak for, with how many questions each would have saved."""
    from agent_tui.permissions.suggest import suggest  # only this command needs it

    entries = [
        entry for entry in AuditLog(setup.state_dir).read() if entry.project in ("", str(setup.project))
    ]
    policy = setup.policy(mode=Mode.DEFAULT, strength=setup.strength)
    found = suggest(entries, rules=policy.rules(), enough=options.at_least)
    if options.json:
        print(json.dumps([asdict(suggestion) for suggestion in found]))
        return 0
    _print_lines(
        (
            f"{s.effect} {s.pattern}  would have answered {s.count} questions, such as {s.examples[0]}"
            for s in found
        ),
        empty="Nothing to suggest yet.",
    )
    return 0


def show_log(setup: Setup, options: argparse.Namespace, _cwd: Path) -> int:
    """Print the last decisions of this project."""
    entries = [
        e for e in AuditLog(setup.state_dir).read() if options.all or e.project in ("", str(setup.project))
    ]
    shown = entries[-options.limit :] if options.limit > 0 else entries
    if options.json:
        for entry in shown:
            print(json.dumps(asdict(entry)))
        return 0
    _print_lines(
        (
            f"{e.when[:19]}  {e.decision:5} by {e.who}  {e.tool} {e.kind} {e.target}"
            f"{f'  for {e.scope}: {e.pattern}' if e.scope != 'once' else ''}{f'  [{e.rule}]' if e.rule else ''}"
            for e in shown
        ),
        empty="No decisions yet.",
    )
    return 0


def import_rules(setup: Setup, options: argparse.Namespace, _cwd: Path) -> int:
    """Show the lists of .claude/settings*.json and, with --yes, keep them; faults are named and left out."""
    kept: list[str] = []
    found: list[dict[str, str | int]] = []
    for file in claude_files(setup.project, setup.home):
        scope = Scope.USER if file.layer is Layer.USER else Scope.PROJECT
        for item in read_rules(file):
            fault = "" if isinstance(item, Rule) else item.text
            text = item.text if isinstance(item, Rule) else ""
            decision = item.effect.value if isinstance(item, Rule) else ""
            line = item.origin.line if isinstance(item, Rule) else item.line
            found.append(
                {"decision": decision, "rule": text, "file": str(file.path), "line": line, "fault": fault}
            )
            if options.yes and isinstance(item, Rule):
                kept.append(
                    _keep(
                        setup, item.effect, item.text, scope=scope, source=f"imported from {file.path}:{line}"
                    )
                )
    if options.json:
        print(json.dumps({"found": found, "kept": kept}))
        return 0
    lines = (
        f"{e['file']}:{e['line']}: {e['decision']} {e['rule'] or 'left out: ' + str(e['fault'])}"
        for e in found
    )
    _print_lines(lines, empty="There is no .claude/settings.json with permissions.")
    if found:
        print(f"Kept {len(kept)} rules." if options.yes else "Nothing was kept; --yes keeps these rules.")
    return 0


def _print_lines(lines: Iterable[str], *, empty: str) -> None:
    shown = list(lines)
    for line in shown or [empty]:
        print(_visible(line))


def _visible(text: str) -> str:
    """Make characters that a terminal would act on visible."""
    return "".join(char if char == "\n" or char.isprintable() else f"\\u{ord(char):04x}" for char in text)
