"""What a tool gets besides its parameters."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agent_tui.protocol.data import Data
from agent_tui.sandbox.interface import Confinement, Sandbox
from agent_tui.toolkit.tracker import FileTracker


class QuestionOption(Data):
    """One answer to choose."""

    label: str
    description: str = ""


class Question(Data):
    """One question for the person; a free-text answer is always possible.

    `header` is a word or two for its tab, `details` markdown to read first. With `multiple` several options may be chosen.
    """

    question: str
    header: str = ""
    options: tuple[QuestionOption, ...] = ()
    multiple: bool = False
    details: str = ""


Ask = Callable[[Sequence[Question]], Awaitable[Sequence[Sequence[str]] | None]]
"""Ask the person: one list of answers per question, or None when declined."""

Report = Callable[[str], Awaitable[None]]
"""Show live output while the tool runs."""


class TodoItem(Data):
    """One line of the todo list.

    `status` is pending, in_progress, completed, cancelled, failed or blocked; `priority` critical, high, medium or low.
    """

    content: str
    status: str = "pending"
    priority: str = "medium"


@dataclass
class TodoList:
    """The session's todo list; replaced as a whole."""

    items: tuple[TodoItem, ...] = ()


@dataclass
class ShellState:
    """What one bash call leaves to the next: the working directory (real path)."""

    cwd: Path


class JobView(Data):
    """A background job as a tool sees it. `exit_code` is None while it is `running`; `output` is what is new.

    `log_path` is the file of all its output.
    """

    job_id: str
    command: str
    running: bool
    exit_code: int | None = None
    output: str = ""
    log_path: str = ""


class Jobs(Protocol):
    """Background commands of this session; none outlives it."""

    async def start(self, command: str, ctx: "ToolContext") -> JobView:
        """Start `command` in the background, in the sandbox of `ctx`."""
        ...

    async def read(self, job_id: str, *, pattern: str = "") -> JobView:
        """Give what the job printed since the last read; lines matching `pattern` only, when given.

        Raises ToolError for an unknown id.
        """
        ...

    async def kill(self, job_id: str) -> JobView:
        """End the job and its whole process group. Raises ToolError for an unknown id."""
        ...

    def running(self) -> Sequence[JobView]:
        """List the jobs that still run."""
        ...


class Spawned(Data):
    """What a sub-agent came to. `reply` is the last it said; `problem` is why it ended early, "" when it did not.

    `calls` counts its tool calls, `tokens` all that was sent and received, `transcript` is the file of its
    conversation, "" when none is kept.
    """

    reply: str
    problem: str = ""
    calls: int = 0
    tokens: int = 0
    transcript: str = ""


class Spawn(Protocol):
    """Runs a sub-agent."""

    async def __call__(self, *, call_id: str, description: str, prompt: str, agent: str) -> Spawned:
        """Run a sub-agent to its end; when cancelled it stops and what it came to is given. Raises ToolError."""
        ...

    def agents(self) -> Sequence[tuple[str, str]]:
        """List (name, description) of the agents there are."""
        ...


class SkillInfo(Data):
    """A skill that can be loaded. `path` is its SKILL.md."""

    name: str
    description: str
    path: str


class Skills(Protocol):
    """The skills of the project and of the user."""

    def all(self) -> Sequence[SkillInfo]:
        """List the skills, nearest folder first."""
        ...

    def load(self, name: str, arguments: str) -> str:
        """Give a skill's body with its sibling files listed. Raises ToolError that lists the names there are."""
        ...


class Modes(Protocol):
    """Lets the model ask to leave plan mode."""

    @property
    def planning(self) -> bool:
        """Whether plan mode is on."""
        ...

    async def leave_plan(self, plan: str) -> tuple[bool, str]:
        """Show the plan; give whether it was accepted and the person's words."""
        ...


class FetchedPage(Data):
    """A response after redirects. `status` is that of HTTP; `body` is at most 5 MiB, decompressed.

    `charset` is the one of the content type, "" when it has none. `from_cache` says that no request was made.
    """

    url: str
    status: int
    content_type: str
    charset: str
    body: bytes
    from_cache: bool = False


class Web(Protocol):
    """The guarded web client."""

    async def get(self, url: str, *, timeout_s: float) -> FetchedPage:
        """Fetch with the address guard at every hop. Raises ToolError."""
        ...

    async def addresses(self, url: str) -> Sequence[str]:
        """Look the host of `url` up and hold it to what was found, so that a later `get` dials what was shown.

        Raises ToolError when the address may not be dialled.
        """
        ...

    async def post_json(
        self, url: str, *, body: str, headers: Sequence[tuple[str, str]], timeout_s: float
    ) -> str:
        """Send JSON to a configured search service and give the response text. Raises ToolError."""
        ...


async def _silent(_text: str) -> None:
    """Drop live output."""


@dataclass
class ToolContext:
    """The world of one call. A user's tool gets the same fields as a bundled one.

    `workspace` is the project's real path; relative paths are relative to it. `cwd` is the shell's directory.
    `ask`, `spawn`, `jobs`, `skills`, `modes` and `web` are None where there is none (no person, inside a sub-agent).
    `report` shows live output, `files` guards what was read, `todos` is the list that the model keeps.
    `confinement` is what this call was granted; a command goes through `sandbox.launch` with it. `data_dir` is the
    session's private folder for full outputs; it is readable by the file tools without asking. `sees_images` says whether
    the model takes them. `extra_roots` are real paths of more folders that count as the project's.
    """

    call_id: str
    turn_id: str
    session_id: str
    workspace: Path
    files: FileTracker
    sandbox: Sandbox
    shell: ShellState
    todos: TodoList
    data_dir: Path
    report: Report = _silent
    ask: Ask | None = None
    jobs: Jobs | None = None
    spawn: Spawn | None = None
    skills: Skills | None = None
    modes: Modes | None = None
    web: Web | None = None
    confinement: Confinement = Confinement()
    sees_images: bool = False
    extra_roots: tuple[Path, ...] = field(default=())

    @property
    def cwd(self) -> Path:
        """The directory the next command starts in."""
        return self.shell.cwd
