from pathlib import Path

from tests.support.core_world import configure, open_core


async def test_file_that_cannot_be_read_is_told_once(workspace: Path) -> None:
    file = configure("[ui\ntheme = 1\n")
    private = workspace / ".agent-tui/config.local.toml"
    private.parent.mkdir()
    private.write_text("[mcp.servers.a]\ncommand = \n")

    async with open_core(workspace, trust=True) as world:
        told = [*world.core.notices(), *(await world.core.house.settings.look()).problems]

    for broken in (file, private):
        assert [text.startswith(("Settings: ", str(broken))) for text in told if str(broken) in text] == [
            True,
            True,
        ], told


async def test_what_only_the_reader_of_servers_sees_is_still_told(workspace: Path) -> None:
    configure("[mcp]\nservers = 3\n")
    described = workspace / ".mcp.json"
    described.write_text("{")

    async with open_core(workspace, trust=True) as world:
        told = [text for text in world.core.notices() if text.startswith("MCP: ")]

    assert len(told) == 2
    assert any(str(described) in text for text in told)
