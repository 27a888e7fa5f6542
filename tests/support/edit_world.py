from tests.support.file_world import FileWorld


def edit_of(files: FileWorld, name: str, data: bytes | str, old: str, new: str, **more: object) -> bytes:
    path = files.put(name, data)
    files.read_all(name)
    result = files.run("edit", file_path=name, old_string=old, new_string=new, **more)
    assert not result.is_error, result.output
    return path.read_bytes()


def refused(files: FileWorld, name: str, data: bytes | str, old: str, new: str, **more: object) -> str:
    raw = data.encode() if isinstance(data, str) else data
    path = files.put(name, data)
    files.read_all(name)
    before = path.stat()
    result = files.run("edit", file_path=name, old_string=old, new_string=new, **more)
    assert result.is_error, result.output
    assert path.read_bytes() == raw
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    return result.output
