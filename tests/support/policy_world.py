from agent_tui.protocol.permissions import (
    PermissionKind,
)

READ, WRITE, EXECUTE, NETWORK, TOOL = PermissionKind
