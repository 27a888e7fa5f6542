import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.cases import Figure
from tests.support.file_world import FileWorld, load_file_tools, make_file_world

MB = 1_000_000


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def plain(*argv: str, cwd: Path) -> float:
    return seconds(lambda: subprocess.run(argv, cwd=cwd, check=True, capture_output=True))


def ratio(name: str, ours: float, theirs: float) -> Figure:
    return Figure(name, f"{ours / theirs:.2f} x ({ours * 1000:.0f} ms / {theirs * 1000:.0f} ms)", "")


def world(folder: str) -> FileWorld:
    root = Path(folder) / "ws"
    root.mkdir()
    return make_file_world(root, load_file_tools())


def numbered(count: int, start: int = 0) -> bytes:
    return b"".join(b"line number %d of a file\n" % number for number in range(start, start + count))


def file_tools() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        files = world(folder)
        yield from _read(files)
        yield from _edit(files)
        yield from _patch(files)


def _read(files: FileWorld) -> Iterator[Figure]:
    with (files.root / "large").open("wb") as file:
        for start in range(0, 6_700_000, 100_000):
            file.write(numbered(100_000, start))
    size = (files.root / "large").stat().st_size
    ours = seconds(lambda: files.only_run("read", file_path="large", offset=6_699_990, limit=5))
    theirs = plain("sed", "-n", "6699990,6699994p", "large", cwd=files.root)
    yield ratio(f"read near the end of {size // MB} MB / sed -n", ours, theirs)


def _edit(files: FileWorld) -> Iterator[Figure]:
    files.put("ten", numbered(370_000))
    files.run("read", file_path="ten", offset=1, limit=5)
    ours = seconds(
        lambda: files.only_run("edit", file_path="ten", old_string="number 369998 of", new_string="NUMBER")
    )
    theirs = plain("sed", "-i", "s/number 369997 of/NUMBER/", "ten", cwd=files.root)
    yield ratio("edit of 10 MB / sed -i", ours, theirs)


def _patch(files: FileWorld) -> Iterator[Figure]:
    names = [f"d{number % 10}/f{number}" for number in range(200)]
    for name in names:
        files.put(name, numbered(200))
    files.read_all(*names)
    body = "@@ -100 +100 @@\n-line number 99 of a file\n+changed\n"
    patch = "".join(f"--- a/{name}\n+++ b/{name}\n{body}" for name in names)
    back = patch.replace("-line number 99 of a file", "-changed").replace(
        "+changed\n", "+line number 99 of a file\n"
    )
    files.put("../back.diff", back)
    ours = seconds(lambda: files.only_run("patch", patch=patch))
    theirs = plain("git", "apply", "--unidiff-zero", "../back.diff", cwd=files.root)
    yield ratio("patch of 200 files, each synced to disk / git apply", ours, theirs)


FILE_CASES = {"files": file_tools}
