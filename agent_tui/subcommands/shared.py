"""Words that the options of several subcommands share."""

MODE_NAMES = (
    "default",
    "accept-edits",
    "acceptEdits",
    "plan",
    "auto",
    "dont-ask",
    "dontAsk",
    "bypass",
    "bypassPermissions",
)
