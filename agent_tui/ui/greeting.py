"""Greets a person at the first start, once, and comes back from what they looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tui.ui.actions import AppActions
    from agent_tui.ui.app import AgentApp

WELCOMED = "welcomed"


async def greet(app: AgentApp, actions: AppActions) -> None:
    """Show the welcome until the person begins; nothing when they have begun already."""
    if not app.settings.first_run or app.prompt.text or actions.busy or app.in_dialog:
        return
    from agent_tui.ui.pickers import Pickers
    from agent_tui.ui.screens.welcome import Welcome  # 3 ms of CPU, at the first start only

    app.settings.remember(WELCOMED, "yes")
    pickers = Pickers(app, actions)
    wish = None
    while True:
        wish = await actions.ask_screen(
            Welcome(
                app.keys,
                actions.backend.status(),
                typed=app.prompt.insert_text,
                pressed=app.prompt.post_message,
                cursor=0 if wish is None else 1,
            )
        )
        match wish:
            case "models":
                await pickers.model().wait()
            case "themes":
                await pickers.theme().wait()
            case "settings":
                await actions.show_settings("")
            case "help":
                from agent_tui.ui.screens.help import Help  # 1 ms, only when it is wished for

                await actions.ask_screen(Help(app.keys, app.registry))
            case _:
                return
