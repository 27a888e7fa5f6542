"""Starts the program again and again without importing it anew: a line in is a run, lines out are its pid and its end.

A line is JSON: {"argv", "cwd", "env", "stdout", "stderr"}; the last two are files. The first run is not forked: what
the program loads while it runs is there for all that follow. A line after the pid asks for the end.
"""

import json
import os

import agent_tui.cli
import agent_tui.conversation.core
import agent_tui.extensions.mcp.servers
import agent_tui.headless.print_mode
import agent_tui.providers.anthropic
import agent_tui.run.assembly
import agent_tui.wiring


def run(order: dict) -> int:
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, name in ((1, order["stdout"]), (2, order["stderr"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        return agent_tui.cli.main(order["argv"])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


def main() -> None:
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    print(run(json.loads(orders.readline())), file=answers, flush=True)
    for line in orders:
        pid = os.fork()
        if not pid:
            os.setsid()
            os._exit(run(json.loads(line)))
        print(pid, file=answers, flush=True)
        orders.readline()  # until then the pid is nobody else's
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


if __name__ == "__main__":
    main()
