"""What a strict Messages server refuses about the messages of a request."""

from typing import Any


def refusals(messages: list[dict[str, Any]]) -> list[str]:
    found: list[str] = []
    if not messages or messages[0]["role"] != "user":
        found.append("the first message is not the user's")
    open_calls: list[str] = []
    for index, one in enumerate(messages):
        content = one["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not blocks:
            found.append(f"message {index} is empty")
        if index and messages[index - 1]["role"] == one["role"]:
            found.append(f"message {index}: two messages of the {one['role']} in a row")
        found += [
            f"message {index}: empty text" for b in blocks if b["type"] == "text" and not b["text"].strip()
        ]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if results != open_calls:
            found.append(f"message {index}: results {results} for calls {open_calls}")
        if any(b["type"] == "tool_result" for b in blocks[len(results) :]):
            found.append(f"message {index}: results do not come first")
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(open_calls)) != len(open_calls):
            found.append(f"message {index}: a call twice")
    return [*found, *(["the last message has calls"] if open_calls else [])]
