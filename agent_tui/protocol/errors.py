"""Errors by who reads them: a person (AgentTuiError) or the model (ToolError)."""

from collections.abc import Sequence
from pathlib import Path


class AgentTuiError(Exception):
    """An error a person can act on: its text says what happened, where, and what to do."""

    @property
    def sentence(self) -> str:
        """Give the text with its full stop, for another sentence to follow."""
        return _ended(str(self))


class NothingThereError(AgentTuiError):
    """What was asked for is empty so far, such as changes before the first one. It is said plainly: nothing failed."""


class UsageError(AgentTuiError):
    """The command line cannot be used; exit code 2."""


class ConfigError(AgentTuiError):
    """A settings file cannot be used. `file`, `key` and `line` (1-based, 0 when not known) say where."""

    def __init__(self, message: str, *, file: Path, key: str, line: int = 0) -> None:
        super().__init__(f"{file}:{line}: {key}: {message}" if line else f"{file}: {key}: {message}")
        self.file = file
        self.key = key

    @property
    def problems(self) -> Sequence[str]:
        """Give a sentence for each thing that is wrong."""
        return (str(self),)


class ConfigErrors(ConfigError):
    """Several things are wrong in one file. The text tells the first three, `problems` all."""

    def __init__(self, found: Sequence[ConfigError]) -> None:
        AgentTuiError.__init__(self, _told([str(error) for error in found]))
        self.file = found[0].file
        self.key = found[0].key
        self._problems = tuple(str(error) for error in found)

    @property
    def problems(self) -> Sequence[str]:
        return self._problems


_TOLD = 3


def _told(sentences: Sequence[str]) -> str:
    more = len(sentences) - _TOLD
    rest = [f"{more} more in the file; 'agent-tui config validate' lists all"] if more > 0 else []
    *before, last = [*sentences[:_TOLD], *rest]
    return " ".join([*map(_ended, before), last])


def _ended(text: str) -> str:
    return text if text.endswith(("?", ".")) else f"{text}."


class ToolLoadError(AgentTuiError):
    """A tool file cannot be loaded. `path` says which."""

    def __init__(self, message: str, *, path: Path) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


class SessionError(AgentTuiError):
    """A session file cannot be used. `line` is 1-based, 0 for the file as a whole."""

    def __init__(self, message: str, *, path: Path, line: int = 0) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        self.path = path
        self.line = line


class SessionInUseError(SessionError):
    """Another program holds the session; exit code 75."""


class SessionNameError(SessionError):
    """A name or an id cannot be used for a session: the sentence begins with it. `path` is the folder of all sessions."""

    def __init__(self, message: str, *, path: Path) -> None:
        AgentTuiError.__init__(self, message)  # without the place in front: it is no file that is wrong
        self.path = path
        self.line = 0


class SandboxError(AgentTuiError):
    """A sandbox that was asked for cannot be set up."""


class ProviderError(AgentTuiError):
    """A request to a model failed. `status` is the HTTP status, 0 when there was none."""

    def __init__(self, message: str, *, status: int = 0, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


class AuthError(ProviderError):
    """The key is missing, wrong or not allowed to do this."""


class RateLimited(ProviderError):
    """Too many requests; `retry_after_s` when the server said."""


class Overloaded(ProviderError):
    """The server cannot answer now (5xx, 529, network); a retry may help."""


class ContextTooLong(ProviderError):
    """The conversation does not fit the model's window."""


class BadResponse(ProviderError):
    """The server's reply is not what its protocol promises, or the request was refused for good."""


class StreamCut(ProviderError):
    """The stream ended before the reply did. What was received was already told as deltas."""


class ToolError(Exception):
    """Raised by a tool; its text is for the model, which can act on it."""


class BaseChanged(Exception):
    """A file no longer has the content that an approved preview showed. `path` is the real path.

    Raised by the file toolkit just before a write; the round answers it with a second review.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} changed since approval")
        self.path = path
