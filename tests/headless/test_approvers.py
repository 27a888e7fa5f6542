from agent_tui.executor.registry import CompositeSource
from agent_tui.extensions.bundled import tools_dir
from agent_tui.extensions.loader import load_tools
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.headless.approver import NobodyApprover
from agent_tui.headless.tool_command import KeyboardApprover
from agent_tui.protocol.permissions import Decision
from agent_tui.run.assembly import NEEDS_PERSON
from agent_tui.sessions.approvals import DeferringApprover
from tests.support.approval_requests import bash_request, edit_request

REQUESTS = [edit_request("c1"), bash_request("c2")]


async def test_a76_without_a_person_everything_is_denied_allowed_by_flag_or_put_off() -> None:
    nobody = await NobodyApprover().review(REQUESTS)
    flag = await KeyboardApprover(yes=True).review(REQUESTS)
    later = await DeferringApprover().review(REQUESTS)

    assert [v.permissions[0].decision for v in nobody.values()] == [Decision.DENY] * 2
    assert all(v.unasked for v in nobody.values())
    assert [v.permissions[0].decision for v in flag.values()] == [Decision.ALLOW] * 2
    assert all(v.deferred and not v.permissions for v in later.values())


def test_a76_tools_that_ask_a_person_are_not_offered_where_there_is_none() -> None:
    tools = CompositeSource()
    tools.add("bundled", ToolFileSource(load_tools(tools_dir(), source="bundled").tools))

    offered = {spec.name for spec in tools.without(NEEDS_PERSON).specs()}

    assert "question" not in offered
    assert "exit_plan_mode" not in offered
    assert "write" in offered
