from agent_tui.protocol.messages import (
    AssistantMessage,
    UserMessage,
)


def repaired(messages: list[UserMessage | AssistantMessage]) -> tuple[UserMessage | AssistantMessage, ...]:
    from agent_tui.agent.history import repair

    return repair(messages, "p", "m")
