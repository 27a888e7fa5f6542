import struct
import zlib

from agent_tui.protocol.tools import ToolResult
from tests.support.file_world import FileWorld


def read(files: FileWorld, name: str, **more: int) -> ToolResult:
    return files.run("read", file_path=name, **more)


def rows(result: ToolResult) -> list[str]:
    return result.output.split("\n\n")[0].split("\n")


def png(width: int = 3, height: int = 2) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 20))
        + chunk(b"IEND", b"")
    )
