"""Images recognised by their first bytes, never by their name."""

import struct
from dataclasses import dataclass

IMAGE_HEAD_BYTES = 65_536


@dataclass(frozen=True)
class ImageInfo:
    """What the head of an image says; width and height are pixels, 0 when not found."""

    media_type: str
    width: int = 0
    height: int = 0


def image_label(info: ImageInfo, size_bytes: int, name: str = "") -> str:
    """Give the line that stands for an image on a screen: format, pixels, size, name."""
    pixels = f"{info.width}x{info.height} pixels" if info.width else "size unknown"
    kind = info.media_type.removeprefix("image/").upper()
    return ", ".join(filter(None, (kind, pixels, f"{size_bytes:,} bytes", name)))


def recognise(head: bytes) -> ImageInfo | None:
    """Tell which image the bytes begin, None when none. `head` should hold the first 64 KiB."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        sizes = struct.unpack(">II", head[16:24]) if head[12:16] == b"IHDR" and len(head) >= 24 else (0, 0)
        return ImageInfo("image/png", *sizes)
    if head.startswith((b"GIF87a", b"GIF89a")):
        sizes = struct.unpack("<HH", head[6:10]) if len(head) >= 10 else (0, 0)
        return ImageInfo("image/gif", *sizes)
    if head.startswith(b"\xff\xd8\xff"):
        return ImageInfo("image/jpeg", *_jpeg_size(head))
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return ImageInfo("image/webp", *_webp_size(head))
    return None


def _jpeg_size(head: bytes) -> tuple[int, int]:
    """Walk the segments to the frame header."""
    at = 2
    while at + 9 < len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker in (0xFF, 0x01) or 0xD0 <= marker <= 0xD7:
            at += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", head[at + 2 : at + 4])[0]
    return 0, 0


def _webp_size(head: bytes) -> tuple[int, int]:
    kind = head[12:16]
    if kind == b"VP8X" and len(head) >= 30:
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and len(head) >= 30:
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0
