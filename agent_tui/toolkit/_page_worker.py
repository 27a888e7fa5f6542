"""Turns HTML into markdown or text; executed as a file, so that a hostile page dies with its process.

Reads one JSON object from its input: `{"sys_path", "html", "url", "wanted": "markdown"|"text"}`; prints UTF-8.
"""

import json
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
MEMORY_LIMIT_BYTES = 1 << 30


def main() -> int:
    """Do what the input says."""
    order = json.loads(sys.stdin.buffer.read())
    sys.path[:0] = order["sys_path"]
    # The package itself would import pydantic, 60 ms that this process does not need.
    for name, folder in (("agent_tui", os.path.dirname(HERE)), ("agent_tui.toolkit", HERE)):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module
    from agent_tui.toolkit.page_text import convert  # the path above has to be there first

    _limit_memory()
    text = convert(order["html"], order["url"], order["wanted"])
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _limit_memory() -> None:
    import resource  # this module is missing on some platforms; the limit is a second belt

    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    except (ValueError, OSError):
        return


if __name__ == "__main__":
    sys.exit(main())
