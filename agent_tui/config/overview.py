"""Lists every setting with its value, its meaning, and what each settings file says about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from agent_tui.config.choices import choices_of
from agent_tui.config.load import Layer, Loaded, read_text
from agent_tui.config.settings import Settings
from agent_tui.protocol.toml_text import line_of, parse_toml


@dataclass(frozen=True)
class Place:
    """What one file says: its layer, the 1-based line and the value as it stands there. `counts` False: not trusted."""

    layer: str
    file: Path
    line: int
    value: object
    counts: bool = True


@dataclass(frozen=True)
class Setting:
    """One setting. `choices` are its fixed words; `origin` says what set it: file:line, a flag, or "default"."""

    key: str
    value: object
    default: object
    meaning: str
    origin: str
    choices: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()


def overview(loaded: Loaded, layers: Sequence[Layer]) -> list[Setting]:
    """Give the settings in the order of the tables. A file that cannot be read says nothing here."""
    files = [(layer, *_read(layer.file)) for layer in layers]
    found: list[Setting] = []
    for section, info in Settings.model_fields.items():
        model = info.annotation
        assert isinstance(model, type)  # every table of the settings is a model
        assert issubclass(model, BaseModel)
        values = getattr(loaded.settings, section).model_dump(mode="json")
        for name, field in model.model_fields.items():
            key = f"{section}.{name}"
            places = tuple(_places(files, section, name))
            origin = _origin(loaded.origins.get(key, ""), places)
            default = field.get_default(call_default_factory=True)
            found.append(
                Setting(
                    key,
                    values[name],
                    list(default) if isinstance(default, tuple) else default,  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - defaults are JSON
                    _meaning(field, model),
                    origin,
                    choices_of(field.annotation),
                    places,
                )
            )
    return found


def _read(file: Path) -> tuple[str, Mapping[str, object]]:
    try:
        text = read_text(file)
        return text, parse_toml(text)
    except (ValueError, OSError):
        return "", {}


def _places(files: Sequence[tuple[Layer, str, Mapping[str, object]]], section: str, name: str) -> list[Place]:
    found: list[Place] = []
    for layer, text, data in files:
        table = cast("Mapping[str, object]", data.get(section, {}))
        if isinstance(table, dict) and name in table:
            line = line_of(text, f"{section}.{name}")
            found.append(Place(layer.name, layer.file, line, table[name], counts=not layer.tightens_only))
    return found


def _origin(source: str, places: Sequence[Place]) -> str:
    if not source:
        return "default"
    place = next((place for place in places if str(place.file) == source), None)
    return f"{source}:{place.line}" if place is not None and place.line else source


def _meaning(field: FieldInfo, model: type[BaseModel]) -> str:
    return field.description or (model.__doc__ or "").partition(": ")[2].strip().rstrip(".")
