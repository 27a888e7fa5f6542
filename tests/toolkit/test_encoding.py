import pytest

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit.encoding import decode, detect, encode, is_binary

TEXTS = {
    "ascii": ("plain text\n", "utf-8"),
    "utf-8": ("Größe: 5 µm, 日本\n", "utf-8"),
    "german latin-1": ("Größe und Maß für Übergänge, schöne Grüße\n", "latin-1"),
    "french latin-1": ("été à la forêt, garçon naïf, où est l'hôtel\n", "latin-1"),
    "spanish latin-1": ("¿Dónde está el niño? ¡Aquí! años, señor\n", "latin-1"),
    "japanese": ("# 設定ファイル\n名前=太郎\n住所=東京都千代田区\nカタカナとひらがな\n", "shift_jis"),
    "short japanese": ("名前=太郎\nage=3\n", "shift_jis"),
    "chinese": ("# 配置文件\n名称=我们的项目\n描述=这是一个测试\n", "gbk"),
    "short chinese": ("name=中国\n", "gbk"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_usual_text_is_recognised(name: str) -> None:
    text, codec = TEXTS[name]

    decoded, encoding = decode(text.encode(codec), shown="f")

    assert (decoded, encoding.codec) == (text, codec)
    assert encode(decoded, encoding, shown="f") == text.encode(codec)


@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_byte_order_mark_is_kept_apart_from_the_text(codec: str) -> None:
    data = ("\ufeff" + "text ü\n").encode(codec)

    decoded, encoding = decode(data, shown="f")

    assert decoded == "text ü\n"
    assert encode("new\n", encoding, shown="f") == ("\ufeff" + "new\n").encode(codec)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["hi\r\nint a;\r\n", "// 日本語 comment in here\nx = 1\n", "a\n"])
def test_utf_16_without_mark_is_recognised_by_its_zeros(codec: str, text: str) -> None:
    encoding = detect(text.encode(codec))

    assert encoding is not None
    assert (encoding.codec, encoding.bom) == (codec, b"")


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"a\0b\n",
        b"ab\0\0cd\n",
        b"\x7fELF\x02\x01\x01" + b"\0" * 9,
        b"PK\x03\x04" + b"\0\x01" * 20,
        b"\x01" * 40,
    ],
)
def test_binary_is_not_taken_for_text(data: bytes) -> None:
    assert detect(data) is None
    with pytest.raises(ToolError, match="binary file"):
        decode(data, shown="f")


def test_empty_file_is_text() -> None:
    assert detect(b"") is not None
    assert not is_binary(b"")


def test_terminal_colours_are_no_binary() -> None:
    assert not is_binary(b"\x1b[31mred\x1b[0m\n" * 20)


def test_foreign_bytes_in_utf_8_survive() -> None:
    data = "viele Wörter mit Umlauten: äöü ÄÖÜ ß\n".encode() * 3 + b"bad \xff byte\n"

    text, encoding = decode(data, shown="f")

    assert encoding.codec == "utf-8"
    assert encode(text.replace("bad", "Böse"), encoding, shown="f") == data.replace(b"bad", "Böse".encode())


def test_windows_quotes_are_cp1252() -> None:
    data = "“Größe” – naïve…\n".encode("cp1252")

    text, encoding = decode(data, shown="f")

    assert encoding.codec == "cp1252"
    assert encode(text, encoding, shown="f") == data


def test_part_of_a_file_may_end_inside_a_character() -> None:
    data = "日本語".encode()[:-1]

    assert detect(data, is_part=True) == detect("日本語".encode())
    assert detect(data) != detect("日本語".encode())


def test_every_byte_survives_the_way_there_and_back() -> None:
    data = bytes(range(32, 256)) * 20

    text, encoding = decode(data, shown="f")

    assert encode(text, encoding, shown="f") == data
