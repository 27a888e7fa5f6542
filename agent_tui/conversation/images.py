"""Images a person attached: checked, kept in the session's folder, found again by name."""

import base64
import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from agent_tui.protocol.errors import AgentTuiError
from agent_tui.protocol.messages import ImageBlock
from agent_tui.sessions.frames import RawRecord, text_of
from agent_tui.toolkit.images import image_label, recognise

IMAGE_MARK = "img:"
"""What the name of a kept image begins with in a mention."""
LIMIT_BYTES = 3_750_000  # 5 MB once in base64, the most that providers take
LIMIT_PIXELS = 8_000
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class KeptImages:
    """A folder of images, named by number. `folder` gives it, and makes it, once it is needed."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._find_folder = folder

    @property
    def _folder(self) -> Path:
        return self._find_folder() / "images"

    def keep(self, data: bytes) -> str:
        """Keep an image and give its name. Raises AgentTuiError for what no model would take."""
        return self._keep(data)

    def _keep(self, data: bytes, *, path: Path | None = None) -> str:
        info, which = recognise(data), f"The image{f' {path}' if path else ''}"
        if info is None:
            raise AgentTuiError(
                f"{path or 'This'} is no image that a model can see; PNG, JPEG, GIF and WebP are."
            )
        if len(data) > LIMIT_BYTES:
            raise AgentTuiError(
                f"{which} is larger than {LIMIT_BYTES / 1e6:.2f} MB, the most that a model takes."
            )
        if max(info.width, info.height) > LIMIT_PIXELS:
            shape = f"{info.width}x{info.height}"
            raise AgentTuiError(f"{which} has {shape} pixels; a model takes at most {LIMIT_PIXELS} each way.")
        try:
            return self._write(data, _ENDINGS[info.media_type])
        except OSError as error:
            raise AgentTuiError(f"The image cannot be kept in {self._folder}: {error.strerror}") from error

    def keep_file(self, path: Path) -> str:
        """Keep a copy of an image file. Raises AgentTuiError."""
        try:
            with path.open("rb") as stream:
                data = stream.read(LIMIT_BYTES + 1)
        except OSError as error:
            raise AgentTuiError(f"{path} cannot be read: {error.strerror}") from error
        return self._keep(data, path=path)

    def _write(self, data: bytes, ending: str) -> str:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = 1
        while True:
            name = f"{number}.{ending}"
            try:
                fd = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                number += 1
                continue
            with os.fdopen(fd, "wb") as stream:
                stream.write(data)
            return name

    def load(self, name: str) -> ImageBlock:
        """Give a kept image. Raises AgentTuiError when there is none of this name."""
        try:
            data = (self._folder / Path(name).name).read_bytes()
        except OSError as error:
            raise AgentTuiError(f"this session keeps no image {name!r}.") from error
        info = recognise(data)
        if info is None:
            raise AgentTuiError(f"{name!r} is no image any more.")
        return ImageBlock(
            media_type=info.media_type,
            data=base64.b64encode(data).decode("ascii"),
            label=image_label(info, len(data), f"@{IMAGE_MARK}{Path(name).name}"),
        )

    def files(self, blocks: Sequence[RawRecord]) -> list[Path]:
        """Give a file for each image among stored `blocks`, written if need be; what is no image has none.

        Its name ends as its bytes say, whatever the block claims, so no program is started on something else.
        """
        found: list[Path] = []
        for block in blocks:
            try:
                data = base64.b64decode(text_of(block, "data"), validate=True)
            except ValueError:
                continue
            info = recognise(data)
            if info is None or len(data) > LIMIT_BYTES:
                continue
            name = f"shown-{hashlib.sha256(data).hexdigest()[:16]}.{_ENDINGS[info.media_type]}"
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                with os.fdopen(fd, "wb") as stream:
                    stream.write(data)
            found.append(path)
        return found
