"""Text of any encoding, read so that it can be written back byte for byte."""

import codecs
import re
import unicodedata
from dataclasses import dataclass

from agent_tui.protocol.errors import ToolError

HEAD_BYTES = 4096
SAMPLE_BYTES = 65_536
BINARY_CONTROL_SHARE = 0.30
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b")) + b"\x7f"
_SURROGATES = re.compile("[\ud800-\udfff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")


@dataclass(frozen=True)
class Encoding:
    """How bytes become text. `bom` stands before the text and is no part of it.

    `errors` is "strict", or "surrogateescape" for UTF-8 with some foreign bytes, which then survive.
    """

    codec: str = "utf-8"
    bom: bytes = b""
    errors: str = "strict"

    @property
    def name(self) -> str:
        """Give the name for a person, such as "utf-16-le with BOM"."""
        foreign = " with foreign bytes" if self.errors != "strict" else ""
        return self.codec + (" with BOM" if self.bom else "") + foreign

    @property
    def ascii_compatible(self) -> bool:
        """Tell whether the byte 0x0A always is a newline."""
        return not self.codec.startswith(("utf-16", "utf-32"))

    def decode(self, data: bytes) -> str:
        """Give the text without the BOM; it may be missing by now. Raises UnicodeDecodeError."""
        return data.removeprefix(self.bom).decode(self.codec, self.errors)

    def encode(self, text: str) -> bytes:
        """Give the bytes with the BOM. Raises UnicodeEncodeError."""
        return self.bom + text.encode(self.codec, self.errors)


UTF8 = Encoding()


def is_binary(head: bytes) -> bool:
    """Tell by the first 4,096 bytes: a NUL or more than 30 % control bytes. UTF-16 and UTF-32 are told apart before."""
    head = head[:HEAD_BYTES]
    if b"\0" in head:
        return True
    controls = len(head) - len(head.translate(None, _CONTROL))
    return controls > BINARY_CONTROL_SHARE * len(head)


def detect(data: bytes, *, is_part: bool = False) -> Encoding | None:
    """Find the encoding of `data`, None when it is binary. `is_part` allows a character cut at the end."""
    for bom, codec in _BOMS:
        if data.startswith(bom):
            found = Encoding(codec, bom)
            if _decodes(data, found, is_part=is_part):
                return found
    wide = _wide(data[:SAMPLE_BYTES])
    if wide is not None and _decodes(data, wide, is_part=is_part):
        return wide
    if is_binary(data):
        return None
    if _decodes(data, UTF8, is_part=is_part):
        return UTF8
    return _legacy(data, is_part=is_part)


def decode(data: bytes, *, shown: str) -> tuple[str, Encoding]:
    """Decode a whole file that is to be changed. Raises ToolError unless it can be written back byte for byte."""
    encoding = detect(data)
    if encoding is None:
        raise ToolError(f"{shown} is a binary file ({len(data):,} bytes); text tools cannot change it.")
    text = encoding.decode(data)
    if encoding.encode(text) != data:
        raise ToolError(
            f"{shown} looks like {encoding.name} but would not survive being written back; it was not changed."
        )
    return text, encoding


def encode(text: str, encoding: Encoding, *, shown: str) -> bytes:
    """Encode text for a file that has `encoding`. Raises ToolError that names the first character it cannot hold."""
    try:
        return encoding.encode(text)
    except UnicodeEncodeError as error:
        bad = text[error.start]
        raise ToolError(
            f"{shown} is {encoding.name}, which cannot hold {bad!r} (U+{ord(bad):04X}). It was not changed."
        ) from error


def displayable(text: str) -> str:
    """Give the text with U+FFFD for foreign bytes, which only the file can hold: no record and no request could."""
    return _SURROGATES.sub("\ufffd", text)


def _decodes(data: bytes, encoding: Encoding, *, is_part: bool) -> bool:
    decoder = codecs.getincrementaldecoder(encoding.codec)("strict")
    try:
        decoder.decode(data[len(encoding.bom) :], final=not is_part)
    except UnicodeDecodeError:
        return False
    return True


def _wide(sample: bytes) -> Encoding | None:
    """Recognise UTF-16 without BOM by where its NULs stand: text has them on one side only."""
    sample = sample[: len(sample) // 2 * 2]
    if b"\0" not in sample or len(sample) < 4:
        return None
    even, odd = sample[::2], sample[1::2]
    for zeros, others, codec in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        mostly_zero = zeros.count(0) >= 0.4 * len(zeros) and others.count(0) == 0
        # A newline byte where the zeros should be means 8-bit text with a few NULs in it.
        if mostly_zero and b"\n" not in zeros and not is_binary(others) and _is_assigned(sample, codec):
            return Encoding(codec)
    return None


def _is_assigned(sample: bytes, codec: str) -> bool:
    """Tell whether the bytes give only characters that exist."""
    text = sample.decode(codec, "replace")
    return not any(unicodedata.category(char) in ("Cn", "Co", "Cs") for char in text)


def _legacy(data: bytes, *, is_part: bool) -> Encoding:
    """Choose among encodings without a mark, by how usual the characters are that each would give."""
    sample = data[:SAMPLE_BYTES] if len(data) <= SAMPLE_BYTES else _high_sample(data)
    if _mostly_utf8(sample):
        return Encoding(errors="surrogateescape")
    scored: list[tuple[float, Encoding]] = []
    for codecs_, score in (
        (("shift_jis", "cp932"), _japanese(sample)),
        (("gbk", "gb18030"), _chinese(sample)),
    ):
        fitting = (Encoding(codec) for codec in codecs_)
        encoding = next((e for e in fitting if _decodes(data, e, is_part=is_part)), None)
        if encoding is not None:
            scored.append((score, encoding))
    western = Encoding("cp1252") if _is_windows(data, is_part=is_part) else Encoding("latin-1")
    scored.append((_western(sample), western))
    return max(scored, key=lambda pair: pair[0])[1]


def _high_sample(data: bytes) -> bytes:
    """Give the first lines that have bytes above 127, up to the sample size."""
    lines: list[bytes] = []
    size = 0
    for match in re.finditer(rb"[^\n]*[\x80-\xff][^\n]*\n?", data):
        lines.append(match[0])
        size += len(match[0])
        if size >= SAMPLE_BYTES:
            break
    return b"".join(lines)


def _mostly_utf8(sample: bytes) -> bool:
    """Tell whether valid UTF-8 characters are more than the bytes that are not."""
    text = sample.decode("utf-8", "surrogateescape")
    foreign = sum("\udc80" <= char <= "\udcff" for char in text)
    return sum(char > "\x7f" for char in text) - foreign > 2 * foreign


def _is_windows(data: bytes, *, is_part: bool) -> bool:
    has_c1 = len(data) != len(data.translate(None, bytes(range(0x80, 0xA0))))
    return has_c1 and _decodes(data, Encoding("cp1252"), is_part=is_part)


def _japanese(sample: bytes) -> float:
    """Give the share of characters that are kana, level-1 kanji or Japanese punctuation."""
    text = sample.decode("cp932", "replace")
    high = [char for char in text if char > "\x7f"]
    good = 0.0
    for char in high:
        if "\u3001" <= char <= "\u30ff" or "\uff01" <= char <= "\uff5e":
            good += 1
        elif "\u4e00" <= char <= "\u9fff":
            good += 1 if char.encode("cp932")[0] <= 0x97 or char.encode("cp932") <= b"\x98\x72" else 0.5
    return good / len(high) if high else 0.0


def _chinese(sample: bytes) -> float:
    """Give the share of characters that are level-1 hanzi or Chinese punctuation."""
    text = sample.decode("gb18030", "replace")
    high = [char for char in text if char > "\x7f"]
    good = 0.0
    for char in high:
        raw = char.encode("gb18030")
        if len(raw) == 2 and raw[1] >= 0xA1:
            good += 1 if raw[0] in (0xA1, 0xA3) or 0xB0 <= raw[0] <= 0xD7 else 0.5 if raw[0] <= 0xF7 else 0
    return good / len(high) if high else 0.0


def _western(sample: bytes) -> float:
    """Give the share of bytes above 127 that are letters or usual signs, alone or in pairs among ASCII."""
    runs = _HIGH_RUN.findall(sample)
    total = sum(map(len, runs))
    letters = sum(len(run) for run in runs if len(run) <= 2 and all(_is_western(byte) for byte in run))
    # A pair of an upper-case letter and another one is rare in western text, usual as one hanzi.
    doubtful = sum(2 for run in runs if len(run) == 2 and 0xB0 <= run[0] <= 0xD7 and run[1] >= 0xA1)
    return (letters - 0.5 * doubtful) / total if total else 1.0


def _is_western(byte: int) -> bool:
    return (
        byte >= 0xC0
        or byte
        in b"\xa0\xa1\xa3\xa7\xa9\xab\xae\xb0\xb1\xb2\xb3\xb4\xb5\xb7\xba\xbb\xbf\x91\x92\x93\x94\x96\x97\x85\x80"
    )
