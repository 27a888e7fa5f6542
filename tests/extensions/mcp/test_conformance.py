import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.support.reference_servers import NODE, SUITE, needs

ROOT = Path(__file__).parents[3]
CLIENT = ROOT / "tests" / "support" / "conformance_client.py"
SCENARIOS = [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/cross-app-access-complete-flow",
]
pytestmark = needs(NODE, SUITE)
LIMIT_S = 150


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_a_client_scenario_of_the_conformance_suite_passes(scenario: str, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(str(NODE), str(SUITE), "client", "--scenario", scenario, "--timeout", "120000"),
        *("--command", f"{sys.executable} {CLIENT}"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(LIMIT_S):
        said, _ = await process.communicate()

    text = said.decode()
    counted = re.search(r"Passed: (\d+)/(\d+), (\d+) failed", text)
    assert process.returncode == 0, text
    assert counted is not None
    assert int(counted[1]) == int(counted[2]) > 0
    assert counted[3] == "0"


async def test_no_client_scenario_of_the_suite_is_left_out() -> None:
    process = await asyncio.create_subprocess_exec(
        *(str(NODE), str(SUITE), "list"), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(LIMIT_S):
        said, _ = await process.communicate()

    _, _, client = said.decode().partition("Client scenarios")
    assert sorted(re.findall(r"^  - (\S+)", client, re.MULTILINE)) == sorted(SCENARIOS)
