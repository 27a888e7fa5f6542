from pathlib import PurePath

import pytest

from agent_tui.permissions.paths import is_secret
from agent_tui.toolkit import names

_PATHS = [
    ".env",
    "a//b/.ENV",
    "./id_rsa",
    ".ssh/./config",
    "/x/.aws/",
    "/etc//shadow",
    "etc/./sudoers",
    "x/.config/gh/hosts.yml",
    "K\u0130.PEM",
    "\uff0eenv",
    "a/../.netrc",
    "secrets.json/..",
    "/",
    "",
    "README.md",
]


@pytest.mark.parametrize("path", _PATHS)
def test_a_written_path_is_a_secret_as_the_same_path_is(path: str) -> None:
    assert is_secret(path) == names.is_secret(PurePath(path))
