"""Opens the images of a conversation in the desktop's own program."""

import asyncio
from pathlib import Path

from agent_tui.conversation.images import KeptImages
from agent_tui.extensions.mcp.browser import browser_command
from agent_tui.sessions.store import Session
from agent_tui.toolkit.children import start_child

MAX_OPENED = 5
_ANSWER_S = 5.0


async def open_images(record: Session, call_id: str, prompt: str, *, outside: Path) -> str:
    """Open the images of a call's result, or of a prompt when `call_id` is ""; give what went wrong, else "".

    The program is looked up outside of `outside`; what it opens is a file of ours, named by what its bytes are.
    """
    kept = KeptImages(lambda: record.data_dir)
    try:
        blocks = await asyncio.to_thread(record.images_of, call_id=call_id, prompt=prompt)
        files = await asyncio.to_thread(kept.files, blocks)
    except OSError as error:
        return f"The image cannot be written into the session's folder: {error.strerror or error}."
    if not files:
        return "The session keeps no image of it that can be opened."
    program = browser_command(outside=outside)
    if program is None:
        return f"No desktop program opens images here. The file is {files[0]}"
    for file in files[:MAX_OPENED]:
        try:
            opener = await start_child((str(program), str(file)))
        except OSError as error:
            return f"{program.name} did not start: {error.strerror or error}. The file is {file}"
        if await opener.exited(_ANSWER_S) and opener.exit_code != 0:
            return f"{program.name} could not open the image. The file is {file}"
    return ""
