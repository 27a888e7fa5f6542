import asyncio
from collections.abc import Sequence

from agent_tui.protocol.display import DisplayResult
from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.events import (
    EventSink,
    ToolFinished,
    ToolStarted,
)
from agent_tui.ui.configuring import SettingsDesk
from agent_tui.ui.house import JobLine, Listing, TrustView
from agent_tui.ui.keeping import KeyView


class FakeKeeping:
    """Remembers what is kept in `calls`; `problem` is raised instead."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.problem = ""
        self.views = [
            KeyView("anthropic", "the keyring", "ANTHROPIC_API_KEY"),
            KeyView("openai", "", "OPENAI_API_KEY"),
        ]

    def _said(self, *call: object) -> str:
        if self.problem:
            raise AgentTuiError(self.problem)
        self.calls.append(call)
        return f"Done: {' '.join(map(str, call))}"

    async def add_rule(self, word: str, rule: str, keep: str) -> str:
        return self._said("add_rule", word, rule, keep)

    def forget_session_rules(self) -> str:
        return self._said("forget_session_rules")

    async def add_folder(self, path: str) -> str:
        return self._said("add_folder", path)

    def folders(self) -> Sequence[str]:
        return ["/proj", "/more"]

    async def change_folder(self, path: str) -> str:
        return self._said("change_folder", path)

    async def keys(self) -> Sequence[KeyView]:
        return self.views

    async def store_key(self, provider: str, key: str) -> str:
        return self._said("store_key", provider, key)

    async def forget_key(self, provider: str) -> str:
        return self._said("forget_key", provider)


class FakeHouse:
    """Surroundings as they are set here; what is asked of them is kept in `calls`."""

    def __init__(self, emit: EventSink) -> None:
        self._emit = emit
        self.trust_view = TrustView()
        self.job_lines: list[JobLine] = []
        self.foreground = False
        self.tasks = ""
        self.memory_files = Listing()
        self.keeping = FakeKeeping()
        self.listing = Listing((("one", "The first. With more."),), ("/x/two: has no name",))
        self.gate: asyncio.Event | None = None
        self.calls: list[tuple[object, ...]] = []
        self.desk: SettingsDesk | None = None

    async def trust(self) -> TrustView:
        return self.trust_view

    async def accept_trust(self, digest: str) -> str:
        self.calls.append(("accept_trust", digest))
        return "It is trusted."

    async def revoke_trust(self) -> str:
        self.calls.append(("revoke_trust",))
        return "Not any more."

    def jobs(self) -> Sequence[JobLine]:
        return self.job_lines

    def todos(self) -> str:
        return self.tasks

    async def end_job(self, job_id: str) -> str:
        self.calls.append(("end_job", job_id))
        return f"{job_id} was ended."

    def to_background(self) -> bool:
        return self.foreground

    async def run_shell(self, command: str, *, private: bool) -> None:
        self.calls.append(("run_shell", command, private))
        started = {"turn_id": "", "call_id": f"shell-{len(self.calls)}", "tool": "bash", "title": command}
        name = "!!" if private else "!"
        await self._emit(ToolStarted(display_name=name, **started))
        try:
            if self.gate is not None:
                await self.gate.wait()
        finally:
            shown = DisplayResult(content="shown\n", full_length=6, full_lines=1)
            await self._emit(
                ToolFinished(display_name=name, is_error=False, output="shown", display=shown, **started)
            )

    @property
    def settings(self) -> SettingsDesk:
        assert self.desk is not None, "the test gave no settings files"
        return self.desk

    async def skill(self, name: str) -> str:
        if name != "one":
            raise AgentTuiError(f"No skill named {name!r}; there are one.")
        return "# one\n\n* Description: The first.\n\n---\n\nDo the first thing."

    async def reload_skills(self) -> str:
        self.calls.append(("reload_skills",))
        return "1 skill for the model, as before."

    async def skills(self) -> Listing:
        return self.listing

    async def hooks(self) -> Listing:
        return Listing((("pre_tool bash", "./check (config.toml:3, 5 s, fails closed)"),))

    async def agents(self) -> Listing:
        return self.listing

    async def memory(self) -> Listing:
        return self.memory_files

    async def doctor(self) -> str:
        return "✓ python  3.11"
