import re
from pathlib import Path

from agent_tui.ui.bindings import ACTIONS, DEFAULTS
from agent_tui.ui.commands.builtin import builtin_commands
from agent_tui.ui.keymap import Keymap, read_overrides, spell
from agent_tui.ui.presets import PRESETS
from agent_tui.ui.screens.help import TITLES
from agent_tui.ui.widgets.segments import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "keys.md"


def table(title: str, context: str) -> list[str]:
    rows = [f"### {title} (`{context}`)", "", "| key | action | does |", "|---|---|---|"]
    keys = Keymap()
    for name, label in ACTIONS[context].items():
        bound = " ".join(f"`{key}`" for key in keys.keys_of(context, name)).replace("|", "\\|")
        rows.append(f"| {bound or '-'} | `{name}` | {label.replace('|', chr(92) + '|')} |")
    return [*rows, ""]


def preset_table(name: str) -> list[str]:
    rows = [f"### What {name} changes", "", "| context | key | action |", "|---|---|---|"]
    for context, keys in PRESETS[name].items():
        for key, action in keys.items():
            rows.append(f"| {context} | `{spell(key)}` | {f'`{action}`' if action else 'nothing'} |")
    return [*rows, ""]


def command_table() -> list[str]:
    rows = ["| command | also | does |", "|---|---|---|"]
    for command in builtin_commands():
        usage = f" {command.usage}" if command.usage else ""
        also = " ".join(f"`/{alias}`" for alias in command.aliases)
        rows.append(
            f"| `/{command.name}{usage}`".replace("|", "\\|")[1:] + f" | {also} | {command.summary} |"
        )
    return [*rows, ""]


def generated() -> dict[str, str]:
    keys = [line for context, title in TITLES.items() for line in table(title, context)]
    return {
        "keys": "\n".join([*keys, *preset_table("emacs")]),
        "commands": "\n".join(command_table()),
        "segments": "\n".join(
            ["| segment | shows |", "|---|---|", *(f"| `{n}` | {k.words} |" for n, k in KINDS.items()), ""]
        ),
    }


def filled(page: str) -> str:
    for name, text in generated().items():
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)",
            lambda found, text=text: f"{found[1]}\n{text}\n{found[2]}",
            page,
            flags=re.DOTALL,
        )
    return page


def test_the_page_lists_every_key_command_and_segment_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == filled(page), "run: python -m tests.docs.test_keys_page"


def test_every_context_has_a_title() -> None:
    assert set(TITLES) == set(ACTIONS) == set(DEFAULTS)


def test_the_keymap_file_of_the_page_is_one(tmp_path: Path) -> None:
    found = re.search(r"```toml\n(# keymap.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    file = tmp_path / "keymap.toml"
    file.write_text(found[1])

    overrides = read_overrides(file)

    assert overrides["prompt"]["ctrl+s"] == ""


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
