"""Says which commands use the network, and which host they name."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from agent_tui.permissions.shell.elsewhere import Elsewhere, over_ssh, settings
from agent_tui.permissions.shell.git import GLOBAL_VALUE
from agent_tui.permissions.shell.tables import entries
from agent_tui.permissions.shell.urls import SCP_PLACE, URL, host_in, hosts_in
from agent_tui.permissions.shell.words import Word
from agent_tui.permissions.shell.wrappers import base_name

ANY = "*"


@dataclass(frozen=True, slots=True)
class Network:
    """Hosts a command talks to. `raw` says that a web proxy cannot serve it (ssh, DNS, sockets, a listener)."""

    hosts: tuple[str, ...]
    raw: bool = False


_USER_AT = re.compile(r"[\w.-]+@([A-Za-z0-9.-]+)")
_HOSTLIKE = re.compile(
    r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?(:\d+)?|\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F:]*:[0-9a-fA-F:]+"
)
_INTERPRETERS = re.compile(r"(python|pypy|node|nodejs|perl|ruby|php|lua|deno|bun|Rscript|elixir|tclsh)[\d.]*")
_CONNECTS = re.compile(
    r"urllib|requests|httpx|aiohttp|http\.client|\bsocket|ftplib|smtplib|\bfetch\s*\(|net[/.:]|https?[:'\"]|IO::Socket|LWP|curl_"
    r"|fsockopen|open-uri|:httpc|axios"
)
_GIT_PAIRS = {("remote", "update"), ("remote", "show"), ("submodule", "update"), ("submodule", "add"), ("remote", "prune"),
              ("submodule", "init"), ("maintenance", "run")}  # fmt: skip


@cache
def _table() -> dict[str, frozenset[str]]:
    return {name: frozenset(rest.split()) for name, rest in entries("network.txt")}


@cache
def _subcommands() -> dict[str, frozenset[str]]:
    return {name[4:]: words for name, words in _table().items() if name.startswith("sub ")}


def _registry(program: str) -> tuple[str, ...]:
    """Give the hosts a package manager uses when none is named."""
    return tuple(dict(entries("network.txt")).get(f"registry {program}", ANY).split())


def network_use(words: Sequence[Word], *, git_hosts: tuple[str, ...] = ()) -> Network | None:
    """Say which hosts a command talks to; None when it is not known to use the network.

    `git_hosts` are those of the repository's remotes, for git commands that name none.
    """
    program = base_name(words[0].text)
    arguments = [word.text for word in words[1:]]
    if program in ("scp", "rsync", "sftp"):
        remote = tuple(
            dict.fromkeys(m[1].lower() for m in map(SCP_PLACE.fullmatch, arguments) if m)
        ) or hosts_in(arguments)
        if program == "sftp" and not remote:
            remote = _raw_hosts(program, arguments)
        return Network(remote, raw=True) if remote else None
    if program == "ssh" and (left := over_ssh(words)) is not None:
        return Network(_ssh_hosts(left), raw=True)
    if program in _table()["raw"]:
        return Network(_raw_hosts(program, arguments), raw=True)
    if program in _table()["web"]:
        return Network(_web_hosts(program, arguments))
    if program == "openssl" and _matches_subcommand("openssl", arguments):
        return Network(
            _raw_hosts(program, _value_after(arguments, "-connect", "-host") or arguments[1:]), raw=True
        )
    if _INTERPRETERS.fullmatch(program) and any(_CONNECTS.search(argument) for argument in arguments):
        return Network(
            tuple(dict.fromkeys(host_in(url) for url in URL.findall(" ".join(arguments)))) or (ANY,), raw=True
        )
    name = re.sub(r"^(python)[\d.]*$", r"\1", program)
    if name not in _subcommands() or not _matches_subcommand(name, arguments):
        return None
    return _by_subcommand(name, arguments, git_hosts)


def _by_subcommand(program: str, arguments: list[str], git_hosts: tuple[str, ...]) -> Network:
    if program == "git":
        hosts = hosts_in(arguments) or git_hosts or (ANY,)
        return Network(hosts, raw=any("@" in a and "://" not in a for a in arguments) or hosts == (ANY,))
    if program == "python" and "pip" in arguments:
        return Network(_registry("pip"))
    if program in ("getent", "resolvectl", "systemd-resolve"):
        return Network(tuple(arguments[1:]) or (ANY,), raw=True)
    hosts = hosts_in(arguments) or _registry(program)
    return Network(hosts, raw=hosts == (ANY,))


def _matches_subcommand(program: str, arguments: list[str]) -> bool:
    listed = _subcommands()[program]
    if "*" in listed or any(argument in listed for argument in arguments if argument.startswith("-")):
        return True
    if program == "git":
        arguments = _without_global(arguments)
    plain = [argument for argument in arguments if not argument.startswith("-")]
    if program == "git":
        return _git_subcommand(plain, arguments)
    if program == "python":
        return any(f"-m:{value}" in listed for value in _value_after(arguments, "-m"))
    if program in ("yarn", "pnpm") and not plain:
        return program == "yarn" and not any(a in ("--version", "-v", "--help") for a in arguments)
    return bool(plain) and plain[0] in listed


def _without_global(arguments: list[str]) -> list[str]:
    """Leave out git's options before the subcommand, with their values."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in GLOBAL_VALUE else 1
    return arguments[at:]


def _git_subcommand(plain: list[str], arguments: list[str]) -> bool:
    if not plain:
        return False
    if plain[0] == "archive":
        return any(argument.startswith("--remote") for argument in arguments)
    return plain[0] in _subcommands()["git"] or tuple(plain[:2]) in _GIT_PAIRS


def _value_after(arguments: list[str], *names: str) -> list[str]:
    return [arguments[at + 1] for at in range(len(arguments) - 1) if arguments[at] in names]


def _ssh_hosts(left: Elsewhere) -> tuple[str, ...]:
    """Give the host that ssh is told, and those it goes through; ANY where a file or a command says where."""
    places = [left.name]
    for name, value in (*left.options, *settings(left)):
        if name in ("-J", "proxyjump"):
            places.extend(value.split(","))
        elif name == "hostname":
            places.append(value)
        elif name in ("proxycommand", "include") or (name == "-F" and value not in ("none", "/dev/null")):
            places.append(ANY)
    hosts = (ANY if p == ANY else host_in(p if "://" in p else f"//{p}") for p in places)
    return tuple(dict.fromkeys(host for host in hosts if host)) or (ANY,)


def _web_hosts(program: str, arguments: list[str]) -> tuple[str, ...]:
    if program in ("curl", "wget", "wget2"):
        hosts = hosts_in(arguments, places=False)
        return tuple(dict.fromkeys((*hosts, *_named_hosts(program, arguments)))) or (ANY,)
    if program in _table()["bare hosts"]:
        hosts = (*hosts_in(arguments, places=False), *_bare_hosts(arguments))
        return tuple(dict.fromkeys(hosts)) or _registry(program)
    return hosts_in(arguments) or _registry(program)


def _bare_hosts(arguments: list[str]) -> Iterator[str]:
    """Give the hosts among operands without `https://`: with a dot or a port."""
    values = set(_value_after(arguments, *_table()["bare hosts with a value"]))
    for argument in _operands(arguments):
        head = argument.split("/")[0]
        if _HOSTLIKE.fullmatch(head) and ("." in head or ":" in argument) and argument not in values:
            yield host_in(f"//{argument}") or "localhost"


def _named_hosts(program: str, arguments: list[str]) -> Iterator[str]:
    """Give the hosts that curl and wget are given without `https://`; ANY for those in a file or a rewrite."""
    valued = _table()[f"values {program.removesuffix('2')}"]
    before = ""
    for argument in arguments:
        option, before = before, ""
        name, equals, value = argument.partition("=")
        if argument.startswith("-") and argument != "-":
            if name in _table()["hosts in a file"] or _letter(program, argument, valued) == _LIST[program]:
                yield ANY
            if argument.startswith("--"):
                before = "" if equals else argument
                argument = value if name in _table()["host options"] else ""
            else:
                letter = _letter(program, argument, valued)
                glued = argument.partition(letter)[2] if letter else ""
                before = "" if glued else f"-{letter}"
                argument = glued if f"-{letter}" in _table()["host options"] else ""
        elif option in _table()["host options"]:
            pass
        elif option.lstrip("-") in valued:
            continue
        if argument and not URL.search(argument):
            host = host_in(f"//{argument}").lower()
            yield host if _HOSTLIKE.fullmatch(host) else ANY


_LIST = {"curl": "K", "wget": "i", "wget2": "i"}


def _letter(program: str, argument: str, valued: frozenset[str]) -> str:
    """Give the first letter of a cluster that takes a value, "" when none does."""
    if argument.startswith("--"):
        return ""
    return next((char for char in argument[1:] if char in valued or char == _LIST[program]), "")


def _operands(arguments: list[str]) -> list[str]:
    """Give the words that are neither options nor likely values of one."""
    out: list[str] = []
    for at, argument in enumerate(arguments):
        if argument.startswith(("-", "+", "@")) or "=" in argument:
            continue
        if at and arguments[at - 1] in _table()["options with a value"]:
            continue
        out.append(argument)
    return out


def _raw_hosts(program: str, arguments: list[str]) -> tuple[str, ...]:
    hosts = dict.fromkeys(hosts_in(arguments))
    for match in (_USER_AT.match(argument) for argument in arguments):
        if match:
            hosts[match[1].lower()] = None
    if not hosts and program in (
        "psql",
        "mysql",
        "mysqldump",
        "redis-cli",
        "mongosh",
        "mongo",
        "pg_dump",
        "mariadb",
    ):
        hosts = dict.fromkeys(_value_after(arguments, "-h", "--host"))
    if not hosts:
        hosts = dict.fromkeys(
            (SCP_PLACE.fullmatch(a) or [a, a])[1].split(":")[0].lower()
            for a in _operands(arguments)
            if _is_host(a)
        )
    return tuple(host for host in hosts if host) or (ANY,)


def _is_host(text: str) -> bool:
    head = text.split("/")[0]
    return (
        bool(_HOSTLIKE.fullmatch(head))
        and not head.isdigit()
        and ("." in head or ":" in head or head.isalnum())
    )
