"""The files and images of --file and --image, as mentions that go with the first prompt."""

import os
from typing import Protocol

from agent_tui.run.options import RunOptions


class KeepsImages(Protocol):
    """What is needed of the open conversation."""

    async def keep_image(self, path: str) -> str: ...


async def named_in(core: KeepsImages, options: RunOptions) -> str:
    """Give the mentions, "" when nothing was named. Raises UsageError, and AgentTuiError for what is no image."""
    from agent_tui.protocol.errors import UsageError

    for path in options.files:
        if not os.path.exists(path):  # of a name that is too long, too, this says no
            raise UsageError(f"--file: there is no {str(path)!r}")
    files = [f'@"{path}"' if " " in str(path) else f"@{path}" for path in options.files]
    images = [f"@{await core.keep_image(str(path.absolute()))}" for path in options.images]
    return " ".join([*files, *images])
