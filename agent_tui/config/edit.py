"""Changes one setting of a settings file and leaves everything else in it as it was written."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import tomlkit
from pydantic import BaseModel, ValidationError
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable
from tomlkit.toml_document import TOMLDocument

from agent_tui.config.choices import choices_of, refused_word
from agent_tui.config.load import read_text, section_model, setting_keys
from agent_tui.config.paths import PROJECT_FOLDER
from agent_tui.protocol.errors import ConfigError
from agent_tui.protocol.near_names import did_you_mean


def parse_value(key: str, text: str, *, file: Path, known: Sequence[str] | None = None) -> object:
    """Read what a person wrote for the setting `key`: TOML, a bare word, or for lists words between commas.

    `known` are the words it may have where its type does not say so. Raises ConfigError when there is no such setting
    or the value does not fit it.
    """
    model, name = _field(key, file)
    reason = ""
    for candidate in _readings(text.strip()):
        try:
            value = _plain(model.model_validate({name: candidate}), name)
        except ValidationError as error:
            reason = reason or error.errors()[0]["msg"]
        else:
            _check_words(key, value, known, file)
            return value
    if words := choices_of(model.model_fields[name].annotation):
        raise ConfigError(refused_word(text.strip(), words), file=file, key=key)
    raise ConfigError(f"{reason}, got {text.strip()!r}", file=file, key=key)


def _check_words(key: str, value: object, known: Sequence[str] | None, file: Path) -> None:
    """Raises ConfigError for a word that is not `known`; case does not count."""
    given = cast("list[object]", value) if isinstance(value, list) else [value]
    words = [] if known is None else [str(word) for word in given if word]
    for word in words:
        if word.casefold() not in {one.casefold() for one in known or ()}:
            raise ConfigError(refused_word(word, known or ()), file=file, key=key)


def _field(key: str, file: Path) -> tuple[type[BaseModel], str]:
    """Give the table of a setting and its name in it. Raises ConfigError when there is none."""
    section, _, name = key.partition(".")
    model = section_model(section)
    if model is None or name not in model.model_fields:
        meant = did_you_mean(key, setting_keys(), otherwise="; 'agent-tui config get' lists them")
        raise ConfigError(f"is not a setting{meant}", file=file, key=key)
    return model, name


def _readings(text: str) -> list[object]:
    """Give what `text` can mean, most literal first."""
    found: list[object] = []
    with contextlib.suppress(TOMLKitError, ValueError):
        found.append(tomlkit.value(text).unwrap())
    found.append(text)
    found.append([part.strip() for part in text.split(",") if part.strip()])
    return found


def _plain(checked: BaseModel, name: str) -> object:
    return checked.model_dump(mode="json")[name]


def set_value(file: Path, key: str, value: object) -> None:
    """Write `key = value`; comments, order and other settings stay. Raises ConfigError, and then nothing changed."""
    document = _document(file, key)
    section, _, name = key.partition(".")
    table = document.setdefault(section, tomlkit.table())
    if not isinstance(table, AbstractTable):
        raise ConfigError(f"[{section}] is not a table there; mend it first", file=file, key=key)
    table[name] = value
    _write(file, key, tomlkit.dumps(document))  # pyright: ignore[reportUnknownMemberType] - tomlkit leaves its mapping open


def unset_value(file: Path, key: str) -> bool:
    """Take `key` out of the file; tell whether it stood there. Raises ConfigError, and then nothing changed.

    A key that is no setting of this version is taken out too: it may be an old one.
    """
    document = _document(file, key)
    section, _, name = key.partition(".")
    table = document[section] if section in document else None  # noqa: SIM401 - `get` has no type
    if not isinstance(table, AbstractTable) or name not in table:
        return False
    table.remove(name)
    _write(file, key, tomlkit.dumps(document))  # pyright: ignore[reportUnknownMemberType] - as above
    return True


def _document(file: Path, key: str) -> TOMLDocument:
    try:
        return tomlkit.parse(read_text(file)) if file.exists() else tomlkit.document()
    except (TOMLKitError, RecursionError) as error:
        raise ConfigError(
            f"the file is not valid TOML, mend it first: {error}", file=file, key=key
        ) from error
    except (ValueError, OSError) as error:
        raise ConfigError(f"the file {error}; nothing was changed", file=file, key=key) from error


def _write(file: Path, key: str, text: str) -> None:
    """Put the new text in the place of the old one in one step; a link stays a link."""
    target = file.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        target.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.write(text)
        temporary.replace(target)
        if file.name == "config.local.toml" and file.parent.name == PROJECT_FOLDER:
            _keep_from_git(file)
    except OSError as error:
        with contextlib.suppress(
            OSError
        ):  # where a file stands in the place of the folder it refuses as well
            temporary.unlink()
        raise ConfigError(f"cannot be written: {error.strerror or error}", file=file, key=key) from error


def _keep_from_git(file: Path) -> None:
    """Have git ignore the person's own settings of a project, unless somebody wrote the list already."""
    ignore = file.parent / ".gitignore"
    if not ignore.exists():
        ignore.write_text(f"{file.name}\n", encoding="utf-8")
