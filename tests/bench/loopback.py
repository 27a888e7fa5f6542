import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence


class Streams:
    """A loopback Messages API that answers each request with `tokens`, one event and one HTTP chunk per token.

    A raw socket in a thread: the reply is made up before, so that what the client needs is measured and not this.
    `rate` is tokens a second, 0 as fast as the client reads.
    """

    def __init__(self, tokens: Callable[[int], Sequence[str]], rate: float = 0.0) -> None:
        self._tokens = tokens
        self._rate = rate
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.began_s = 0.0
        self.served = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> "Streams":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        data = b""
        with client, contextlib.suppress(OSError):  # the program is killed in the middle of a reply
            while True:
                while b"\r\n\r\n" not in data:
                    got = client.recv(1 << 16)
                    if not got:
                        return
                    data += got
                head, _, rest = data.partition(b"\r\n\r\n")
                fields = dict(
                    line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line
                )
                size = int(fields.get(b"content-length", b"0"))
                while len(rest) < size:
                    rest += client.recv(1 << 16)
                data = rest[size:]
                self._answer(client, head.split(b" ")[1])

    def _answer(self, client: socket.socket, path: bytes) -> None:
        if path.split(b"?")[0] != b"/v1/messages":
            client.sendall(b"HTTP/1.1 404 x\r\ncontent-length: 2\r\n\r\n{}")
            return
        first, deltas, last = events(self._tokens(self.served))
        self.served += 1
        head = b"HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        self.began_s = time.perf_counter()
        if not self._rate:
            client.sendall(head + b"".join((*first, *deltas, *last)) + b"0\r\n\r\n")
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(head + b"".join(first))
        for number, delta in enumerate(deltas):
            client.sendall(delta)
            time.sleep(max(0.0, self.began_s + (number + 1) / self._rate - time.perf_counter()))
        client.sendall(b"".join(last) + b"0\r\n\r\n")


def events(tokens: Sequence[str]) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Give the events of a reply before, of and after its text, each as an HTTP chunk."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
    first = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ]
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": token}}
        for token in tokens
    ]
    last = [
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": len(tokens)},
        },
        {"type": "message_stop"},
    ]
    return [*map(_chunk, first)], [*map(_chunk, deltas)], [*map(_chunk, last)]


def _chunk(event: dict[str, object]) -> bytes:
    data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)
