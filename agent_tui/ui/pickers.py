"""The lists a person chooses from: models, sessions, themes, commands, earlier prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tui.protocol.errors import ConfigError
from agent_tui.ui.commands.registry import Command
from agent_tui.ui.screens.picker import Choice, Picker

if TYPE_CHECKING:
    from textual.worker import Worker

    from agent_tui.ui.actions import AppActions
    from agent_tui.ui.app import AgentApp


class Pickers:
    """Opens the lists and does what was chosen."""

    def __init__(self, app: AgentApp, actions: AppActions) -> None:
        self._app = app
        self._actions = actions

    def model(self) -> Worker[None]:
        """Choose a model."""
        return self._actions.work(self._pick_model)

    def session(self) -> None:
        """Choose a session."""
        self._actions.work(self._pick_session)

    def theme(self) -> Worker[None]:
        """Choose a theme, seeing each."""
        return self._actions.work(self._choose_theme)

    def command(self) -> None:
        """Choose a command."""
        self._actions.work(self._choose_command)

    def earlier_prompt(self) -> None:
        """Choose an earlier prompt."""
        self._actions.work(self._choose_prompt)

    async def _pick_model(self) -> None:
        current = self._actions.backend.status()
        mine = {current.model, f"{current.provider}:{current.model}"}
        models = await self._actions.backend.models()
        if models.problem:
            self._actions.notice("warning", models.problem)
        choices = [Choice(name, name, current=name in mine) for name in models.names]
        picker = Picker(self._app.keys, "Model", choices, empty="No models are known; write /model NAME.")
        if chosen := await self._actions.ask_screen(picker):
            await self._actions.switch_model(chosen)

    async def _pick_session(self) -> None:
        from agent_tui.ui.screens.sessions import SessionPicker, session_choice  # loaded ahead by `ui.ahead`

        current, here = self._actions.backend.status().session_id, str(self._actions.backend.workspace)
        views = sorted(
            await self._actions.backend.sessions(), key=lambda view: view.workspace not in ("", here)
        )
        choices = [session_choice(view, current, here) for view in views]
        past = self._actions.backend.past
        picker = SessionPicker(
            self._app.keys, choices, excerpt=past.excerpt, search=past.search, rename=past.rename
        )
        chosen = await self._actions.ask_screen(picker)
        if chosen and chosen != current:
            command = Command("resume", "", lambda _host, _args: self._actions.open_session(chosen))
            self._actions.submit_command(command, "resume", "")

    async def _choose_theme(self) -> None:
        app = self._app
        before = app.chosen_theme
        choices = [
            Choice(name, self._theme_label(name), name, current=name == before.name)
            for name in self._actions.theme_names()
        ]

        def preview(name: str | None) -> None:
            try:
                app.use_theme(before if name is None else app.shelf.load(name))
            except ConfigError:
                app.use_theme(before)

        picker = Picker(app.keys, "Theme", choices, preview=preview)
        picker.add_class("-over")
        chosen = await self._actions.ask_screen(picker)
        if chosen is None:
            app.use_theme(before)
        else:
            await self._actions.switch_theme(chosen)

    def _theme_label(self, name: str) -> str:
        try:
            return self._app.shelf.load(name).label
        except ConfigError:
            return f"{name} (cannot be used)"

    async def _choose_command(self) -> None:
        choices = [Choice(c.name, f"/{c.name}", c.told) for c in self._app.registry.all()]
        chosen = await self._actions.ask_screen(Picker(self._app.keys, "Commands", choices))
        if chosen:
            self._actions.run_named(chosen)

    async def _choose_prompt(self) -> None:
        from agent_tui.ui.screens.earlier import EarlierPrompts  # loaded ahead by `ui.ahead`

        past = self._app.prompt.past
        here = self._actions.backend.prompt_history(here=True) if self._app.link is not None else ()
        scopes = {
            "everywhere": past.entries,
            "this project": [*here, *past.of_this_run],
            "this session": past.of_this_run,
        }
        chosen = await self._actions.ask_screen(EarlierPrompts(self._app.keys, scopes))
        if chosen is not None:
            self._actions.compose_prompt(chosen)
