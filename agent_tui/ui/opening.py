"""Tells from the arguments and one variable whether the full screen will open, before anything can parse them."""

from collections.abc import Mapping, Sequence

LINES = "AGENT_TUI_SCREEN_READER"
"""The variable that asks for plain lines as `--screen-reader` does."""
SWITCHES = frozenset(
    (
        *(
            "-c",
            "--continue",
            "--fork-session",
            "--plan",
            "--yolo",
            "--dangerously-skip-permissions",
            "--afk",
        ),
        *("--no-mouse", "--no-color", "--trust", "--ephemeral", "--no-session-persistence"),
        *("--strict-mcp-config", "--bare", "--safe-mode", "--verbose"),
    )
)
VALUED = frozenset(
    (
        *("-m", "--model", "--provider", "--base-url", "--fallback-model", "--effort", "--thinking"),
        *("--permission-mode", "--max-turns", "--max-budget-usd", "--max-tokens", "--system-prompt"),
        *("--system-prompt-file", "--append-system-prompt", "--append-system-prompt-file", "--tools"),
        *(
            "--allowed-tools",
            "--allow-tool",
            "--disallowed-tools",
            "--deny-tool",
            "-n",
            "--name",
            "-C",
            "--cd",
        ),
        *("--work-dir", "--add-dir", "--theme", "--mcp-config", "--session-id", "--agent"),
        *("--profile", "--setting-sources", "--debug-file"),
    )
)
RESUME = frozenset(("-r", "--resume"))


def opens_screen(arguments: Sequence[str]) -> bool:
    """Tell whether these arguments surely open the full screen; a wrong "no" only costs the head start."""
    words = list(arguments)
    if words[:1] == ["resume"]:
        words[0] = "--resume"
    prompts = 0
    while words:
        word = words.pop(0)
        name, has_value, _ = word.partition("=")
        if word in SWITCHES or (has_value and name in VALUED | RESUME):
            continue
        if word in VALUED and words:
            words.pop(0)
        elif word in RESUME:
            if words and not words[0].startswith("-"):
                words.pop(0)
        elif word.startswith("-") or word.isalpha():  # a lone word may be a subcommand
            return False
        else:
            prompts += 1
    return prompts <= 1


def asks_for_lines(environment: Mapping[str, str]) -> bool:
    """Tell whether the environment asks for plain lines in every run; empty and 0 do not."""
    return environment.get(LINES, "").strip() not in ("", "0")
