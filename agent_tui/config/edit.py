"""Changes one setting of a settings file and leaves everything else in it as it was written."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import tomlkit
from pydantic import BaseModel, ValidationError
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, InlineTable, Table
from tomlkit.toml_document import TOMLDocument

from agent_tui.config.choices import choices_of, refused_word
from agent_tui.config.load import BOM, read_exact, section_model, setting_keys
from agent_tui.config.paths import PROJECT_FOLDER
from agent_tui.protocol.errors import ConfigError
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.plain_reasons import misfit
from agent_tui.protocol.toml_text import TomlFault, parse_toml


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
            reason = reason or misfit(error.errors(include_url=False)[0])
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
    """Write `key = value`; all else stays byte for byte. Raises ConfigError, and then nothing changed."""
    source = _Source.read(file, key)
    section, _, name = key.partition(".")
    tables = _tables(source.document, section)
    if not tables and section in source.document:
        raise ConfigError(f"[{section}] is not a table there; mend it first", file=file, key=key)
    if not tables:
        tables = [tomlkit.table()]
        source.document[section] = tables[0]
    table = next((one for one in tables if name in one), None)
    if table is not None:
        table[name] = value
    else:
        _add(_own_table(tables), name, value)
    source.write(file, key, value)


def unset_value(file: Path, key: str) -> bool:
    """Take `key` out of the file; tell whether it stood there. Raises ConfigError, and then nothing changed.

    A key that is no setting of this version is taken out too: it may be an old one.
    """
    source = _Source.read(file, key)
    section, _, name = key.partition(".")
    holders = [table for table in _tables(source.document, section) if name in table]
    for table in holders:
        table.remove(name)
    if holders:
        source.write(file, key, None)
    return bool(holders)


def _tables(document: TOMLDocument, section: str) -> list[AbstractTable]:
    """Give the parts of a table: it may stand in several places, with others between them."""
    return [
        item
        for key, item in document.body
        if key is not None and key.key == section and isinstance(item, AbstractTable)
    ]


def _own_table(tables: Sequence[AbstractTable]) -> AbstractTable:
    """Give the part that has a header of its own, if there is one: a second such header is no TOML."""
    return next((one for one in tables if not (isinstance(one, Table) and one.is_super_table())), tables[0])


def _add(table: AbstractTable, name: str, value: object) -> None:
    """Put a new key behind the last one; comments after that stay where they are: they tell of what follows."""
    body = table.value.body
    keyed = [index for index, (key, _) in enumerate(body) if key is not None]
    after = body[keyed[-1] + 1 :] if keyed and not isinstance(table, InlineTable) else []
    del body[len(body) - len(after) :]
    table[name] = value
    body.extend(after)


@dataclass(frozen=True)
class _Source:
    """A settings file as it was read. `line_end` is what all its lines end with; where they differ `document` has them."""

    document: TOMLDocument
    data: dict[str, object]
    bom: str = ""
    line_end: str = "\n"

    @classmethod
    def read(cls, file: Path, key: str) -> "_Source":
        """Raises ConfigError."""
        try:
            if not file.exists():
                return cls(tomlkit.document(), {})
            exact = read_exact(file)
            text = exact.removeprefix(BOM)
            windows = "\r\n" in text and text.count("\n") == text.count("\r\n")
            text = text.replace("\r\n", "\n") if windows else text
            data = parse_toml(text)
            document = tomlkit.parse(text)
            bom = BOM if exact.startswith(BOM) else ""
            return cls(document, data, bom, "\r\n" if windows else "\n")
        except TomlFault as error:
            raise ConfigError(
                f"the file is not valid TOML, mend it first: {error.reason}",
                file=file,
                key=key,
                line=error.line,
            ) from error
        except (TOMLKitError, RecursionError) as error:
            raise ConfigError(
                f"the file is not valid TOML, mend it first: {error}", file=file, key=key
            ) from error
        except (ValueError, OSError) as error:
            raise ConfigError(f"the file {error}; nothing was changed", file=file, key=key) from error

    def write(self, file: Path, key: str, value: object) -> None:
        """Write the changed document, in which nothing but `key` may have another value. Raises ConfigError."""
        text = tomlkit.dumps(self.document)  # pyright: ignore[reportUnknownMemberType] - tomlkit leaves its mapping open
        if not self._says_only(text, key, value):
            raise ConfigError("cannot be changed alone; edit the file by hand", file=file, key=key)
        ends = text if self.line_end == "\n" else text.replace("\n", self.line_end)
        _write(file, key, self.bom + ends)

    def _says_only(self, text: str, key: str, value: object) -> bool:
        section, _, name = key.partition(".")
        try:
            now = parse_toml(text)
        except TomlFault:
            return False
        tables = [dict(cast("dict[str, object]", data.get(section, {}))) for data in (self.data, now)]
        found = tables[1].pop(name, None)
        tables[0].pop(name, None)
        others = [{one: held for one, held in data.items() if one != section} for data in (self.data, now)]
        return found == value and tables[0] == tables[1] and others[0] == others[1]


def _write(file: Path, key: str, text: str) -> None:
    """Put the new text in the place of the old one in one step; a link stays a link."""
    target = file.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        target.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "w", encoding="utf-8", newline="") as stream:
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
