"""Prints the lines of a part of a file that match an expression; executed as a file, imports nothing of ours."""

import re
import sys


def main(path: str, start: int, end: int, pattern: str) -> int:
    """Print the matching lines between the byte offsets and give the exit code; 2 for an invalid expression."""
    try:
        expression = re.compile(pattern.encode("utf-8", "surrogateescape"))
    except re.error as error:
        sys.stderr.write(f"{error}\n")
        return 2
    with open(path, "rb") as file:
        file.seek(start)
        while start < end:
            line = file.readline(end - start)
            if not line:
                break
            start += len(line)
            if expression.search(line.rstrip(b"\r\n")):
                sys.stdout.buffer.write(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
