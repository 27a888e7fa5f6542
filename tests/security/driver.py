"""Runs shell texts in one backend and prints what came of each; the standard library and agent_tui.sandbox only."""

import ipaddress
import json
import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    asked = json.loads(sys.stdin.readline())
    from agent_tui.protocol.errors import SandboxError
    from agent_tui.sandbox.bwrap import BwrapSandbox
    from agent_tui.sandbox.interface import Confinement, NoSandbox, Profile
    from agent_tui.sandbox.landlock import LandlockSandbox
    from agent_tui.sandbox.probe import probe
    from agent_tui.sandbox.proxy import ProxyRules

    workspace, home, temp = Path(asked["workspace"]), Path(asked["home"]), Path(asked["temp"])
    hidden = [Path(path) for path in asked["hidden"]]
    names = asked.get("names", {})

    async def resolver(host, port):
        return names.get(host, [])

    rules = ProxyRules(
        resolver=resolver,
        allows=lambda address: address == ipaddress.ip_address("127.0.0.1"),
        ports=frozenset(asked.get("ports", [80, 443])),
    )
    match asked["backend"]:
        case "bwrap":
            sandbox = BwrapSandbox(workspace, home=home, temp=temp, hidden=hidden, proxy_rules=rules)
        case "landlock":
            sandbox = LandlockSandbox(workspace, temp=temp, why_not_strong="asked for")
        case "probe":
            sandbox = probe(workspace, home=home, temp=temp)
        case _:
            sandbox = NoSandbox()

    def start(item):
        confinement = Confinement(
            profile=Profile(item.get("profile", "workspace")),
            write_dirs=tuple(Path(path) for path in item.get("write_dirs", [])),
            hosts=tuple(item.get("hosts", [])),
            host_network=item.get("host_network", False),
        )
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "AGENT_PID": str(os.getpid()),
            **item.get("env", {}),
        }
        argv = ["/bin/bash", "-c", item["text"]]
        launch = sandbox.launch(argv, cwd=workspace, confinement=confinement, env=env)
        process = subprocess.Popen(
            launch.argv,
            env=launch.env,
            cwd=launch.cwd,
            pass_fds=launch.pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for fd in launch.close_after:
            os.close(fd)
        return process

    def outcome(item):
        try:
            process = start(item)
        except SandboxError as error:
            return {"code": 255, "text": f"SandboxError: {error}"}
        return finish(process)

    def finish(process):
        text, _ = process.communicate(timeout=300)
        return {"code": process.returncode, "text": text.decode(errors="replace")}

    if asked.get("parallel"):
        running = [start(item) for item in asked["commands"]]
        results = [finish(process) for process in running]
    else:
        results = [outcome(item) for item in asked["commands"]]
    if asked.get("wait"):  # the test ends this process itself
        process = start({"text": asked["wait"]})
        print("started", flush=True)
        process.wait()
    if asked["backend"] == "bwrap":
        sandbox.close()
    print(json.dumps({"strength": sandbox.strength.value, "reason": sandbox.reason, "results": results}))


if __name__ == "__main__":
    main()
