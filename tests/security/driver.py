"""Runs shell texts in one backend and prints what came of each; the standard library and agent_tui.sandbox only."""

import json
import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    asked = json.load(sys.stdin)
    from agent_tui.sandbox.bwrap import BwrapSandbox
    from agent_tui.sandbox.interface import Confinement, NoSandbox, Profile
    from agent_tui.sandbox.landlock import LandlockSandbox
    from agent_tui.sandbox.probe import probe

    workspace, home, temp = Path(asked["workspace"]), Path(asked["home"]), Path(asked["temp"])
    hidden = [Path(path) for path in asked.get("hidden", [])]
    match asked["backend"]:
        case "bwrap":
            sandbox = BwrapSandbox(workspace, home=home, temp=temp, hidden=hidden)
        case "landlock":
            sandbox = LandlockSandbox(workspace, temp=temp, why_not_strong="asked for")
        case "probe":
            sandbox = probe(workspace, home=home, temp=temp)
        case _:
            sandbox = NoSandbox()
    results = []
    for item in asked["commands"]:
        confinement = Confinement(
            profile=Profile(item.get("profile", "workspace")),
            write_dirs=tuple(Path(path) for path in item.get("write_dirs", [])),
        )
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "AGENT_PID": str(os.getpid()),
        }
        launch = sandbox.launch(
            ["/bin/bash", "-c", item["text"]], cwd=workspace, confinement=confinement, env=env
        )
        done = subprocess.run(
            launch.argv,
            env=launch.env,
            cwd=launch.cwd,
            pass_fds=launch.pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
        )
        for fd in launch.close_after:
            os.close(fd)
        results.append({"code": done.returncode, "text": done.stdout.decode(errors="replace")})
    print(json.dumps({"strength": sandbox.strength.value, "reason": sandbox.reason, "results": results}))


if __name__ == "__main__":
    main()
