"""The plans of the offline model: what to call next and what to say of the results that came back."""

import fnmatch
import re
import shlex
from collections.abc import Callable

from agent_tui.protocol.data import JsonObject
from agent_tui.providers import _offline_say as say
from agent_tui.providers._offline_turn import Answered, Step, Turn

Plan = Callable[[Turn], Step]
"""Looks at the turn so far and gives the next step; must not keep state between two steps."""


def last(turn: Turn) -> Answered:
    """The last call of the last round."""
    return turn.rounds[-1][-1]


def one_call(
    name: str, arguments: JsonObject, *, thinking: str, text: str, answer: Callable[[Answered], str]
) -> Plan:
    """Make one call, then word its result with `answer`."""

    def step(turn: Turn) -> Step:
        if not turn.rounds:
            return Step(thinking=thinking, text=text, calls=((name, arguments),))
        return Step(text=answer(last(turn)))

    return step


def unknown(prompt: str) -> Plan:
    """Say that the prompt is none of the known ones."""
    return lambda _: Step(text=say.unknown(prompt))


def help_text(turn: Turn) -> Step:
    """Say what can be asked."""
    return Step(text=say.HELP)


def find(pattern: str, *, path: str) -> Plan:
    """Search the files for a plain text."""
    arguments: JsonObject = {"pattern": pattern, "literal": True}
    if path:
        arguments["path"] = path
    where = f" in {say.code(path)}" if path else ""

    def answer(done: Answered) -> str:
        if not done.ok:
            return say.refused(done, what=f"The search for {say.code(pattern)}{where}")
        return f"The search for {say.code(pattern)}{where} gave:\n\n{say.fenced(done.output)}"

    return one_call(
        "grep",
        arguments,
        thinking=f"The person looks for {pattern!r}. One search answers that.",
        text=f"I search for {say.code(pattern)}{where}.",
        answer=answer,
    )


def find_files(pattern: str) -> Plan:
    """Find files by name."""
    wide = pattern if "/" in pattern or pattern.startswith("**") else f"**/{pattern}"

    def answer(done: Answered) -> str:
        if not done.ok:
            return say.refused(done, what=f"Looking for {say.code(wide)}")
        return f"Files that match {say.code(wide)}:\n\n{say.fenced(done.output)}"

    return one_call(
        "glob",
        {"pattern": wide},
        thinking=f"File names that match {wide!r}: the glob tool knows.",
        text=f"I look for files like {say.code(wide)}.",
        answer=answer,
    )


def read(path: str, *, first: int, last: int) -> Plan:
    """Read a file, or its 1-based lines `first` to `last` (0: from the start, to the end)."""
    arguments: JsonObject = {"file_path": path}
    if first:
        arguments["offset"] = first
        arguments["limit"] = max(1, (last or first) - first + 1)

    def answer(done: Answered) -> str:
        if not done.ok:
            return say.refused(done, what=f"Reading {say.code(path)}")
        lines = done.file_text.count("\n") + 1
        return (
            f"The read of {say.code(path)} gave {say.count(lines, 'line')}:\n\n{say.fenced(done.file_text)}"
        )

    return one_call(
        "read",
        arguments,
        thinking=f"I read {path!r} and show what stands there.",
        text=f"I read {say.code(path)}.",
        answer=answer,
    )


def list_folder(path: str) -> Plan:
    """List a folder."""

    def answer(done: Answered) -> str:
        if not done.ok:
            return say.refused(done, what=f"Listing {say.code(path)}")
        return f"In {say.code(path)}:\n\n{say.fenced(done.output, max_lines=40)}"

    return one_call(
        "list",
        {"path": path, "depth": 2},
        thinking=f"A listing of {path!r}, two levels deep, will do.",
        text=f"I list {say.code(path)}.",
        answer=answer,
    )


def run(command: str) -> Plan:
    """Run a shell command exactly as given."""

    def answer(done: Answered) -> str:
        if not done.ok:
            return say.refused(done, what=f"The command {say.code(command)}")
        return f"{say.code(command)} ran. What it printed last:\n\n{say.fenced(done.output, tail=True)}"

    return one_call(
        "bash",
        {"command": command, "description": "Run what the person asked for"},
        thinking="The command is given word for word; I run it unchanged and report what it prints.",
        text=f"I run {say.code(command)}.",
        answer=answer,
    )


_TEST_COMMANDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("pyproject.toml", "pytest.ini", "setup.py", "tox.ini"), "python3 -m pytest -q"),
    (("Cargo.toml",), "cargo test"),
    (("go.mod",), "go test ./..."),
    (("package.json",), "npm test"),
    (("Makefile",), "make test"),
    (("conftest.py", "test_*.py", "*_test.py"), "python3 -m pytest -q"),
)


def run_tests(turn: Turn) -> Step:
    """List the project, choose the test command by the files that are there, run it."""
    if not turn.rounds:
        return Step(
            thinking="Which tests? The files at the top of the project will tell the test command.",
            text="I look which tests this project has.",
            calls=(("list", {"path": ".", "depth": 1}),),
        )
    listing = turn.rounds[0][0]
    if not listing.ok:
        return Step(text=say.refused(listing, what="Listing the project"))
    names = entry_names(listing.output)
    command = next(
        (cmd for files, cmd in _TEST_COMMANDS if any(fnmatch.filter(names, one) for one in files)), ""
    )
    if not command:
        return Step(text="I see no file here whose test command I know. Say `run COMMAND` with your own.")
    if len(turn.rounds) == 1:
        return Step(
            thinking=f"By the files that are there, {command!r} is the usual command.",
            text=f"I run {say.code(command)}.",
            calls=(("bash", {"command": command, "description": "Run the project's tests"}),),
        )
    return run(command)(turn)


def replace(path: str, old: str, new: str, *, every: bool) -> Plan:
    """Read a file, then change it in the next round."""

    def step(turn: Turn) -> Step:
        if not turn.rounds:
            return Step(
                thinking=f"A file must be read before it is edited: first {path!r}, the edit in the next round.",
                text=f"I read {say.code(path)} before I change it.",
                calls=(("read", {"file_path": path}),),
            )
        if len(turn.rounds) == 1:
            if not last(turn).ok:
                return Step(text=say.refused(last(turn), what=f"Reading {say.code(path)}"))
            return Step(
                thinking=f"I have seen {path!r}. Now one edit: {old!r} becomes {new!r}.",
                text=f"I replace {say.code(old)} with {say.code(new)}.",
                calls=(("edit", _edit(path, old, new, every=every)),),
            )
        if not last(turn).ok:
            return Step(text=say.refused(last(turn), what=f"The edit of {say.code(path)}"))
        return Step(text=f"{say.code(path)} is changed:\n\n{say.fenced(last(turn).output)}")

    return step


def _edit(path: str, old: str, new: str, *, every: bool) -> JsonObject:
    arguments: JsonObject = {"file_path": path, "old_string": old, "new_string": new}
    if every:
        arguments["replace_all"] = True
    return arguments


def create(path: str, content: str) -> Plan:
    """Write a file; a final newline is added when there is none."""
    whole = content if content.endswith("\n") else f"{content}\n"

    def answer(done: Answered) -> str:
        if not done.ok:
            return say.refused(done, what=f"Writing {say.code(path)}")
        return f"{say.code(path)} is written. The tool says: {done.first_line}"

    return one_call(
        "write",
        {"file_path": path, "content": whole},
        thinking=f"The text is given; one write of {path!r} is all it takes.",
        text=f"I write {say.code(path)}.",
        answer=answer,
    )


def delete(path: str) -> Plan:
    """Remove a file by the shell."""
    return run(f"rm -- {shlex.quote(path)}")


def fetch(url: str) -> Plan:
    """Fetch a page."""

    def answer(done: Answered) -> str:
        if not done.ok:
            return say.refused(done, what=f"Fetching {say.code(url)}")
        return f"{say.code(url)} answered:\n\n{say.fenced(done.output)}"

    return one_call(
        "webfetch",
        {"url": url, "format": "markdown"},
        thinking="A page of the web: this asks for the network, for this address only.",
        text=f"I fetch {say.code(url)}.",
        answer=answer,
    )


def web_search(query: str) -> Plan:
    """Search the web."""

    def answer(done: Answered) -> str:
        if not done.ok:
            return say.refused(done, what=f"The web search for {say.code(query)}")
        return f"The web search for {say.code(query)} gave:\n\n{say.fenced(done.output, max_lines=40)}"

    return one_call(
        "websearch",
        {"query": query},
        thinking="The search tool says itself when no search service is set up.",
        text=f"I search the web for {say.code(query)}.",
        answer=answer,
    )


def todo(items: str) -> Plan:
    """Write the todo list: items split at newlines or semicolons, the first one in progress."""
    contents = [re.sub(r"^[-*]\s+", "", part.strip()) for part in re.split(r"[;\n]", items) if part.strip()]

    def answer(done: Answered) -> str:
        if not done.ok:
            return say.refused(done, what="The todo list")
        return f"The todo list is set. The tool says:\n\n{say.fenced(done.output)}"

    return one_call(
        "todowrite",
        {
            "todos": [
                {
                    "content": content,
                    "status": "pending" if index else "in_progress",
                    "priority": "medium",
                }
                for index, content in enumerate(contents)
            ]
        },
        thinking=f"{len(contents)} items; the list is replaced as a whole.",
        text="I write the todo list.",
        answer=answer,
    )


def show_todos(turn: Turn) -> Step:
    """Read the todo list."""
    if not turn.rounds:
        return Step(text="I read the todo list.", calls=(("todoread", {}),))
    return Step(text=f"The todo list:\n\n{say.fenced(last(turn).output)}")


def summarize(turn: Turn) -> Step:
    """Tell what the history holds: prompts, files and commands; nothing is interpreted."""
    lines = [f"* asked: {say.code(_short(prompt))}" for prompt in turn.earlier[-20:]]
    for done in (answered for round_ in turn.history for answered in round_):
        target = next((v for k in _TARGETS if (v := done.argument(k))), "")
        outcome = "" if done.ok else ", which failed or was denied"
        lines.append(f"* {done.call.name} {say.code(_short(target))}{outcome}")
    body = "\n".join(lines) if lines else "* nothing yet"
    return Step(text=f"What the history holds, in order:\n\n{body}")


_TARGETS = ("file_path", "command", "pattern", "url", "query", "path")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:80]}..."


def entry_names(listing: str) -> set[str]:
    """Names at the top of a listing, without the tree's drawing and the slash of folders.

    In an indented tree of "- name" items the first item is the folder itself and its entries are one step in.
    """
    items = [found for line in listing.splitlines() if (found := re.match(r"(\s*)- (.+)", line))]
    if items:
        return {item[2].strip().rstrip("/") for item in items[1:] if len(item[1]) <= 2}
    stripped = (re.sub(r"^[\s│├└─|`-]+", "", line).strip() for line in listing.splitlines())
    return {name.rstrip("/") for name in stripped if name}
