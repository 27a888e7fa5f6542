"""The slash commands about the interface itself: editor, keys, status line, what waits."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.protocol.near_names import did_you_mean
from agent_tui.ui.commands.registry import Command, CommandHost
from agent_tui.ui.presets import PRESET_NAMES, preset_named
from agent_tui.ui.screens.picker import Choice
from agent_tui.ui.widgets.segments import KINDS, SPLIT, USUAL, unknown_segment

_DONE = "done"


async def _editor(host: CommandHost, _args: str) -> None:
    host.perform("editor")


async def _vim(host: CommandHost, _args: str) -> None:
    if host.keys.preset == "vim":
        host.use_keys("default")
        host.notice("info", "Vim's keys are off.")
    else:
        host.use_keys("vim")
        host.notice(
            "info",
            f"Vim's keys are on in the prompt. {host.keys.hint('prompt', 'escape')} goes to normal mode; "
            "/keymap lists the keys.",
        )


async def _keymap(host: CommandHost, args: str) -> None:
    preset = preset_named(args)
    if preset is not None:
        host.use_keys(preset)
        host.notice("info", f"The keys are those of the preset {preset}, with your own changes over them.")
    elif args:
        host.notice("warning", f"There is no preset {args!r}{did_you_mean(args, PRESET_NAMES, end='.')}")
    else:
        host.show_help("keys")


async def _presets(_host: CommandHost, _typed: str) -> Sequence[str]:
    return PRESET_NAMES


async def _statusline(host: CommandHost, args: str) -> None:
    if args == "reset":
        host.use_segments(())
        host.notice("info", "The status line shows the usual again.")
    elif args:
        _choose_segments(host, args.split())
    else:
        await _toggle_segments(host)


def _choose_segments(host: CommandHost, names: Sequence[str]) -> None:
    if wrong := unknown_segment(names):
        others = f"; there are {', '.join(KINDS)}, and {SPLIT} between left and right."
        host.notice("warning", f"There is no segment {wrong!r}{did_you_mean(wrong, KINDS, otherwise=others)}")
        return
    host.use_segments(names)
    host.notice("info", f"The status line shows: {' '.join(names)}")


async def _toggle_segments(host: CommandHost) -> None:
    """Let the person switch one after the other; each counts at once."""
    while True:
        shown = list(host.segments or USUAL)
        choices = [Choice(name, name, kind.words, current=name in shown) for name, kind in KINDS.items()]
        chosen = await host.pick("Status line: a press shows or hides", [Choice(_DONE, "Done"), *choices])
        if chosen is None or chosen == _DONE:
            return
        host.use_segments([n for n in shown if n != chosen] if chosen in shown else _with(shown, chosen))


def _with(shown: Sequence[str], name: str) -> list[str]:
    """Put a segment where it usually stands, else at the end of the left side."""
    if name in USUAL:
        order = {one: at for at, one in enumerate(USUAL)}
        known = [one for one in shown if one in order] + [name]
        rest = [one for one in shown if one not in order]
        return [*sorted(known, key=order.__getitem__), *rest]
    at = shown.index(SPLIT) if SPLIT in shown else len(shown)
    return [*shown[:at], name, *shown[at:]]


async def _segment_names(_host: CommandHost, _typed: str) -> Sequence[str]:
    return ["reset", *KINDS]


async def _queue(host: CommandHost, _args: str) -> None:
    queued = host.queued()
    choices = [
        Choice(str(at), " ".join(text.split()), "after this turn" if after else "at the next step")
        for at, (text, after) in enumerate(queued)
    ]
    chosen = await host.pick(
        "Waiting messages; the one you choose comes back", choices, empty="Nothing waits."
    )
    if chosen is None:
        return
    text = host.take_back(int(chosen), queued[int(chosen)][0])
    if text is None:
        host.notice("info", "It was sent meanwhile.")
    else:
        host.compose_prompt(text)


def bench_commands() -> list[Command]:
    """Give the commands, in the order of the list."""
    return [
        Command("editor", "write the prompt in your own editor", _editor, while_busy=True),
        Command("queue", "messages that wait; take one back", _queue, while_busy=True),
        Command("vim", "vim's keys in the prompt, on or off", _vim, while_busy=True),
        Command(
            "keymap",
            "every key; choose a preset",
            _keymap,
            aliases=("keybindings", "hotkeys"),
            usage="[default | emacs | vim]",
            while_busy=True,
            complete=_presets,
        ),
        Command(
            "statusline",
            "what the status line shows",
            _statusline,
            aliases=("footer",),
            usage="[reset | segments]",
            while_busy=True,
            complete=_segment_names,
        ),
    ]
