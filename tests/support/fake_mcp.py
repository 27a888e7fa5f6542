from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.tools import TurnResult
from agent_tui.ui.servers import PromptView, ResourceView, ServerView


class FakeServerDesk:
    """Servers that do what they are told; what was asked of them is kept in `calls`."""

    def __init__(self, run_turn: Callable[[str], Awaitable[TurnResult]]) -> None:
        self.views: list[ServerView] = []
        self.listed: list[ResourceView] = []
        self.offered: list[PromptView] = []
        self.values: dict[str, Sequence[str]] = {}
        self.lines: dict[str, Sequence[str]] = {}
        self.page = "https://sign.in.example/authorize?state=s"
        self.opens = False
        self.login_fails = ""
        self.failed: list[str] = []
        self.calls: list[tuple[object, ...]] = []
        self.changed: Callable[[], None] = lambda: None
        self._run_turn = run_turn

    def watch(self, changed: Callable[[], None]) -> None:
        self.changed = changed

    def troubles(self) -> Sequence[str]:
        failed, self.failed = self.failed, []
        return failed

    def servers(self) -> Sequence[ServerView]:
        return self.views

    def become(self, name: str, **fields: object) -> None:
        self.views = [replace(v, **fields) if v.name == name else v for v in self.views]
        self.changed()

    def log(self, name: str) -> Sequence[str]:
        return self.lines.get(name, ())

    def reconnect(self, name: str) -> str:
        self.calls.append(("reconnect", name))
        return f"{name} is started anew."

    def enable(self, name: str, on: bool) -> str:
        self.calls.append(("enable", name, on))
        self.become(name, state="ready" if on else "off")
        return f"{name} is {'on' if on else 'off'}."

    async def accept(self, name: str) -> str:
        self.calls.append(("accept", name))
        self.become(name, changed=())
        return f"Accepted what {name} says."

    async def reload(self) -> str:
        self.calls.append(("reload",))
        return "2 MCP servers."

    async def change(self, line: str) -> str:
        self.calls.append(("change", line))
        return f"Did {line}."

    async def login(
        self,
        name: str,
        *,
        show: Callable[[str, bool], None],
        pasted: Callable[[], Awaitable[str | None]],
    ) -> str:
        show(self.page, self.opens)
        given = await pasted()
        self.calls.append(("login", name, given))
        if self.login_fails:
            raise AgentTuiError(self.login_fails)
        self.become(name, state="ready")
        return f"Signed in to {name}."

    async def logout(self, name: str) -> str:
        self.calls.append(("logout", name))
        self.become(name, state="needs login")
        return f"Signed out of {name}."

    async def resources(self) -> Sequence[ResourceView]:
        return self.listed

    async def prompts(self) -> Sequence[PromptView]:
        return self.offered

    async def suggestions(
        self, prompt: PromptView, argument: str, typed: str, given: Mapping[str, str]
    ) -> Sequence[str]:
        self.calls.append(("suggest", argument, typed, dict(given)))
        return [value for value in self.values.get(argument, ()) if value.startswith(typed)]

    async def run_prompt(self, prompt: PromptView, values: dict[str, str], shown: str) -> TurnResult:
        self.calls.append(("prompt", prompt.prompt, values, shown))
        return await self._run_turn(f"the text of {prompt.prompt}")
