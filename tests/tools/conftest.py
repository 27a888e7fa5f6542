from pathlib import Path
from typing import Any

import pytest

from agent_tui.toolkit.tool import Tool
from tests.support.file_world import FileWorld, load_file_tools, make_file_world


@pytest.fixture(scope="session")
def file_tools() -> dict[str, Tool[Any]]:
    return load_file_tools()


@pytest.fixture
def files(workspace: Path, file_tools: dict[str, Tool[Any]]) -> FileWorld:
    return make_file_world(workspace, file_tools)
