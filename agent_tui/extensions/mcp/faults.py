"""What can go wrong with a server, told in words for a person and for the model."""

from collections.abc import Iterator
from typing import cast


class ServerFault(Exception):
    """A server cannot be used. `lasting` says that trying again would not help; `status` is the HTTP status, or 0.

    `login` says that a person must sign in first.
    """

    def __init__(self, message: str, *, lasting: bool = False, status: int = 0, login: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting
        self.status = status
        self.login = login


class RequestFailed(Exception):
    """A server refused one request; `code` is its JSON-RPC error code."""

    def __init__(self, message: str, *, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class ConnectionGone(Exception):
    """The connection ended before the answer came."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Give the errors inside an exception group, or the error itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaves(inner)
    else:
        yield error
