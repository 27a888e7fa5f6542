from tests.support.file_world import FileWorld


def write(files: FileWorld, name: str, content: str) -> str:
    return files.run("write", file_path=name, content=content).output
