import json

from agent_tui.agent.agent_types import BUILT_IN
from agent_tui.agent.prompt import system_prompt
from agent_tui.agent.tokens import text_tokens, tool_tokens
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource

MOST_TOKENS = 6_000
FEW_CHARS_PER_TOKEN = 3


def test_the_prompt_and_all_built_in_schemas_hold_at_most_6000_tokens() -> None:
    specs = ToolFileSource(load_tools(tools_dir(), source="bundled").tools, "bundled").specs()
    system = system_prompt(agents=[(kind.name, kind.description) for kind in BUILT_IN])

    estimate = text_tokens(system) + sum(tool_tokens(spec) for spec in specs)
    chars = len(system) + sum(len(s.name + s.description + json.dumps(s.input_schema)) for s in specs)

    assert len(specs) >= 15
    assert estimate <= MOST_TOKENS
    assert chars // FEW_CHARS_PER_TOKEN <= MOST_TOKENS
