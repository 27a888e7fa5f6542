"""The tour: one round of six calls of mixed kind and risk, then a second one with a real diff."""

from agent_tui.protocol.data import JsonObject
from agent_tui.providers import _offline_say as say
from agent_tui.providers._offline_turn import Answered, Step, Turn

FOLDER = ".agent-tour"


def tour(turn: Turn) -> Step:
    """Ask for six things at once, then for an edit of what was written."""
    if not turn.rounds:
        return _six_calls(turn.stamp)
    if len(turn.rounds) == 1 and turn.rounds[0][0].ok:
        return _edit_round(turn.rounds[0][0].argument("file_path"))
    return Step(text=_report(turn))


def _six_calls(stamp: str) -> Step:
    greet, notes = f"{FOLDER}/greet-{stamp}.py", f"{FOLDER}/notes-{stamp}.md"
    calls: tuple[tuple[str, JsonObject], ...] = (
        ("write", {"file_path": greet, "content": _GREET}),
        ("write", {"file_path": notes, "content": _NOTES}),
        (
            "bash",
            {"command": f"mkdir -p {FOLDER}/out && ls {FOLDER}", "description": "Make a folder, list it"},
        ),
        ("bash", {"command": "git status --short", "description": "Show what changed"}),
        ("read", {"file_path": "/etc/hosts"}),
        ("bash", {"command": f"rm -rf {FOLDER}/out", "description": "Remove the folder again"}),
    )
    return Step(
        thinking=(
            "Six independent calls in one round: two new files, three commands of different risk and one file outside "
            "the project. They come up together on one screen; nothing runs before the answer."
        ),
        text=(
            f"A short tour; all files are in the scratch folder `{FOLDER}/`. Six calls come at once: look at each "
            "row, allow some, deny one with a word why (`c`), give one a lasting answer (`p`), then press Enter."
        ),
        calls=calls,
    )


def _edit_round(greet: str) -> Step:
    return Step(
        thinking=f"{greet} exists now, so a second round can show a real diff and a search that needs no permission.",
        text="Now an edit of the new file: its diff is shown before anything changes.",
        calls=(
            ("edit", {"file_path": greet, "old_string": '"world"', "new_string": '"terminal"'}),
            ("grep", {"pattern": "def greet", "literal": True, "path": greet}),
        ),
    )


def _report(turn: Turn) -> str:
    lines = ["What came of the tour, call by call:\n"]
    lines.extend(_line(done) for round_ in turn.rounds for done in round_)
    if not turn.rounds[0][0].ok:
        lines.append("\nThe first file was not written, so there was nothing to edit in a second round.")
    outcomes = [done.ok for done in turn.rounds[0]]
    if any(outcomes) and not all(outcomes):
        lines.append("\nA call that was not done did not stop its neighbours.")
    if any(outcomes[:3]):
        lines.append(f"\n`rm -r {FOLDER}` removes the scratch folder.")
    return "\n".join(lines)


def _line(done: Answered) -> str:
    target = done.argument("file_path") or done.argument("command") or done.argument("pattern")
    if done.by_person:
        words = f", with the words {say.code(done.persons_words)}" if done.persons_words else ""
        return f"* {done.call.name} {say.code(target)}: denied by you{words}"
    state = "done" if done.ok else "not done"
    return f"* {done.call.name} {say.code(target)}: {state} - {say.code(_cut(done.first_line))}"


def _cut(line: str) -> str:
    return line if len(line) <= 100 else f"{line[:100]}..."


_GREET = '''\
"""A file of the tour."""


def greet(name: str = "world") -> str:
    return f"Hello, {name}!"


if __name__ == "__main__":
    print(greet())
'''

_NOTES = """\
# Tour

* one screen for a whole round
* every answer has its own row
"""
