"""Where the tasks of a batch run: in programs beside this one, or on a Dask or Ray cluster."""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from agent_tui.headless.batch.worker import Order, TaskResult, TryAgain, execute, run_order
from agent_tui.headless.exit_codes import ExitCode
from agent_tui.headless.signals import stopped_by_signals
from agent_tui.protocol.errors import AgentTuiError

Started = Callable[[str], None]
Finished = Callable[[TaskResult], None]
Execute = Callable[[Order], Awaitable[TaskResult]]

KNOCK_S = 5.0
"""How long the port of a scheduler may take to open a connection."""


class Engine(Protocol):
    """Runs orders; tells each that begins, as far as it knows, and each that ended."""

    def run(self, orders: Sequence[Order], started: Started, finished: Finished) -> ExitCode:
        """Give DONE, or the code of the signal that stopped it; what ended until then was told."""
        ...


class LocalEngine:
    """At most `jobs` programs at a time on this machine; what may be tried again is, `retries` times."""

    def __init__(self, *, jobs: int, retries: int, execute: Execute = execute) -> None:
        self._jobs = jobs
        self._retries = retries
        self._execute = execute

    def run(self, orders: Sequence[Order], started: Started, finished: Finished) -> ExitCode:
        """Run them all."""
        return asyncio.run(self._run(orders, started, finished))

    async def _run(self, orders: Sequence[Order], started: Started, finished: Finished) -> ExitCode:
        waiting = iter(orders)
        working = asyncio.create_task(self._work_all(waiting, started, finished))  # owned: awaited below

        def stop() -> None:
            working.cancel()

        with stopped_by_signals(stop) as stopped:
            await asyncio.wait([working])
        if not working.cancelled():
            try:
                working.result()
            except ExceptionGroup as group:  # one of it ended the rest
                raise group.exceptions[0] from group
        return stopped.code or ExitCode.DONE

    async def _work_all(self, waiting: Iterator[Order], started: Started, finished: Finished) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._jobs):
                group.create_task(self._work(waiting, started, finished))

    async def _work(self, waiting: Iterator[Order], started: Started, finished: Finished) -> None:
        for order in waiting:
            started(order.id)
            done = await self._execute(order)
            for _ in range(self._retries):
                if done.status == "retry":
                    done = await self._execute(order)
            finished(done)


class DaskEngine:
    """Dask's scheduler and its retries; without an address a cluster of `jobs` processes on this machine."""

    def __init__(self, *, address: str, jobs: int, retries: int) -> None:
        self._address = address
        self._jobs = jobs
        self._retries = retries

    def run(self, orders: Sequence[Order], started: Started, finished: Finished) -> ExitCode:
        """Run them all."""
        try:
            import distributed  # the extra; seconds to import
        except ModuleNotFoundError as error:
            raise AgentTuiError(
                "--engine dask needs the package distributed; install it beside agent-tui with: pip install 'dask[distributed]'"
            ) from error
        with _interrupted_by_sigterm(), _dask_client(distributed, self._address, self._jobs) as client:
            futures: dict[Any, Order] = {}
            for order in orders:
                future = client.submit(
                    run_order,
                    order.model_dump_json(),
                    key=f"agent-tui-{order.mark}-{order.id}",
                    pure=False,
                    retries=self._retries,
                )
                futures[future] = order
                started(order.id)
            try:
                completed = cast("Iterator[Any]", iter(distributed.as_completed(list(futures))))
                for future in completed:
                    finished(_answer(future.result, futures[future]))
            except KeyboardInterrupt:
                client.cancel(list(futures), force=True)
                return ExitCode.INTERRUPTED
        return ExitCode.DONE


class RayEngine:
    """Ray's scheduler and its retries; without an address a cluster of `jobs` processes on this machine."""

    def __init__(self, *, address: str, jobs: int, retries: int) -> None:
        self._address = address
        self._jobs = jobs
        self._retries = retries

    def run(self, orders: Sequence[Order], started: Started, finished: Finished) -> ExitCode:
        """Run them all."""
        try:
            import ray  # pyright: ignore[reportMissingImports]  # an extra that is not installed everywhere
        except ModuleNotFoundError as error:
            raise AgentTuiError(
                "--engine ray needs the package ray; install it beside agent-tui with: pip install ray"
            ) from error
        cluster: Any = ray
        _join_ray(cluster, self._address, self._jobs)
        try:
            again: Any = cluster.remote(run_order)
            again = again.options(max_retries=self._retries, retry_exceptions=[TryAgain])
            open_: dict[Any, Order] = {}
            for order in orders:
                open_[again.remote(order.model_dump_json())] = order
                started(order.id)
            while open_:
                ready, _ = cluster.wait(list(open_), num_returns=1)
                for reference in ready:
                    order = open_.pop(reference)
                    finished(_answer(lambda r=reference: cluster.get(r), order))
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED
        finally:
            cluster.shutdown()
        return ExitCode.DONE


def _join_ray(cluster: Any, address: str, jobs: int) -> None:
    """Connect to a cluster, or start one with `jobs` workers. Raises AgentTuiError."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    here = {} if address else {"num_cpus": jobs, "include_dashboard": False}
    _knock(address, "Ray cluster")
    try:
        cluster.init(address=address or None, log_to_driver=False, logging_level="ERROR", **here)
    except (OSError, ValueError, RuntimeError) as error:
        said = str(error).strip().split("\n")[0]
        raise AgentTuiError(f"no Ray cluster answers at {address or 'this machine'!r}: {said}") from error


@contextmanager
def _interrupted_by_sigterm() -> Generator[None]:
    """Make SIGTERM stop a wait for a cluster as Ctrl+C does, so that what was begun is cleaned up."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _dask_client(distributed: Any, address: str, jobs: int) -> Generator[Any]:
    """Connect to a scheduler, or start one with `jobs` workers. Raises AgentTuiError."""
    if not address:
        with (
            distributed.LocalCluster(
                n_workers=jobs, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    _knock(address, "Dask scheduler")
    try:
        client = distributed.Client(address, timeout=20)
    except (OSError, TimeoutError, ValueError) as error:
        raise AgentTuiError(f"no Dask scheduler answers at {address!r}: {error}") from error
    with client:
        yield client


def _knock(address: str, what: str) -> None:
    """Try the port that an address names: the engines themselves go on trying, for 20 to 60 s and without a word.

    An address without host and port (such as `auto`) or of another transport is left to the engine. Raises AgentTuiError.
    """
    try:
        where = urlsplit(address if "://" in address else f"//{address}")
        host, port = where.hostname, where.port
    except ValueError:
        return
    if not host or not port or where.scheme not in ("", "ray", "tcp", "tls"):
        return
    try:
        socket.create_connection((host, port), timeout=KNOCK_S).close()
    except OSError as error:
        raise AgentTuiError(f"no {what} answers at {address!r}: {error.strerror or error}") from error


def _answer(get: Callable[[], str], order: Order) -> TaskResult:
    """Read what a worker gave. One that was lost too often, or is no worker of ours, is a result that says so."""
    try:
        return TaskResult.model_validate_json(get())
    except TryAgain as again:
        return TaskResult.model_validate_json(str(again.args[0]))  # Ray puts the exception itself there
    except Exception as error:  # whatever the engine or a worker raises: a lost worker, a version of its own
        text = str(error).strip().split("\n")[0]
        said = f"the engine gave up on it: {type(error).__name__}: {text}"[:500]
        return TaskResult(
            id=order.id, task_sha256=order.sha256, commit=order.commit, status="stopped", error=said
        )
