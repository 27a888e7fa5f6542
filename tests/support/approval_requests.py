import json

from agent_tui.protocol.display import ChangePreview, ResultContentType
from agent_tui.protocol.permissions import (
    CommandPart,
    DecidedBy,
    Decision,
    Permission,
    PermissionDecision,
    PermissionKind,
    PermissionRequest,
    Risk,
    RuleRef,
)

DIFF = """--- a/src/app.py
+++ b/src/app.py
@@ -1,4 +1,4 @@
 import sys

-def main() -> int:
+def main(argv: list[str]) -> int:
     return 0
@@ -20,3 +20,4 @@
 if __name__ == "__main__":
-    sys.exit(main())
+    arguments = sys.argv[1:]
+    sys.exit(main(arguments))
"""


def permission(
    kind: PermissionKind,
    target: str,
    *,
    id: str = "p0",
    pattern: str = "",
    risk: Risk = Risk.MEDIUM,
    reason: str = "",
) -> Permission:
    return Permission(id=id, kind=kind, target=target, pattern=pattern, risk=risk, reason=reason)


def edit_request(
    call_id: str,
    path: str = "src/app.py",
    *,
    diff: str = DIFF,
    hunks: int = 2,
    risk: Risk = Risk.MEDIUM,
    pattern: str = "Edit(/src/**)",
    origin: str = "",
    note: str = "",
) -> PermissionRequest:
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool="edit",
        display_name="Edit",
        title=path,
        permissions=(permission(PermissionKind.WRITE, f"/proj/{path}", pattern=pattern, risk=risk),),
        preview=ChangePreview(
            content=diff,
            content_type=ResultContentType.DIFF,
            path=path,
            full_length=len(diff),
            full_lines=diff.count("\n"),
            hunks=hunks,
            note=note,
        ),
        arguments_json='{"file_path": "src/app.py"}',
        origin=origin,
    )


def bash_request(
    call_id: str,
    command: str = "pytest -q",
    *,
    pattern: str = "Bash(pytest *)",
    risk: Risk = Risk.MEDIUM,
    reason: str = "",
    parts: tuple[CommandPart, ...] = (),
    extra: tuple[Permission, ...] = (),
) -> PermissionRequest:
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool="bash",
        display_name="Bash",
        title=command.split("\n")[0],
        permissions=(
            permission(PermissionKind.EXECUTE, command, pattern=pattern, risk=risk, reason=reason),
            *extra,
        ),
        parts=parts,
        arguments_json=json.dumps({"command": command}),
    )


def fetch_request(
    call_id: str, url: str, *, pattern: str = "WebFetch(domain:docs.example.com)"
) -> PermissionRequest:
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool="webfetch",
        display_name="Fetch",
        title=url,
        permissions=(permission(PermissionKind.NETWORK, url, pattern=pattern),),
        arguments_json=json.dumps({"url": url}),
    )


def tool_request(
    call_id: str, tool: str = "mcp__db__query", *, risk: Risk = Risk.MEDIUM
) -> PermissionRequest:
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool=tool,
        display_name=tool,
        title="",
        permissions=(permission(PermissionKind.TOOL, tool, pattern=tool, risk=risk),),
        arguments_json='{"sql": "select 1", "limit": 5}',
    )


def settled_request(call_id: str, path: str, *, rule: str = "", denied: bool = False) -> PermissionRequest:
    decision = PermissionDecision(
        permission_id="p0",
        decision=Decision.DENY if denied else Decision.ALLOW,
        decided_by=DecidedBy.RULE,
        rule=RuleRef(text=rule, file="/home/me/config.toml", line=4),
    )
    return PermissionRequest(
        request_id=f"r-{call_id}",
        call_id=call_id,
        tool="read",
        display_name="Read",
        title=path,
        permissions=(),
        decided=(decision,) if rule else (),
        arguments_json=f'{{"file_path": "{path}"}}',
    )


def mixed_round() -> list[PermissionRequest]:
    return [
        edit_request("c1", "src/app.py"),
        edit_request("c2", "src/cli.py", hunks=1),
        bash_request(
            "c3",
            "pytest -q && git push --force",
            pattern="",
            risk=Risk.HIGH,
            reason="pushes over what others have",
            parts=(
                CommandPart(argv=("pytest", "-q"), decision=Decision.ALLOW, why="allowed by Bash(pytest *)"),
                CommandPart(argv=("git", "push", "--force"), decision=Decision.ASK, why="changes a remote"),
            ),
        ),
        bash_request("c4", "ruff check src", pattern="Bash(ruff check *)", risk=Risk.LOW),
        fetch_request("c5", "https://docs.example.com/api?page=2"),
        tool_request("c6"),
        edit_request("c7", "../outside.txt", risk=Risk.HIGH, pattern="", origin="reviewer"),
    ]
