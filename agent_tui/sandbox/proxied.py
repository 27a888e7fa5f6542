"""A network namespace whose only way out is the proxy of the granted hosts."""

import array
import socket
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from agent_tui.protocol.errors import SandboxError
from agent_tui.sandbox.network import NSENTER, HeldNetwork
from agent_tui.sandbox.proxy import Proxy, ProxyRules

_STUB = Path(__file__).with_name("_proxy_stub.py")
_URL = "http://127.0.0.1:3128"
_NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
_LOCAL = "localhost,127.0.0.1,::1"
PROXY_VARIABLES: Mapping[str, str] = {
    **dict.fromkeys(_NAMES, _URL),
    "NO_PROXY": _LOCAL,
    "no_proxy": _LOCAL,
    "NODE_USE_ENV_PROXY": "1",
}


class ProxiedNetwork:
    """One namespace and one proxy for a set of hosts. Any thread may use it."""

    def __init__(
        self,
        bwrap: Path,
        hosts: Iterable[str],
        *,
        rules: ProxyRules | None = None,
        nsenter: Path = NSENTER,
    ) -> None:
        self._bwrap = bwrap
        self._nsenter = nsenter
        self._starting = threading.Lock()
        self._hosts = tuple(hosts)
        self._rules = rules
        self._network: HeldNetwork | None = None
        self._proxy: Proxy | None = None
        self._is_closed = False

    def prefix(self) -> list[str]:
        """Give the words that go before a command to run it inside. Starts everything on first use (blocks).

        Raises SandboxError when the namespace cannot be made or joined, or is closed.
        """
        if not self._nsenter.is_file():
            raise SandboxError(
                f"{self._nsenter} is missing, so no command can be limited to some hosts; install util-linux"
            )
        with self._starting:
            if self._is_closed:
                raise SandboxError("the network of the sandbox is closed")
            if self._network is None or not self._network.running:
                self._end()
                self._network = self._start()
            return self._network.prefix()

    @property
    def refused(self) -> list[str]:
        """The hosts that were asked for in vain."""
        return list(self._proxy.refused) if self._proxy else []

    def _start(self) -> HeldNetwork:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with ours, theirs:
            command = (sys.executable, "-I", "-S", str(_STUB), str(theirs.fileno()))
            network = HeldNetwork(
                self._bwrap, inside=command, pass_fds=(theirs.fileno(),), nsenter=self._nsenter
            )
            network.prefix()
            ours.setblocking(False)  # the stub sends before it says that it is ready
            try:
                listener = _receive(ours)
            except OSError as error:
                network.close()
                raise SandboxError(f"the proxy of the sandbox did not start: {error}") from error
        self._proxy = Proxy(listener, self._hosts, rules=self._rules)
        self._proxy.start()
        return network

    def close(self) -> None:
        """End the namespace and the proxy for good."""
        with self._starting:
            self._is_closed = True
            self._end()

    def _end(self) -> None:
        if self._network is not None:
            self._network.close()
        if self._proxy is not None:
            self._proxy.close()
        self._network = self._proxy = None


def _receive(channel: socket.socket) -> socket.socket:
    """Take the listening socket. Raises OSError."""
    size = socket.CMSG_SPACE(array.array("i").itemsize)
    _, ancillary, _, _ = channel.recvmsg(1, size)
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors = array.array("i")
            descriptors.frombytes(data[: descriptors.itemsize])
            listener = socket.socket(fileno=descriptors[0])
            listener.set_inheritable(False)
            listener.setblocking(False)
            return listener
    raise OSError("no descriptor came")
