"""Opens the proxy's port inside a network namespace, hands it out and waits. Run as `python -I -S _proxy_stub.py FD`.

A program of its own: it imports the standard library only and nothing of the package. FD is a unix socket through
which the listening descriptor leaves the namespace; the program ends with its input.
"""

import array
import socket
import sys

PORT = 3128


def main() -> None:
    """Listen on 127.0.0.1, send the descriptor, say ready, wait."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", PORT))
        listener.listen(64)
        with socket.socket(fileno=int(sys.argv[1])) as out:
            out.sendmsg(
                [b"p"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener.fileno()]))]
            )
    print("ready", flush=True)
    while sys.stdin.buffer.read(4096):
        continue


if __name__ == "__main__":
    main()
