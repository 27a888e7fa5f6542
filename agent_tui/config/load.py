"""Reads settings from their layers and remembers where each value came from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from agent_tui.config.choices import choices_of, refused_word
from agent_tui.config.settings import Settings
from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.plain_reasons import misfit, unreadable
from agent_tui.protocol.toml_text import TomlFault, line_of, parse_toml

MAX_SIZE_BYTES = 1_048_576
BOM = "\ufeff"
_TABLE = TypeAdapter(dict[str, object], config={"defer_build": True})
RULES = {"permissions.allow", "permissions.ask", "permissions.deny"}
ELSEWHERE = {*RULES, "mcp", "mcp.servers"}
"""Keys that have readers of their own: the rules, and the MCP servers."""
TABLES_ELSEWHERE = {"hooks"}
"""Whole tables that have readers of their own."""
PROFILES = "profiles"


@dataclass(frozen=True)
class Problem:
    """Something wrong in a settings file; the rest of the file counts. `line` is 1-based, 0 when not known."""

    file: Path
    key: str
    message: str
    line: int = 0
    fatal: bool = False

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


@dataclass(frozen=True)
class Layer:
    """One source of settings, weakest first.

    `tightens_only` layers set nothing: they may only hold rules. `managed` ones are stronger than flags.
    """

    name: str
    file: Path
    tightens_only: bool = False
    managed: bool = False


@dataclass(frozen=True)
class Loaded:
    """What the layers came to. `origins` maps a dotted key to the file or source that set it.

    `broken` says that a file could not be read at all. The permission lists are read by `permissions.sources`, which
    allows nothing unasked then. `profiles` are the names of those that count.
    """

    settings: Settings
    origins: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: Sequence[Problem] = ()
    profiles: Sequence[str] = ()

    @property
    def broken(self) -> bool:
        """Whether a file could not be read at all."""
        return bool(self.broken_files)

    @property
    def broken_files(self) -> frozenset[str]:
        """The files that could not be read at all: other readers of them have nothing to add."""
        return frozenset(str(problem.file) for problem in self.problems if problem.fatal)


def load(
    layers: Sequence[Layer],
    *,
    overrides: Mapping[str, tuple[str, object]] | None = None,
    profile: str = "",
) -> Loaded:
    """Merge `layers` (weakest first), the tables of `profile` in them, `overrides`, then the managed layers.

    `overrides` maps a dotted key to (source, value). Never raises for what a file holds: an unknown key is a warning,
    a value of the wrong type falls back to the weaker layer with a warning, an unreadable file is a fatal problem
    that the caller shows.
    """
    loading = _Loading()
    files = [_File.read(layer, loading.problems) for layer in layers if layer.file.exists()]
    for file in files:
        if not file.layer.managed:
            loading.add(file, file.data)
    for file in files:
        loading.add(file, file.profile(profile), within=f"{PROFILES}.{profile}")
    for key, (source, value) in (overrides or {}).items():
        loading.set_value(key, value, source=source, file=Path(source), line=0)
    for file in files:
        if file.layer.managed:
            loading.add(file, file.data)
    names = dict.fromkeys(name for file in files for name in file.profiles())
    return Loaded(loading.settings(), loading.origins, tuple(loading.problems), tuple(names))


def read_text(path: Path) -> str:
    """Read a settings file: UTF-8 with or without BOM, any line ends. Raises ValueError with the reason."""
    return read_exact(path).removeprefix(BOM).replace("\r\n", "\n")


def read_exact(path: Path) -> str:
    """Read a settings file with its BOM and its line ends. Raises ValueError with the reason."""
    if path.is_dir():
        raise ValueError("is a folder; settings are read from a file")
    if not path.is_file():
        raise ValueError("is not a regular file")
    if path.stat().st_size > MAX_SIZE_BYTES:
        raise ValueError(f"is larger than {MAX_SIZE_BYTES:,} bytes")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 (byte {error.start}); save it as UTF-8") from error


@dataclass(frozen=True)
class _File:
    """What a settings file holds; nothing when it cannot be read."""

    layer: Layer
    text: str = ""
    data: Mapping[str, object] = field(default_factory=dict[str, object])

    @classmethod
    def read(cls, layer: Layer, problems: list[Problem]) -> "_File":
        """Read a layer; what is wrong with the file as a whole is added to `problems`."""
        try:
            text = read_text(layer.file)
            return cls(layer, text, parse_toml(text))
        except TomlFault as error:
            problems.append(
                Problem(layer.file, "", f"not valid TOML: {error.reason}", error.line, fatal=True)
            )
        except OSError as error:
            problems.append(Problem(layer.file, "", unreadable(error), fatal=True))
        except ValueError as error:
            problems.append(Problem(layer.file, "", str(error), fatal=True))
        return cls(layer)

    def profiles(self) -> list[str]:
        """Name the profiles that count."""
        return [] if self.layer.tightens_only else list(_table_of(self.data, PROFILES))

    def profile(self, name: str) -> Mapping[str, object]:
        """Give the tables of a profile."""
        return _table_of(_table_of(self.data, PROFILES), name)


def _table_of(data: Mapping[str, object], name: str) -> Mapping[str, object]:
    table = data.get(name)
    return _TABLE.validate_python(table) if isinstance(table, dict) else {}


class _Loading:
    """Collects values one by one, each validated against its own field."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self.origins: dict[str, str] = {}
        self.problems: list[Problem] = []

    def add(self, file: _File, tables: Mapping[str, object], *, within: str = "") -> None:
        """Take the values of some tables of a file; `within` names the table that holds them."""
        layer = file.layer
        if layer.tightens_only:
            return
        for key, value in _flatten(tables):
            section, dot, _ = key.partition(".")
            others = key in ELSEWHERE or section in TABLES_ELSEWHERE
            line = line_of(file.text, f"{within}.{key}".lstrip("."))
            is_profile = section == PROFILES and dot
            if is_profile or key in (PROFILES, *Settings.model_fields):
                if not isinstance(value, dict):
                    reason = f"a table is expected, [{key}], got {value!r}; nothing of it counts"
                    self.problems.append(Problem(layer.file, key, reason, line))
                continue
            if key in RULES or (others and not within):
                continue
            source = f"{layer.file} [{within}]" if within else str(layer.file)
            self.set_value(key, value, source=source, file=layer.file, line=line)

    def set_value(self, key: str, value: object, *, source: str, file: Path, line: int) -> None:
        section, _, name = key.partition(".")
        model = section_model(section)
        if model is None or name not in model.model_fields:
            meant = did_you_mean(key, setting_keys(), otherwise="")
            self.problems.append(
                Problem(file, key, f"is not a setting of this version; it is ignored{meant}", line)
            )
            return
        try:
            checked = model.model_validate({name: value})
        except ValidationError as error:
            words = choices_of(model.model_fields[name].annotation) if isinstance(value, str) else ()
            first = error.errors(include_url=False)[0]
            reason = refused_word(value, words) if words else f"{misfit(first)}, got {first['input']!r}"
            weaker = self.origins.get(key)
            counts = f"what {weaker} says counts" if weaker else "the default counts"
            self.problems.append(Problem(file, key, f"{reason}; {counts}", line))
            return
        self.values[key] = checked.model_dump()[name]
        self.origins[key] = source

    def settings(self) -> Settings:
        tables: dict[str, JsonObject] = {}
        for key, value in self.values.items():
            section, _, name = key.partition(".")
            tables.setdefault(section, {})[name] = value  # type: ignore[assignment]  # validated field by field above
        return Settings.model_validate(tables)


def section_model(section: str) -> type[BaseModel] | None:
    """Give the model of a table of the settings file, None when there is no such table."""
    info = Settings.model_fields.get(section)
    model = info.annotation if info else None
    return model if isinstance(model, type) and issubclass(model, BaseModel) else None


def setting_keys() -> list[str]:
    """List the dotted keys of all settings."""
    models = {section: section_model(section) for section in Settings.model_fields}
    return [f"{section}.{name}" for section, model in models.items() if model for name in model.model_fields]


def _flatten(data: Mapping[str, object]) -> list[tuple[str, object]]:
    flat: list[tuple[str, object]] = []
    for section, table in data.items():
        if isinstance(table, dict):
            flat += [(f"{section}.{name}", value) for name, value in _TABLE.validate_python(table).items()]
        else:
            flat.append((section, table))
    return flat
