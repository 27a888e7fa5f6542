"""A full-screen terminal coding agent. `from agent_tui import Agent` runs one from Python: docs/python-api.md."""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_tui.api import *  # noqa: F403  # the names of `api.__all__`
else:

    def __getattr__(name):
        """Give a public name; only then is anything imported."""
        if name not in __all__:
            raise AttributeError(f"module 'agent_tui' has no attribute {name!r}")
        from agent_tui import api

        return getattr(api, name)

    def __dir__():
        """List what is public."""
        return ["__version__", *__all__]


__all__ = (
    "Agent",
    "AgentTuiError",
    "ApprovalDecided",
    "ApprovalRequested",
    "Approver",
    "Ask",
    "AssistantFinished",
    "AssistantMessage",
    "Compacted",
    "Decide",
    "Decision",
    "Event",
    "ImageBlock",
    "Notice",
    "OnEvent",
    "Permission",
    "PermissionDecision",
    "PermissionKind",
    "PermissionRequest",
    "Question",
    "QuestionOption",
    "Result",
    "Retrying",
    "Risk",
    "RoundStarted",
    "Scope",
    "TextDelta",
    "ThinkingDelta",
    "TokenUsage",
    "ToolDenied",
    "ToolFinished",
    "ToolOutput",
    "ToolStarted",
    "TurnCancelled",
    "TurnFailed",
    "TurnFinished",
    "TurnStarted",
    "Usage",
    "UserMessage",
    "Verdict",
)
"""The names of `api.__all__`, without importing it: submodules are looked for among attributes first."""
