"""Imports an SDK so that a running screen does not stutter."""

import gc
import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager

_TRANSPORT = ("httpcore2", "anyio._backends._asyncio")
"""What both SDKs import with their first client and first request: modules that a turn would wait for."""
_IMPORT_THRESHOLD = (20_000, 50, 100)


def load_sdk(name: str) -> None:
    """Import `name` (anthropic or openai); does nothing when it is loaded. May run in any thread."""
    if name in sys.modules:
        importlib.import_module(name)  # waits when another thread is in the middle of it
        return
    with calmly():
        importlib.import_module(name)
        for module in _TRANSPORT:
            importlib.import_module(module)
        gc.freeze()  # what was imported stays; looked through with the first young objects it takes up to 100 ms


@contextmanager
def calmly() -> Generator[None]:
    """Let what is imported here hold up no key that is typed meanwhile.

    The garbage collector's threshold is raised: with the default one its oldest generation is collected again and
    again, and keys wait up to 100 ms instead of 20 (measured: 3,500 modules of an SDK, 0.9 s of CPU). That threads
    take turns often is the screen's doing, which has it so all the time.
    """
    threshold = gc.get_threshold()
    gc.set_threshold(*_IMPORT_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
