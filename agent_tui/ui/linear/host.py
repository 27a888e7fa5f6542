"""What slash commands may do with the program when there is no screen: everything becomes lines and choices."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.permissions.modes import Mode, next_mode
from agent_tui.protocol.replay import ReplayBlock
from agent_tui.ui.backend import ModeName
from agent_tui.ui.commands.registry import Command, Level, Registry
from agent_tui.ui.driver import TurnDriver
from agent_tui.ui.linear.choosing import choose
from agent_tui.ui.linear.lines import Lines
from agent_tui.ui.linear.plain_parts import PlainParts
from agent_tui.ui.linear.speaker import Speaker, block_text
from agent_tui.ui.mcp_prompts import PromptDesk
from agent_tui.ui.own_commands import OwnCommandDesk
from agent_tui.ui.render.safe import clean_line
from agent_tui.ui.screens.mcp.text import report
from agent_tui.ui.screens.picker import Choice
from agent_tui.ui.screens.sessions import session_choice
from agent_tui.ui.screens.trust import trust_text

if TYPE_CHECKING:
    from agent_tui.protocol.tools import TurnResult
    from agent_tui.ui.backend import Backend
    from agent_tui.ui.changes import Scope
    from agent_tui.ui.house import TrustView
    from agent_tui.ui.series import Series
    from agent_tui.ui.servers import ChangedView
    from agent_tui.ui.talk import DraftView

REPLAYED_BLOCKS = 20
_LEVELS = {"info": "", "warning": "Warning: ", "error": "Error: "}
_LONG_LIST = 30


class LinearHost(PlainParts):
    """Implements `CommandHost`. `backend` raises AgentTuiError while the core loads."""

    def __init__(
        self,
        lines: Lines,
        speaker: Speaker,
        registry: Registry,
        *,
        driver: TurnDriver,
        backend: Callable[[], Backend],
        leave: Callable[[], None],
        work: Callable[[Callable[[], Awaitable[None]]], object],
    ) -> None:
        super().__init__(lines, driver)
        self._lines, self._speaker, self._registry = lines, speaker, registry
        self._driver, self._backend = driver, backend
        self._leave, self._work = leave, work
        self._own: OwnCommandDesk | None = None
        self._prompts: PromptDesk | None = None

    @property
    def backend(self) -> Backend:
        return self._backend()

    @property
    def busy(self) -> bool:
        return self._driver.busy

    def notice(self, level: Level, text: str) -> None:
        self._lines.say(f"{_LEVELS[level]}{text}")

    async def confirm(
        self, title: str, message: str, *, yes: str = "Yes", no: str = "No", danger: bool = False
    ) -> bool:
        self._lines.bell()
        return await choose(self._lines, f"{title} {message}", [no, yes] if danger else [yes, no]) == (
            1 if danger else 0
        )

    def submit(self, text: str) -> None:
        self._driver.send(text)

    def compose_prompt(self, text: str) -> None:
        self._lines.say(
            f"Write it after: {text.strip()}" if text.startswith("/") else f"Your draft was:\n{text}"
        )

    async def pick(self, title: str, choices: Sequence[Choice], *, empty: str = "") -> str | None:
        if not choices:
            self._lines.say(f"{title}: {empty or 'nothing here.'}")
            return None
        shown = choices[:_LONG_LIST]
        if len(choices) > len(shown):
            self._lines.say(f"{len(choices)} entries; the first {len(shown)} are listed.")
        chosen = await choose(self._lines, f"{title}:", [_entry(choice) for choice in shown])
        return None if chosen is None else shown[chosen].key

    async def view(self, block: ReplayBlock) -> None:
        self._lines.say(f"{block.display_name}: {block.title}\n{block.text}")

    async def ask_trust(self, view: TrustView) -> bool:
        changed = "It changed since you trusted it. " if view.changed else ""
        self._lines.say(
            f"This project brings configuration of its own. {changed}It would:\n{trust_text(view.lines)}"
        )
        if view.diff:
            self._lines.say(f"What changed:\n{view.diff}")
        return await self.confirm("Trust exactly this content?", "", danger=True)

    def show_trusted(self, view: TrustView) -> None:
        self._lines.say(f"You trust this project's configuration. It brings:\n{trust_text(view.lines)}")

    async def show_servers(self) -> None:
        self._lines.say(report(self.backend.mcp.servers()))
        await self.refresh_commands()

    async def sign_in(self, name: str) -> None:
        def show(url: str, opened: bool) -> None:
            where = "Its page was opened in your browser" if opened else "Open this address and sign in there"
            self._lines.say(f"{where}:\n{clean_line(url)}")

        async def pasted() -> str | None:
            return None

        self._lines.say(await self.backend.mcp.login(name, show=show, pasted=pasted))

    async def ask_changed(self, name: str, changed: Sequence[ChangedView]) -> bool:
        for change in changed:
            self._lines.say(f"{name} describes {change.tool} differently:\n{change.diff}")
        return await self.confirm("Accept what stands here?", "", danger=True)

    async def show_settings(self, page: str) -> None:
        view = await self.backend.house.settings.look()
        if page != "problems":
            rows = [f"{one.key} = {one.value or '(empty)'}, from {one.origin}" for one in view.settings]
            self._lines.say("\n".join(["Settings. /config KEY VALUE changes one.", *rows]))
        problems = view.problems or ("Nothing is wrong in the settings files.",)
        self._lines.say("\n".join(problems))

    async def setting_changed(self, key: str) -> None:
        """Nothing here has colours; every setting counts from the next start."""

    async def show_changes(self, scope: Scope) -> None:
        first = await self.backend.past.changes.compare(scope)
        if not first.changes:
            self._lines.say(first.nothing)
            return
        for change in first.changes:
            self._lines.say(f"{change.path}:\n{change.diff}")

    async def reload(self) -> None:
        await self.show_session()

    def go_on(self) -> None:
        self._driver.redrive()

    def begin_turn(self, command: Command, args: str, work: Callable[[], Awaitable[TurnResult]]) -> None:
        self._driver.begin(command, args, work)

    async def refresh_commands(self) -> None:
        if self._own is None:
            self._own = OwnCommandDesk(self._registry, self.backend.own)
        if self._prompts is None:
            self._prompts = PromptDesk(
                self._registry,
                self.backend.mcp,
                joined=lambda: None,
                warn=lambda text: self.notice("warning", text),
            )
        await self._prompts.look()
        for text in await self._own.refresh():
            self.notice("warning", text)

    def perform(self, action: str) -> None:
        match action:
            case "models":
                self._work(self._pick_model)
            case "sessions":
                self._work(self._pick_session)
            case "cycle_mode":
                mode = self.backend.status().mode
                self.switch_mode(next_mode(Mode(mode)).value)
            case "search":
                self.compose_prompt("/search ")
            case _:
                self._lines.say("That needs the full screen.")

    async def _pick_model(self) -> None:
        models = await self.backend.models()
        if models.problem:
            self.notice("warning", models.problem)
        chosen = await self.pick(
            "Model", [Choice(name, name) for name in models.names], empty="write /model NAME."
        )
        if chosen:
            await self.switch_model(chosen)

    async def _pick_session(self) -> None:
        here, current = str(self.backend.workspace), self.backend.status().session_id
        views = sorted(await self.backend.sessions(), key=lambda view: view.workspace not in ("", here))
        chosen = await self.pick("Session", [session_choice(view, current, here) for view in views])
        if chosen and chosen != current:
            await self.open_session(chosen)

    def switch_mode(self, mode: ModeName) -> None:
        refused = self.backend.set_mode(mode)
        self._lines.say(refused or f"Mode: {self.backend.status().mode}.")

    async def switch_model(self, name: str) -> None:
        self._lines.say(await self.backend.set_model(name))

    async def switch_theme(self, name: str) -> None:
        self._lines.say("There are no colours here; the theme is left as it is.")

    def theme_names(self) -> Sequence[str]:
        return ()

    async def open_session(self, session_id: str) -> None:
        said = await self.backend.resume(session_id)
        await self.show_session()
        for text in self.backend.unsent():
            self._lines.say(f"You had written ahead, and it was never sent: {text}")
        if said:
            self._lines.say(f"Note: {said}")

    async def new_session(self) -> None:
        await self.backend.new_session()
        await self.show_session()
        self._lines.say("A new session.")

    async def show_session(self) -> None:
        """Read out the end of the open session."""
        self._driver.series = None
        self._speaker.forget()
        blocks = [text for block in await self.backend.replay(whole=True) if (text := block_text(block))]
        if len(blocks) > REPLAYED_BLOCKS:
            self._lines.say(f"{len(blocks) - REPLAYED_BLOCKS} earlier entries of this session are left out.")
        for text in blocks[-REPLAYED_BLOCKS:]:
            self._lines.say(text)

    async def drafting(self, work: Awaitable[DraftView]) -> DraftView:
        self._lines.say("Writing a summary.")
        return await work

    def edit_outside(self, text: str) -> str | None:
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            self._lines.say("Set VISUAL or EDITOR to edit a text outside.")
            return None
        with tempfile.TemporaryDirectory(prefix="agent-tui-") as folder:
            file = Path(folder) / "prompt.md"
            file.write_text(text, encoding="utf-8")
            try:
                with self._lines.lent():
                    subprocess.run([*shlex.split(editor), str(file)], check=True)
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                self._lines.say(f"The editor did not do its work: {error}")
                return None
            return file.read_text(encoding="utf-8", errors="replace").rstrip("\n")

    @property
    def pursued(self) -> Series | None:
        return self._driver.series

    def pursue(self, series: Series | None) -> None:
        self._driver.pursue(series)

    def show_rules(self) -> None:
        rules = [f"{one.decision} {one.text}, {one.scope}, {one.where}" for one in self.backend.rules()]
        self._lines.say("\n".join(rules or ["No rules: everything that is not read-only asks."]))

    def show_help(self, topic: str) -> None:
        wanted = topic.lower()
        rows = [
            f"/{one.name} {one.usage}".strip() + f": {one.summary}"
            for one in self._registry.all()
            if wanted in ("", "keys") or wanted in f"{one.name} {one.summary} {' '.join(one.aliases)}".lower()
        ]
        self._lines.say("\n".join([*_KEYS, *(rows or [f"No command is about {topic!r}."])]))

    def search(self, text: str) -> None:
        self._work(partial(self._find, text))

    async def _find(self, text: str) -> None:
        """Read out every entry of the session that holds `text`."""
        exact = any(char.isupper() for char in text)
        found = 0
        for block in await self.backend.replay(whole=True):
            shown = block_text(block)
            hits = [line for line in shown.split("\n") if text in (line if exact else line.lower())]
            if hits:
                found += 1
                label = shown.partition(":")[0]
                self._lines.say("\n".join(f"{label}: {hit.removeprefix(f'{label}: ')}" for hit in hits))
        self._lines.say(
            f"{found} entries hold {text!r}." if found else f"{text!r} is not in the conversation."
        )

    def refresh_status(self) -> None:
        """Nothing shows the status by itself; /status reads it out."""

    def leave(self) -> None:
        self._leave()


_KEYS = (
    "Write a message and press Enter. A backslash at the end of a line goes on in the next one.",
    "While a turn runs, what you write reaches the model at the next safe point.",
    "Ctrl+C stops the turn; twice at the prompt it leaves. Ctrl+D leaves.",
    "A line with ! in front runs in the shell; !! keeps its output from the model.",
    "Commands:",
)


def _entry(choice: Choice) -> str:
    current = " (now)" if choice.current else ""
    return f"{choice.label}{current}, {choice.detail}" if choice.detail else f"{choice.label}{current}"
