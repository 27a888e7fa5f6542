"""Reads from a failed command what the sandbox may have kept from it, for one clear offer to the person."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.sandbox.interface import Confinement, Profile

MAX_READ_CHARS = 40_000
MAX_OFFERED = 5
_READ_ONLY = re.compile(r"read-only file ?system|\bEROFS\b|os error 30\b|Errno 30\b", re.IGNORECASE)
_NOT_PERMITTED = re.compile(r"permission denied|operation not permitted|\bEACCES\b|\bEPERM\b", re.IGNORECASE)
_NO_NETWORK = re.compile(
    r"network is unreachable|temporary failure in name resolution|\bEAI_AGAIN\b|could not resolve|unable to resolve"
    r"|name or service not known|\bENETUNREACH\b|dial tcp: lookup|no address associated|CONNECT tunnel failed"
    r"|Tunnel connection failed|not among the hosts",
    re.IGNORECASE,
)
_PATH = re.compile(r"""(?:['"‘’`]|(?<![\w./~-]))((?:/|~/|\.\./)[^\s'"‘’`:;,()<>|]*)""")
_PROGRAM = re.compile(r"^\s*[^\s:'\"]+: (?:line \d+: )?(?=.*/)")
_HOST_FORMS = (
    r"could not resolve (?:host|hostname|proxy)?:? ?['\"]?{host}",
    r"unable to resolve host(?: address)? [‘'\"]?{host}",
    r"EAI_AGAIN {host}",
    r"ENOTFOUND {host}",
    r"lookup {host}(?: on|:)",
    r"host=['\"]{host}",
    r"https?://(?:[^\s/@]*@)?{host}",
    r"ssh: could not resolve hostname {host}",
    r"agent-tui: {host} is not among",
)
_HOST = r"(?P<host>[A-Za-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)+)"
_HOSTS = tuple(re.compile(form.replace("{host}", _HOST), re.IGNORECASE) for form in _HOST_FORMS)


@dataclass(frozen=True)
class Blocked:
    """What a person could allow so that the same command may succeed. `key` names the command: offer once for each.

    `directories` would be writable, `hosts` reachable; both may be empty, then only a run without the sandbox is left.
    `words` is the line of output that says so: the command's own, not a fact. Never act on it without asking.
    """

    key: str
    words: str
    directories: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()


def blocked_by_sandbox(
    *,
    command: str,
    exit_code: int | None,
    output: str,
    confinement: Confinement,
    workspace: Path,
    cwd: Path,
    home: Path,
    own: Sequence[Path] = (),
    refused_hosts: Sequence[str] = (),
) -> Blocked | None:
    """Say what the sandbox may have kept from a command, None when nothing points to it.

    `refused_hosts` are those the proxy refused while it ran. Never offered: the home folder or what holds it, `own`
    folders of the program, and folders that the sandbox does not keep from the command anyway.
    """
    if exit_code in (0, None) or confinement.profile is Profile.OFF:
        return None
    lines = output[-MAX_READ_CHARS:].splitlines()
    key = hashlib.sha256(command.encode("utf-8", "surrogateescape")).hexdigest()
    hosts = [] if confinement.host_network else [*refused_hosts, *_hosts(lines)]
    hosts = [host for host in dict.fromkeys(host.lower() for host in hosts) if host not in confinement.hosts]
    place = _Place(confinement, workspace, cwd, home, tuple(own))
    folders = list(dict.fromkeys(folder for line in lines for folder in place.folders_in(line)))
    words = next((line.strip() for line in lines if _READ_ONLY.search(line)), "")
    if not words and (folders or hosts):
        words = next((line.strip() for line in lines if _is_telling(line)), "")
    if not (words or hosts or folders):
        return None
    return Blocked(key, words[:500], tuple(folders[:MAX_OFFERED]), tuple(hosts[:MAX_OFFERED]))


def _is_telling(line: str) -> bool:
    return bool(_NOT_PERMITTED.search(line) or _NO_NETWORK.search(line))


def _hosts(lines: Sequence[str]) -> Iterator[str]:
    """Give the hosts named near a line that says that the network failed."""
    telling = {number for number, line in enumerate(lines) if _NO_NETWORK.search(line)}
    for number, line in enumerate(lines):
        if telling & {number - 1, number, number + 1}:
            for form in _HOSTS:
                yield from (match["host"] for match in form.finditer(line))


@dataclass(frozen=True)
class _Place:
    """Where the command ran."""

    confinement: Confinement
    workspace: Path
    cwd: Path
    home: Path
    own: tuple[Path, ...]

    def folders_in(self, line: str) -> Iterator[Path]:
        """Give the folders that a line of output says could not be written to."""
        read_only = bool(_READ_ONLY.search(line))
        if not (read_only or _NOT_PERMITTED.search(line)):
            return
        for match in _PATH.finditer(_PROGRAM.sub("", line)):
            folder = self._folder(match[1])
            if folder is not None and self._is_kept_away(folder):
                yield folder

    def _folder(self, text: str) -> Path | None:
        """Give the nearest existing folder of a path as a real path."""
        path = self.home / text[2:] if text.startswith("~/") else self.cwd / text
        try:
            while not path.is_dir():
                path = path.parent
            return path.resolve()
        except (OSError, ValueError, RuntimeError):
            return None

    def _is_kept_away(self, folder: Path) -> bool:
        """Tell whether the sandbox keeps the folder from the command and the person could give it."""
        allowed = [*self.confinement.write_dirs]
        if self.confinement.profile is Profile.WORKSPACE:
            allowed.append(self.workspace)
        if self.home.is_relative_to(folder) or any(folder.is_relative_to(place) for place in allowed):
            return False
        if any(folder.is_relative_to(own) or own.is_relative_to(folder) for own in self.own):
            return False
        return len(folder.parts) > 1 and os.access(folder, os.W_OK)
