import json
from pathlib import Path

from agent_tui.headless.tool_command import KeyboardApprover
from agent_tui.protocol.tools import ToolCall
from agent_tui.run.tool_rounds import tool_rounds


async def test_item_47_read_keeps_its_own_cap_and_its_note(workspace: Path) -> None:
    (workspace / "long.txt").write_text("".join(f"{'x' * 60} {n}\n" for n in range(3000)))
    call = ToolCall(
        call_id="c", name="read", arguments_json=json.dumps({"file_path": "long.txt", "offset": 1})
    )

    async with tool_rounds(workspace, KeyboardApprover(yes=False)) as rounds:
        batch = await rounds.run([call], turn_id="t", round_index=0)

    output = batch.outcomes[0].result.output
    assert len(output) > 32_768
    assert "continue with offset=" in output
    assert "characters left out" not in output
