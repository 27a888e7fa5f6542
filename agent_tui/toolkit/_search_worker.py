"""Searches files without rg; executed as a file, so that a slow expression can be killed with its process.

Reads one JSON object from its input: `{"sys_path", "op": "files"|"grep", "base", "workspace", ...}`. `files` answers
with the paths, each ended by NUL; `grep` (with `query` and `single`) with one JSON object. Exit code 2: the
expression is invalid, 3: it takes too long; the error output says why.
"""

import json
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> int:
    """Do what the input says."""
    order = json.loads(sys.stdin.buffer.read())
    sys.path[:0] = order["sys_path"]
    # The package itself would import pydantic, 60 ms that this process does not need.
    for name, folder in (("agent_tui", os.path.dirname(HERE)), ("agent_tui.toolkit", HERE)):
        module = types.ModuleType(name)
        module.__path__ = [folder]
        sys.modules[name] = module
    from agent_tui.toolkit.plain_search import answer  # the path above has to be there first

    return answer(order)


if __name__ == "__main__":
    sys.exit(main())
