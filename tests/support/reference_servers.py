"""Where the official MCP servers and the conformance suite are, if .ci/mcp_servers installed them."""

import os
import pwd
from pathlib import Path

import pytest

FOLDER = Path(
    os.environ.get("AGENT_TUI_TEST_SERVERS")
    or Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "agent-tui-test-servers"
)
NPM = FOLDER / "npm" / "node_modules" / ".bin"
PYTHON = FOLDER / "python" / "bin"
NODE = FOLDER / "suite" / "node_modules" / ".bin" / "node"
SUITE = FOLDER / "suite" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


def needs(*paths: Path) -> pytest.MarkDecorator:
    missing = [str(path) for path in paths if not path.exists()]
    why = f"not installed: {', '.join(missing)} (.ci/mcp_servers installs it)"
    return pytest.mark.skipif(bool(missing), reason=why)
