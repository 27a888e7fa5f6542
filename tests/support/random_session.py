"""Records of a session as files hold them, in whatever order and tree chance puts them."""

import random
from collections.abc import Callable

from agent_tui.sessions.frames import Json, RawRecord

NOBODY_KNOWS = "of_tomorrow"
"""The type of a record that this program cannot understand."""


class RandomSession:
    """Makes records. Entries hang below the newest one, or now and then below any, a lost one, or one to come."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._made: list[RawRecord] = []
        self._ids: list[str] = []
        self._leaf = ""
        self._calls: list[str] = []

    def records(self, count: int) -> list[RawRecord]:
        """Give a header and `count` more."""
        self._add("header", version=1, session_id="s", workspace="/w", name="first", entry=False)
        makers: list[Callable[[], None]] = [
            *[self._prompt, self._reply, self._round, self._answers] * 4,
            *[self._asked, self._decided, self._compaction, self._others, self._meta],
        ]
        while len(self._made) <= count:
            self._chance.choice(makers)()
        return self._made[: count + 1]

    def _add(self, kind: str, *, entry: bool = True, **facts: Json) -> None:
        record: RawRecord = {"type": kind, "id": f"{len(self._made):012x}", "at": len(self._made) / 8}
        if entry:
            record["parent"] = self._parent()
            self._leaf = str(record["id"])
            self._ids.append(self._leaf)
        self._made.append({**record, "turn_id": "t", **facts})

    def _parent(self) -> str:
        match self._chance.randrange(60):
            case 0:
                return self._chance.choice([*self._ids, ""])
            case 1:
                return "lost"
            case 2:
                return f"{len(self._made) + 3:012x}"
            case _:
                return self._leaf

    def _words(self) -> str:
        return " ".join(self._chance.choices(["a", "prompt", "größer", '"', "\\", "\n"], k=9))

    def _prompt(self) -> None:
        text = self._words()
        self._add("user", text=text, message={"role": "user", "content": [{"type": "text", "text": text}]})

    def _reply(self) -> None:
        self._calls = [f"c{len(self._made)}-{n}" for n in range(self._chance.randrange(4))]
        text: Json = {"type": "text", "text": self._words()}
        uses: list[Json] = [
            {"type": "tool_use", "id": call, "name": "read", "arguments_json": f'{{"file_path": "{call}"}}'}
            for call in self._calls
        ]
        usage: Json = {"input_tokens": self._chance.randrange(99), "output_tokens": 1}
        self._add("assistant", message={"role": "assistant", "content": [text, *uses], "usage": usage})

    def _round(self) -> None:
        calls: list[Json] = [
            {"call_id": call, "name": "read", "arguments_json": None} for call in self._calls
        ]
        self._add("round", calls=calls)

    def _answers(self) -> None:
        for call in self._calls[: self._chance.randrange(4)]:
            self._add(
                "outcome",
                outcome={
                    "tool_use_id": call,
                    "tool_name": "read",
                    "call": {"call_id": call, "name": "read", "arguments_json": None},
                    "result": {"output": self._words(), "is_error": self._chance.random() < 0.2},
                    "display": {"content": None},
                    "summary": self._chance.choice(["", f"[{call}]"]),
                },
            )
        if self._chance.randrange(3):
            content: list[Json] = [{"type": "tool_result", "tool_use_id": call} for call in self._calls]
            self._add("results", message={"role": "user", "content": content})

    def _asked(self) -> None:
        requests: list[Json] = [
            {
                "request_id": f"r{call}",
                "call_id": call,
                "tool": "read",
                "title": "",
                "permissions": [],
                "arguments_json": None,
            }
            for call in self._calls
        ]
        self._add("approval_request", requests=requests)

    def _decided(self) -> None:
        verdicts: list[Json] = [
            {"call_id": call, "permissions": [], "deferred": self._chance.random() < 0.5}
            for call in self._calls
        ]
        self._add("approval_response", verdicts=verdicts)

    def _compaction(self) -> None:
        message: Json = {"role": "user", "content": [{"type": "text", "text": self._words()}]}
        self._add("compacted", messages=[message], summary="so far")

    def _others(self) -> None:
        match self._chance.randrange(5):
            case 0:
                self._add("todo", items=[{"text": self._words(), "status": "pending"}])
            case 1:
                label = self._chance.choice(["before", "after", "restored"])
                paths: list[Json] = [self._chance.choice("abc")]
                self._add("checkpoint", tree=f"t{len(self._made)}", label=label, changed=paths, left=paths)
            case 2:
                self._add("turn_end", stop_reason="end_turn")
            case 3:
                self._add("user", text="without a message")
            case _:
                self._add(NOBODY_KNOWS, facts=[1, None, 2.5])

    def _meta(self) -> None:
        match self._chance.randrange(4):
            case 0:
                self._leaf = self._chance.choice([*self._ids[-20:], ""])
                self._add(
                    "leaf", target=self._leaf, why=self._chance.choice(["undo", "redo", ""]), entry=False
                )
            case 1:
                self._add("rename", name=self._words(), entry=False)
            case 2:
                self._add("label", target="x", label="y", entry=False)
            case _:
                self._add("nonce_used", nonce="n", entry=False)
