"""The bundled tools of a run with a screen: known by the names of their files, loaded when the first is needed."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_tui.extensions.loader import load_tools, plugin_units
from agent_tui.extensions.sources import ToolFileSource
from agent_tui.protocol.errors import ToolLoadError
from agent_tui.protocol.tools import ToolSpec
from agent_tui.toolkit.tool import Tool


class LateTools(ToolFileSource):
    """The tools of `folder`, each called as its file. Loading them is 60 ms of CPU and 4 MiB with what they import.

    Whoever needs one before they are loaded waits for it; `get_ready` may be called in a thread before.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(())
        self._folder = folder
        self._names = tuple(stem for stem, _ in plugin_units(folder))
        self._loading = threading.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether the tools are loaded."""
        return bool(self._order)

    def names(self) -> Sequence[str]:
        """Give the names of the tools without loading them."""
        return self._names

    def get_ready(self) -> None:
        """Load the tools and make their schemas. Raises ToolLoadError: the installation is broken then."""
        with self._loading:
            if self.is_ready:
                return
            loaded = load_tools(self._folder, source=self.source_name)
            if loaded.failures:
                raise loaded.failures[0]
            for tool in loaded.tools:
                if tool.name not in self._names:
                    raise ToolLoadError(
                        f"the tool {tool.name!r} must be called as its file", path=self._folder
                    )
            self._hold(loaded.tools)
            for name in self._order:
                self._spec(name)

    def specs(self) -> Sequence[ToolSpec]:
        self.get_ready()
        return super().specs()

    def owns(self, name: str) -> bool:
        return name in self._names

    def _tool(self, name: str) -> Tool[Any]:
        self.get_ready()
        return super()._tool(name)
