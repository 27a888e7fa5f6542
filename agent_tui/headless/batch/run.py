"""Runs a batch: what is left of its tasks, each in a worktree, with the results on disk as they come."""

import asyncio
import hashlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_tui.headless.batch.engines import DaskEngine, Engine, LocalEngine, RayEngine
from agent_tui.headless.batch.results import Results
from agent_tui.headless.batch.table import Progress
from agent_tui.headless.batch.tasks import Read, TaskDefaults, flags, read_tasks
from agent_tui.headless.batch.worker import UNFINISHED, Order, TaskResult
from agent_tui.headless.batch.worktree import Repository
from agent_tui.headless.exit_codes import ExitCode
from agent_tui.protocol.errors import AgentTuiError, UsageError

EngineName = Literal["local", "dask", "ray"]


@dataclass(frozen=True)
class BatchOptions:
    """What the command line says. `output` None writes beside the tasks; `repository` is for tasks without one."""

    tasks: Path
    output: Path | None
    repository: Path
    defaults: TaskDefaults
    engine: EngineName = "local"
    address: str = ""
    jobs: int = 2
    retries: int = 2
    trust: bool = False
    quiet: bool = False
    clean: bool = False
    again: bool = False


def run_batch(options: BatchOptions) -> ExitCode:
    """Run what is left and give the exit code: the worst of DONE, NOT_ASKED, LIMIT, RETRY and FAILED.

    Raises AgentTuiError when nothing could be begun.
    """
    read = read_tasks(options.tasks, options.defaults)
    output = options.output or options.tasks.with_suffix(".results.jsonl")
    if output.resolve() == options.tasks.resolve():
        raise UsageError(f"{output}: the results would overwrite the tasks; name another file with --output")
    with Results(output) as results:
        mark = f"agent-tui-batch-{hashlib.sha256(str(output.resolve()).encode()).hexdigest()[:16]}"
        roots: dict[Path, Repository] = {}
        repositories = {one.task.id: _repository(options, one, mark, roots) for one in read}
        if options.clean:
            return _clean(results, repositories)
        _check_unchanged(options, read, results)
        orders = asyncio.run(_orders(options, read, results, repositories))
        known = [results.known[one.task.id] for one in read if one.task.id in results.known]
        with Progress([one.task.id for one in read], known, err=sys.stderr, quiet=options.quiet) as progress:

            def finished(result: TaskResult) -> None:
                results.append(result)
                progress.finished(result)

            try:
                code = _engine(options).run(orders, progress.started, finished)
            finally:
                asyncio.run(_sweep(results, set(repositories.values())))
        if not options.quiet:
            shown = "" if progress.is_live else f"{progress.summary()}; "
            print(f"{shown}results in {output}", file=sys.stderr)
        return code or _worst([results.known[one.task.id] for one in read if one.task.id in results.known])


def _is_open(known: TaskResult, options: BatchOptions) -> bool:
    """Tell whether a task that has a result runs again."""
    return known.status in (*UNFINISHED, *(("failed", "timeout") if options.again else ()))


def _check_unchanged(options: BatchOptions, read: Sequence[Read], results: Results) -> None:
    """Refuse a task that is not the one its result is of. Raises UsageError."""
    for one in read:
        known = results.known.get(one.task.id)
        if known is None or (_is_open(known, options) and known.status != "pending"):
            continue  # it runs anew
        if known.task_sha256 != one.sha256:
            raise UsageError(
                f"{options.tasks}:{one.line}: task {one.task.id!r} is another one than the one whose result is in "
                f"{results.file} (its line or an option changed); give it another id, or name another file with --output"
            )


def _repository(options: BatchOptions, one: Read, mark: str, roots: dict[Path, Repository]) -> Repository:
    """Give the repository of a task, one object for each root. Raises UsageError."""
    root = options.repository
    if one.task.repository:
        root = (options.tasks.parent / Path(os.path.expanduser(one.task.repository))).absolute()
    if not root.is_dir():
        raise UsageError(f"{options.tasks}:{one.line}: repository: there is no directory {str(root)!r}")
    root = root.resolve()
    return roots.setdefault(root, Repository(root, mark))


async def _orders(
    options: BatchOptions, read: Sequence[Read], results: Results, repositories: dict[str, Repository]
) -> list[Order]:
    """Give what is left to do. Raises AgentTuiError with the line of a task that cannot begin."""
    left: list[Order] = []
    checked: set[Path] = set()
    commits: dict[tuple[Path, str], str] = {}
    await _sweep(results, set(repositories.values()))
    for one in read:
        known = results.known.get(one.task.id)
        if known is not None and not _is_open(known, options):
            continue
        repository = repositories[one.task.id]
        key = (repository.root, one.task.base or "HEAD")
        try:
            if repository.root not in checked and not options.trust:
                await _check_programs(repository)
            checked.add(repository.root)
            if key not in commits:
                commits[key] = await repository.commit(key[1])
        except AgentTuiError as error:
            raise UsageError(f"{options.tasks}:{one.line}: {error}") from error
        left.append(_order(options, one, repository, commits[key], known))
    return left


async def _check_programs(repository: Repository) -> None:
    """A checkout would run what the repository's own configuration names. Raises AgentTuiError."""
    programs = await repository.programs()
    if programs:
        raise AgentTuiError(
            f"{repository.root}: its git configuration names programs that a checkout runs ({', '.join(programs)}); "
            "--trust lets git run them"
        )


def _order(
    options: BatchOptions, one: Read, repository: Repository, commit: str, known: TaskResult | None
) -> Order:
    goes_on = known is not None and known.status == "pending" and Path(known.worktree).is_dir()
    session_id = known.session_id if known is not None and goes_on else ""
    trust = ("--trust",) if options.trust else ()
    return Order(
        id=one.task.id,
        sha256=one.sha256,
        repository=str(repository.root),
        mark=repository.mark,
        commit=known.commit if known is not None and goes_on else commit,
        flags=(*trust, *flags(one.task, session_id=session_id)),
        timeout_s=one.task.timeout_s,
        worktree=known.worktree if known is not None and goes_on else "",
        session_id=session_id,
    )


async def _sweep(results: Results, repositories: set[Repository]) -> None:
    """Take away what killed workers and programs left; what waits for approvals stays."""
    kept = {result.worktree for result in results.known.values() if result.status == "pending"}
    for repository in repositories:
        for place in await repository.left():
            if str(place) not in kept:
                await repository.remove(place)


def _clean(results: Results, repositories: dict[str, Repository]) -> ExitCode:
    """Give up what waits for approvals: their worktrees go, their results say so."""
    for task_id, result in list(results.known.items()):
        if result.status == "pending" and task_id in repositories:
            given_up = {"status": "denied", "worktree": "", "error": "given up: nobody answered"}
            results.append(result.model_copy(update=given_up))
    asyncio.run(_sweep(results, set(repositories.values())))
    return ExitCode.DONE


def _engine(options: BatchOptions) -> Engine:
    match options.engine:
        case "local":
            return LocalEngine(jobs=options.jobs, retries=options.retries)
        case "dask":
            return DaskEngine(address=options.address, jobs=options.jobs, retries=options.retries)
        case "ray":
            return RayEngine(address=options.address, jobs=options.jobs, retries=options.retries)


_CODES = {
    "done": ExitCode.DONE,
    "denied": ExitCode.NOT_ASKED,
    "pending": ExitCode.NOT_ASKED,
    "limit": ExitCode.LIMIT,
    "timeout": ExitCode.LIMIT,
    "retry": ExitCode.RETRY,
    "stopped": ExitCode.RETRY,
    "failed": ExitCode.FAILED,
}
_ORDER = [ExitCode.DONE, ExitCode.NOT_ASKED, ExitCode.LIMIT, ExitCode.RETRY, ExitCode.FAILED]


def _worst(results: Sequence[TaskResult]) -> ExitCode:
    return max((_CODES[result.status] for result in results), key=_ORDER.index, default=ExitCode.DONE)
