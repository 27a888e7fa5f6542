"""Gives back what was typed ahead in a session and never sent: into the prompt, with one notice, and never further."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_tui.protocol.slash_line import slash_line
from agent_tui.ui.commands.registry import Level


class UnsentHost(Protocol):
    """What giving messages back needs of the program."""

    def notice(self, level: Level, text: str) -> None: ...

    def give_back(self, prompt: str) -> None: ...


def offer_unsent(host: UnsentHost, texts: Sequence[str], *, draft: str = "") -> None:
    """Put `texts`, as they were typed, into the prompt; while a `draft` stands there, only say what they were.

    Commands that waited for the end of a turn are named; one alone comes back into the prompt.
    """
    commands = [text for text in texts if slash_line(text) is not None]
    messages = [text for text in texts if text not in commands]
    if commands:
        waited = "1 command" if len(commands) == 1 else f"{len(commands)} commands"
        host.notice("warning", f"{waited} waited for the end of a turn and never ran: {', '.join(commands)}")
    if messages:
        _offer_messages(host, messages, draft=draft)
    elif len(commands) == 1 and not draft:
        host.give_back(commands[0])


def _offer_messages(host: UnsentHost, texts: Sequence[str], *, draft: str) -> None:
    what = "1 message" if len(texts) == 1 else f"{len(texts)} messages"
    words = "\n".join(texts)
    if draft:
        host.notice("warning", f"{what} typed ahead before the program ended, not sent:\n{words}")
        return
    was = "was" if len(texts) == 1 else "were"
    host.notice(
        "warning", f"{what} typed ahead {was} never sent. The words come back; nothing is sent by itself."
    )
    host.give_back(words)
