"""Lets a call that needs a (further) sign-in wait for the person, if the person agrees."""

from agent_tui.extensions.mcp.browser import open_page
from agent_tui.extensions.mcp.host import Host
from agent_tui.extensions.mcp.sign_in import Visit, Visitor
from agent_tui.extensions.plain import one_line
from agent_tui.toolkit.context import Question, QuestionOption


def visitor(host: Host) -> Visitor:
    """Give a visitor that asks the person while a call runs; at any other time nobody visits."""

    async def visit() -> Visit | None:
        with host.waits():
            return Visit(show, pasted, host.waits) if await host.confirm_sign_in() else None

    async def show(url: str) -> None:
        if not await open_page(url, outside=host.desk.roots[0]):
            host.log.add("state", "no browser could be opened for the sign-in")
            await tell(url)

    async def tell(url: str) -> None:
        """Show the address for a browser on another machine."""
        ask = host.desk.ask()
        if ask is not None:
            await ask(
                [
                    Question(
                        question="Open this address in a browser of this machine, sign in there, then go on.",
                        header="MCP",
                        options=(QuestionOption(label="Done"),),
                        details=one_line(url, limit_chars=4_000),
                    )
                ]
            )

    async def pasted() -> str | None:
        return None

    return visit
