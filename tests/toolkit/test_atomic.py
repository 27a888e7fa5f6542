import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.protocol.errors import ToolError
from agent_tui.toolkit import atomic, rooted
from agent_tui.toolkit.atomic import ChangedMeanwhile, Write, apply, default_mode
from agent_tui.toolkit.files import load
from agent_tui.toolkit.paths import Target
from agent_tui.toolkit.stale import PendingTemps, sweep
from agent_tui.toolkit.tracker import Stamp


def target(root: Path, name: str) -> Target:
    return Target(name, root / name, root, True, False, name)


@pytest.fixture
def pending(tmp_path: Path) -> PendingTemps:
    return PendingTemps(tmp_path / "data")


def test_item_40_new_content_replaces_the_old_in_one_step(workspace: Path, pending: PendingTemps) -> None:
    path = workspace / "a.txt"
    path.write_bytes(b"old")
    reader = path.open("rb")
    base = load(target(workspace, "a.txt"))
    assert base is not None

    apply([Write(target(workspace, "a.txt"), b"new", base.stamp)], pending)

    with reader:
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in workspace.iterdir()] == ["a.txt"]


def test_temporary_file_is_private_while_it_is_written(
    workspace: Path, pending: PendingTemps, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "a.txt").write_bytes(b"old")
    (workspace / "a.txt").chmod(0o644)
    base = load(target(workspace, "a.txt"))
    assert base is not None
    seen: list[tuple[str, int]] = []
    real_write = os.write

    def watching(descriptor: int, data: memoryview) -> int:
        for path in workspace.glob(".*.tmp"):
            seen.append((path.name, stat.S_IMODE(path.stat().st_mode)))
        return real_write(descriptor, data)

    monkeypatch.setattr(os, "write", watching)
    apply([Write(target(workspace, "a.txt"), b"new", base.stamp)], pending)

    assert len(seen) == 1
    assert seen[0][0].startswith(".a.txt.")
    assert seen[0][1] == 0o600


def test_file_that_changed_before_the_rename_is_left_alone(workspace: Path, pending: PendingTemps) -> None:
    (workspace / "a.txt").write_bytes(b"old")
    base = load(target(workspace, "a.txt"))
    assert base is not None
    (workspace / "a.txt").write_bytes(b"theirs")

    with pytest.raises(ChangedMeanwhile):
        apply([Write(target(workspace, "a.txt"), b"new", base.stamp)], pending)

    assert (workspace / "a.txt").read_bytes() == b"theirs"
    assert [entry.name for entry in workspace.iterdir()] == ["a.txt"]


def test_file_that_appeared_is_not_replaced_even_at_the_last_moment(
    workspace: Path, pending: PendingTemps, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_fsync = os.fsync

    def late(descriptor: int) -> None:
        real_fsync(descriptor)
        if not (workspace / "a.txt").exists():
            (workspace / "a.txt").write_bytes(b"theirs")

    monkeypatch.setattr(os, "fsync", late)

    with pytest.raises(ChangedMeanwhile):
        apply([Write(target(workspace, "a.txt"), b"new", None)], pending)
    assert (workspace / "a.txt").read_bytes() == b"theirs"


NO_HARD_LINK = [errno.EPERM, errno.EOPNOTSUPP, errno.EXDEV, errno.EMLINK]


@pytest.fixture
def without_links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that knows neither hard links nor a rename that replaces nothing."""

    def refuse(*_names: object, **_options: object) -> None:
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(atomic, "_rename_noreplace", lambda *_names: False)


@pytest.mark.parametrize("without_links", NO_HARD_LINK, ids=os.strerror, indirect=True)
def test_several_files_are_written_where_there_are_no_hard_links(
    without_links: None, workspace: Path, pending: PendingTemps
) -> None:
    (workspace / "a.sh").write_bytes(b"old")
    (workspace / "a.sh").chmod(0o755)
    base = load(target(workspace, "a.sh"))
    assert base is not None

    stamps = apply(
        [
            Write(target(workspace, "a.sh"), b"new", base.stamp),
            Write(target(workspace, "b.txt"), b"made", None),
        ],
        pending,
    )

    assert {entry.name: entry.read_bytes() for entry in workspace.iterdir()} == {
        "a.sh": b"new",
        "b.txt": b"made",
    }
    assert stat.S_IMODE((workspace / "a.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((workspace / "b.txt").stat().st_mode) == default_mode()
    assert stamps == [Stamp.of((workspace / name).stat()) for name in ("a.sh", "b.txt")]


@pytest.mark.parametrize("without_links", [errno.EPERM], indirect=True)
def test_without_hard_links_a_failure_still_puts_back_what_was_there_with_its_mode_and_time(
    without_links: None, workspace: Path, pending: PendingTemps, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_rename = os.rename

    def late(*names: str, **options: int) -> None:
        real_rename(*names, **options)
        (workspace / "b.txt").write_bytes(b"theirs")

    path = workspace / "a.sh"
    path.write_bytes(b"old" * 1_000_000)
    path.chmod(0o755)
    os.utime(path, ns=(1_000_000_001, 2_000_000_002))
    base = load(target(workspace, "a.sh"))
    assert base is not None

    monkeypatch.setattr(os, "rename", late)

    with pytest.raises(ChangedMeanwhile):
        apply(
            [
                Write(target(workspace, "a.sh"), b"new", base.stamp),
                Write(target(workspace, "b.txt"), b"made", None),
            ],
            pending,
        )

    status = path.stat()
    assert path.read_bytes() == b"old" * 1_000_000
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o755, 2_000_000_002)
    assert sorted(entry.name for entry in workspace.iterdir()) == ["a.sh", "b.txt"]
    assert (workspace / "b.txt").read_bytes() == b"theirs"


@pytest.mark.parametrize("has_openat2", [True, False])
@pytest.mark.parametrize("name", ["ln/x", "real/ln2/x"])
def test_h_f1_no_component_may_be_a_link(
    name: str, has_openat2: bool, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x").write_text("secret")
    (workspace / "real").mkdir()
    (workspace / "ln").symlink_to(tmp_path / "outside")
    (workspace / "real/ln2").symlink_to(tmp_path / "outside")
    if not has_openat2:
        monkeypatch.setattr(sys, "platform", "other")

    with pytest.raises(OSError), rooted.opened_file(target(workspace, name)):  # noqa: PT011 - ELOOP or ENOTDIR
        pass
    with pytest.raises((OSError, ToolError)):
        apply([Write(target(workspace, name), b"new", None)], PendingTemps(tmp_path / "data"))
    assert (tmp_path / "outside/x").read_text() == "secret"


@pytest.mark.parametrize("has_openat2", [True, False])
def test_deep_path_is_opened_either_way(
    has_openat2: bool, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "a/b/c").mkdir(parents=True)
    (workspace / "a/b/c/x").write_text("hi")
    if not has_openat2:
        monkeypatch.setattr(sys, "platform", "other")

    with rooted.opened_file(target(workspace, "a/b/c/x")) as descriptor:
        assert os.read(descriptor, 10) == b"hi"


def test_long_name_gets_a_temporary_name_that_fits(workspace: Path, pending: PendingTemps) -> None:
    name = "ü" * 125

    apply([Write(target(workspace, name), b"x", None)], pending)

    assert (workspace / name).read_bytes() == b"x"


def test_descriptors_are_closed(workspace: Path, pending: PendingTemps) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for number in range(20):
        apply([Write(target(workspace, f"d/{number}"), b"x", None)], pending)
        load(target(workspace, f"d/{number}"))

    assert len(os.listdir("/proc/self/fd")) == before


def test_sweep_removes_what_a_dead_program_left_and_nothing_else(workspace: Path, tmp_path: Path) -> None:
    data = tmp_path / "data" / "session"
    code = (
        "import sys; from pathlib import Path; from agent_tui.toolkit.stale import PendingTemps\n"
        "root = Path(sys.argv[1]); pending = PendingTemps(Path(sys.argv[2]))\n"
        "for name in ('.a.txt.0123456789abcdef.tmp', 'precious.txt'): pending.add(root / name)\n"
    )
    for name in (".a.txt.0123456789abcdef.tmp", "precious.txt", ".b.txt.0123456789abcdef.tmp"):
        (workspace / name).write_text("x")
    subprocess.run([sys.executable, "-c", code, str(workspace), str(data)], check=True)

    removed = sweep(tmp_path / "data")

    assert [path.name for path in removed] == [".a.txt.0123456789abcdef.tmp"]
    assert sorted(path.name for path in workspace.iterdir()) == [
        ".b.txt.0123456789abcdef.tmp",
        "precious.txt",
    ]
    assert list(data.iterdir()) == []


def test_sweep_leaves_the_files_of_a_living_program(workspace: Path, tmp_path: Path) -> None:
    temp = workspace / ".a.txt.0123456789abcdef.tmp"
    temp.write_text("x")
    PendingTemps(tmp_path / "data").add(temp)

    assert sweep(tmp_path / "data") == []
    assert temp.exists()


def test_sweep_goes_on_past_what_it_cannot_read_or_remove(workspace: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    temp = workspace / ".a.txt.0123456789abcdef.tmp"
    temp.write_text("x")
    too_long = workspace / f".{'n' * 300}.0123456789abcdef.tmp"
    swept_meanwhile, no_note = (data / f"pending-writes-{n}-{gone.pid}" for n in "01")
    swept_meanwhile.symlink_to(data / "nowhere")
    no_note.mkdir()
    long_number = data / f"pending-writes-3-{'9' * 40}"
    long_number.write_bytes(b"")
    note = data / f"pending-writes-4-{gone.pid}"
    note.write_bytes(b"\0".join(os.fsencode(one) for one in (too_long, temp)))

    assert sweep(data) == [temp]
    assert not long_number.exists()
    assert note.exists()
