"""Checks every message that an agent sends against the protocol's published schema, as the package ships it."""

from typing import Any

from acp.connection import StreamDirection, StreamEvent
from acp.schema import (
    Error,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestPermissionRequest,
    SessionNotification,
    SetSessionModeResponse,
)
from pydantic import BaseModel

RESULTS: dict[str, type[BaseModel]] = {
    "initialize": InitializeResponse,
    "session/new": NewSessionResponse,
    "session/load": LoadSessionResponse,
    "session/list": ListSessionsResponse,
    "session/prompt": PromptResponse,
    "session/set_mode": SetSessionModeResponse,
}
SENT: dict[str, type[BaseModel]] = {
    "session/update": SessionNotification,
    "session/request_permission": RequestPermissionRequest,
}


def check(model: type[BaseModel], data: Any) -> None:
    """The package repairs what it cannot read; so what was read is compared with what came."""
    read = model.model_validate(data).model_dump(mode="json", by_alias=True, exclude_unset=True)

    assert read == data


class SchemaCheck:
    """An observer of the editor's side. `seen` counts what was checked by method; `faults` says what was wrong."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.faults: list[str] = []
        self._asked: dict[Any, str] = {}

    def __call__(self, event: StreamEvent) -> None:
        message = event.message
        if event.direction is StreamDirection.OUTGOING:
            if "id" in message and "method" in message:
                self._asked[message["id"]] = message["method"]
            return
        try:
            self._check(message)
        except Exception as error:  # whatever is wrong is told at the end, not swallowed by the package
            self.faults.append(f"{message}: {error}")

    def _check(self, message: dict[str, Any]) -> None:
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            name = message["method"]
            assert set(message) <= {"jsonrpc", "id", "method", "params"}
            check(SENT[name], message["params"])
        else:
            name = self._asked.pop(message["id"])
            assert set(message) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
            if "error" in message:
                check(Error, message["error"])
            else:
                check(RESULTS[name], message["result"])
        self.seen[name] = self.seen.get(name, 0) + 1
