from agent_tui.protocol.replay import ReplayBlock
from agent_tui.sessions.frames import Json, RawRecord
from tests.bench.corpus import blocks

LAST = "Ωlast"


def stored_records(count: int, *, compacted_every: int = 0) -> list[RawRecord]:
    """The corpus as the records of a session, as the program writes them; the last prompt is LAST.

    The first prompt after each `compacted_every` blocks follows a compaction; 0 is a session that has none.
    """
    made, since = _Records(), 0
    for block in blocks(count):
        since += 1
        match block.kind:
            case "user":
                if 0 < compacted_every < since:
                    made.compaction()
                    since = 0
                made.prompt(block.text)
            case "assistant":
                made.reply({"type": "text", "text": block.text})
            case _:
                made.call(block)
    made.prompt(LAST)
    made.reply({"type": "text", "text": "end"})
    return made.records


class _Records:
    def __init__(self) -> None:
        self.records: list[RawRecord] = []

    def _add(self, kind: str, **facts: Json) -> None:
        parent = str(self.records[-1]["id"]) if self.records else ""
        record_id = f"{len(self.records):012x}"
        self.records.append(
            {"type": kind, "id": record_id, "at": 1.0, "parent": parent, "turn_id": "t", **facts}
        )

    def compaction(self) -> None:
        summary = "What was done so far, file by file. " * 80
        message: Json = {"role": "user", "content": [{"type": "text", "text": summary}]}
        self._add("compacted", messages=[message], summary=summary)

    def prompt(self, text: str) -> None:
        self._add("user", text=text, message={"role": "user", "content": [{"type": "text", "text": text}]})

    def reply(self, *content: Json, stop_reason: str = "end_turn") -> None:
        message: Json = {"role": "assistant", "content": list(content), "stop_reason": stop_reason}
        self._add("assistant", message={**message, "provider": "p", "model": "m"})

    def call(self, block: ReplayBlock) -> None:
        call_id, arguments = block.call_id, f'{{"command": "{block.title}"}}'
        use: Json = {"type": "tool_use", "id": call_id, "name": block.tool, "arguments_json": arguments}
        self.reply(use, stop_reason="tool_use")
        display: Json = {"content": None, "full_length": len(block.text)}
        self._add(
            "outcome",
            outcome={
                "tool_use_id": call_id,
                "tool_name": block.tool,
                "call": {"call_id": call_id, "name": block.tool, "arguments_json": None},
                "result": {"output": block.text},
                "display": display,
                "display_name": block.display_name,
                "title": block.title,
                "elapsed_s": block.elapsed_s,
                "effect": "ran",
            },
        )
        results: Json = [{"type": "tool_result", "tool_use_id": call_id}]
        self._add("results", message={"role": "user", "content": results})
