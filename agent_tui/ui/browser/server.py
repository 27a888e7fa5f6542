"""Serves the program to browsers on this machine: one process for each page that is open."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Awaitable, Callable

from aiohttp import web
from textual_serve.server import Server

from agent_tui.ui.browser.door import Door
from agent_tui.ui.browser.page import page

MAX_PAGES = 8
CLOSE_S = 5.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BrowserServer(Server):
    """textual-serve's server behind a door. `command` is a shell line that runs the program for a page."""

    def __init__(self, command: str, door: Door, *, title: str) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - its paths are bare PathLike
            command, host="127.0.0.1", port=door.port, title=title, public_url=door.base
        )
        self._door = door
        self._pages: set[asyncio.Task[object]] = set()

    async def handle_index(self, request: web.Request) -> web.Response:
        """Give the page."""
        host = request.headers["Host"]  # the door let only our own names through
        text = page(
            self.title,
            socket_url=f"ws://{host}/{self._door.token}/ws",
            font_size=request.query.get("fontsize", ""),
        )
        return web.Response(text=text, content_type="text/html")

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run the program for a page until the page is closed or the program ends."""
        if len(self._pages) >= MAX_PAGES:
            raise web.HTTPServiceUnavailable(text=f"{MAX_PAGES} pages are open; close one first.")
        task = asyncio.current_task()
        assert task is not None  # aiohttp runs a handler in a task
        self._pages.add(task)
        try:
            return await super().handle_websocket(request)
        finally:
            self._pages.discard(task)

    async def close_pages(self) -> None:
        """End the program of every page and wait until all are gone."""
        pages = list(self._pages)
        for task in pages:
            task.cancel()
        if pages:
            await asyncio.wait(pages, timeout=CLOSE_S)

    def application(self) -> web.Application:
        """Give the routes, all below the token, with the door before them."""
        inside = web.Application()
        inside.add_routes(
            [
                web.get("/", self.handle_index),
                web.get("/ws", self.handle_websocket),
                web.get("/download/{key}", self.handle_download),
                web.static("/static", self.statics_path),
            ]
        )
        outside = web.Application(middlewares=[self._guard])
        outside.add_subapp(f"/{self._door.token}", inside)
        return outside

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = self._door.refusal(request.path, request.headers, is_socket=request.path.endswith("/ws"))
        if refusal:
            return web.Response(status=403, text=f"{refusal}\n", headers=self._door.answer_headers)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            error.headers.update(self._door.answer_headers)
            raise
        if not response.prepared:
            response.headers.update(self._door.answer_headers)
        return response


async def serve(command: str, *, port: int, title: str, tell: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. `port` 0 takes a free one. Raises OSError when the port cannot be had."""
    quiet_logs()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        door = Door(listener.getsockname()[1])
        server = BrowserServer(command, door, title=title)
        runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=3.0)
        await runner.setup()
        try:
            await web.SockSite(runner, listener).start()
            ended = _when_told_to_end()
            tell(door.url)  # whoever reads it may end us at once
            await ended.wait()
        finally:
            await server.close_pages()
            await runner.cleanup()


def _when_told_to_end() -> asyncio.Event:
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    return ended


def quiet_logs() -> None:
    """Keep the servers' own logs off the terminal: their tracebacks would show paths and local values."""
    for name in ("textual-serve", "aiohttp"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
