"""Where the key of a provider comes from: environment, a command, the keyring, a file that only its owner reads."""

import importlib
import importlib.util
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from agent_tui.protocol.errors import AuthError
from agent_tui.protocol.private_file import write_private

KEYRING_SERVICE = "agent-tui"
COMMAND_TIMEOUT_S = 30.0
_KEY_BYTES = 65_536


@dataclass(frozen=True)
class Key:
    """A key and where it was found, for people; the key itself never appears in a text."""

    value: str
    source: str

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"


class _Keyring(Protocol):
    """What is used of the `keyring` package."""

    def get_password(self, service: str, name: str) -> str | None: ...
    def set_password(self, service: str, name: str, password: str) -> None: ...
    def delete_password(self, service: str, name: str) -> None: ...


def find_key(
    provider: str,
    variables: tuple[str, ...],
    *,
    environ: Mapping[str, str],
    command: str = "",
    key_file: Path | None = None,
) -> Key | None:
    """Find a provider's key; the first place that has one wins.

    A configured command may take up to 30 s: call from a thread when a screen is running. Raises AuthError when
    the command fails or the file is readable by others.
    """
    for name in variables:
        value = environ.get(name, "").strip()
        if value:
            return Key(value, name)
    if command:
        return Key(_from_command(command), "the key command")
    stored = _from_keyring(provider)
    if stored:
        return Key(stored, "the keyring")
    if key_file is not None:
        kept = read_key_file(key_file).get(provider, "")
        if kept:
            return Key(kept, str(key_file))
    return None


def advice(provider: str, variable: str, *, source: str = "") -> str:
    """Say what to do about a key that a server refused; `source` is where it came from, as in `Key`, "" when unknown."""
    store = f"store one with /login {provider}, or in a shell with agent-tui auth set {provider}."
    if source == "the key command":
        return "It was printed by the key command: check model.key_command."
    if source.isupper():  # a variable
        return f"It comes from {source}, which wins over a stored key: set it anew, or unset it and {store}"
    return f"Set {variable}, or {store}"


def _from_command(command: str) -> str:
    """Run the command without a shell and give the first line it prints."""
    # Into a file: an agent that the command leaves running (gpg-agent, ssh-agent) may hold a pipe open for ever.
    with tempfile.TemporaryFile() as printed:
        try:
            done = subprocess.run(
                shlex.split(command),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.DEVNULL,
                timeout=COMMAND_TIMEOUT_S,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            reason = "it took too long" if isinstance(error, subprocess.TimeoutExpired) else str(error)
            raise AuthError(
                f"The key command {command!r} cannot be run: {reason}. Check model.key_command."
            ) from error
        printed.seek(0)
        lines = printed.read(_KEY_BYTES).decode("utf-8", "replace").strip().split("\n")
    key = lines[0].strip()
    if done.returncode != 0 or not key:
        why = f"ended with code {done.returncode}" if done.returncode else "printed nothing"
        raise AuthError(f"The key command {command!r} {why}. Check model.key_command.")
    return key


def _keyring() -> _Keyring | None:
    if importlib.util.find_spec("keyring") is None:
        return None
    return cast(
        _Keyring, importlib.import_module("keyring")
    )  # an extra; imported only when a key is looked for


def _from_keyring(provider: str) -> str:
    ring = _keyring()
    if ring is None:
        return ""
    try:
        return ring.get_password(KEYRING_SERVICE, provider) or ""
    except Exception:  # foreign code: a locked or missing keyring counts as one without the key
        return ""


def _to_keyring(provider: str, key: str) -> bool:
    ring = _keyring()
    if ring is None:
        return False
    try:
        ring.set_password(KEYRING_SERVICE, provider, key)
    except Exception:  # foreign code: without a usable keyring the file is next
        return False
    return True


def read_key_file(path: Path) -> dict[str, str]:
    """Read the keys by provider; empty when there is no file.

    Raises AuthError when others may read the file, or when it is no JSON object of texts.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise AuthError(f"{path}: the keys cannot be read: {error.strerror}.") from error
    with os.fdopen(descriptor, encoding="utf-8") as file:
        mode = os.fstat(file.fileno()).st_mode & 0o777
        if mode & 0o077:
            raise AuthError(
                f"{path}: others may read the keys (mode {mode:o}). Run: chmod 600 {shlex.quote(str(path))}"
            )
        try:
            parsed: object = json.load(file)
        except ValueError as error:
            raise AuthError(f"{path}: the keys are no JSON ({error}).") from error
    if not isinstance(parsed, dict):
        raise AuthError(f"{path}: expected an object of provider names and keys.")
    return {str(k): v for k, v in cast("dict[object, object]", parsed).items() if isinstance(v, str)}


def store_key(provider: str, key: str, *, key_file: Path, use_keyring: bool = True) -> str:
    """Keep a key, in the keyring when there is one, else in a 0600 file; give the place's name.

    The file also names, with an empty text, the providers whose key is in the keyring: a start need not ask it.
    Raises AuthError, OSError.
    """
    in_ring = use_keyring and _to_keyring(provider, key)
    _write_key_file(key_file, {**read_key_file(key_file), provider: "" if in_ring else key})
    return "the keyring" if in_ring else str(key_file)


def stored_names(key_file: Path | None) -> list[str]:
    """List the providers that `store_key` keeps a key for. Raises AuthError when others may read the file."""
    return sorted(read_key_file(key_file)) if key_file is not None else []


def remove_key(provider: str, *, key_file: Path) -> list[str]:
    """Forget a stored key; give the places it was removed from. Raises AuthError, OSError."""
    removed: list[str] = []
    ring = _keyring()
    if ring is not None and _from_keyring(provider):
        try:
            ring.delete_password(KEYRING_SERVICE, provider)
            removed.append("the keyring")
        except Exception as error:  # foreign code: a key that stays must be told
            raise AuthError(f"The keyring did not remove the key of {provider}: {error}") from error
    kept = read_key_file(key_file)
    if provider in kept:
        if kept.pop(provider):
            removed.append(str(key_file))
        _write_key_file(key_file, kept)
    return removed


def _write_key_file(path: Path, keys: Mapping[str, str]) -> None:
    """Replace the file; it is 0600 from its first moment."""
    write_private(path, json.dumps(dict(sorted(keys.items())), indent=2).encode())
