"""What the exit status of the program says."""

from enum import IntEnum

from agent_tui.protocol.tools import TurnResult


class ExitCode(IntEnum):
    """DONE also when a rule or a person denied something; RETRY may be tried again later."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_ASKED = 3
    LIMIT = 4
    RETRY = 75
    INTERRUPTED = 130
    TERMINATED = 143


def exit_code(result: TurnResult, *, overloaded: bool = False) -> ExitCode:
    """Give the exit code for a turn that ended without a signal. `overloaded`: its last error may pass."""
    match result.stop_reason:
        case "failed":
            return ExitCode.RETRY if overloaded else ExitCode.FAILED
        case "refusal" | "context_overflow":
            return ExitCode.FAILED
        case "cancelled":
            return ExitCode.INTERRUPTED
        case "round_limit" | "budget":
            return ExitCode.LIMIT
        case "pending_approvals":
            return ExitCode.NOT_ASKED
        case _:
            return ExitCode.NOT_ASKED if result.denied_unasked else ExitCode.DONE
