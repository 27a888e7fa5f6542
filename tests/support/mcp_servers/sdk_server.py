# A server written with the SDK, over the transport that the first argument names.
import socket
import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel

server = MCPServer("sdk")


class Sum(BaseModel):
    total: int


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> Sum:
    return Sum(total=a + b)


@server.tool()
def picture() -> Image:
    png = bytes.fromhex("89504e470d0a1a0a0000000d494844520000000200000003080600000000000000")
    return Image(data=png, format="png")


@server.tool()
async def who(ctx: Context) -> str:
    found = await ctx.elicit("Who are you?", Name)
    return f"{found.action}: {found.data.name if found.action == 'accept' else ''}"


@server.tool()
async def steps(ctx: Context) -> str:
    await ctx.report_progress(1, 2, "half way")
    return "done"


@server.resource("memo://note")
def note() -> str:
    return "a note"


@server.prompt()
def greet(who: str) -> str:
    return f"Say hello to {who}."


def main() -> None:
    kind = sys.argv[1]
    if kind == "stdio":
        server.run("stdio")
        return
    import uvicorn

    app = server.streamable_http_app() if kind == "http" else server.sse_app()
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


main()
