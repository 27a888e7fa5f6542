"""The bundled table of models: windows, prices and abilities, each row with its source; users may override it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent_tui.protocol.data import JsonObject
from agent_tui.protocol.messages import TokenUsage
from agent_tui.protocol.near_names import did_you_mean
from agent_tui.protocol.plain_reasons import misfit
from agent_tui.providers.base import Effort, ModelInfo

Thinking = Literal["none", "adaptive", "budget", "effort"]
"""How a model is told to think: not at all, by itself (with an effort), with a token budget, by effort only."""

Api = Literal["messages", "chat", "responses"]

OFFLINE_MODEL = "offline"
"""The built-in model that needs no key."""


class LongPrompt(BaseModel):
    """Above `from_tokens` of prompt a whole request costs the given factors more."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    from_tokens: int
    input_factor: float
    output_factor: float


class ModelRow(BaseModel):
    """One row of the table. Fields that are missing are not known; what is not `confirmed` counts as not known."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    provider: str
    name: str
    context_tokens: Annotated[int, Field(gt=0)] | None = None
    max_output_tokens: Annotated[int, Field(gt=0)] | None = None
    input_usd_per_mtok: Annotated[float, Field(ge=0)] | None = None
    output_usd_per_mtok: Annotated[float, Field(ge=0)] | None = None
    cache_read_usd_per_mtok: Annotated[float, Field(ge=0)] | None = None
    cache_write_usd_per_mtok: Annotated[float, Field(ge=0)] | None = None
    long_prompt: LongPrompt | None = None
    sees_images: bool = False
    reads_pdfs: bool = False
    thinking: Thinking = "none"
    efforts: tuple[str, ...] = ()
    api: Api = "chat"
    source: str = ""
    checked: date | None = None
    confirmed: bool = True

    def as_known(self) -> "ModelRow":
        """Give the row without its numbers when they are not confirmed by the one who sells the model."""
        return self if self.confirmed else self.model_copy(update=dict.fromkeys(_NUMBERS))


_NUMBERS = (
    "context_tokens",
    "max_output_tokens",
    "input_usd_per_mtok",
    "output_usd_per_mtok",
    "cache_read_usd_per_mtok",
    "cache_write_usd_per_mtok",
    "long_prompt",
)


@dataclass(frozen=True)
class ModelFacts:
    """What the providers need to know of a model beyond `info`. `efforts` are the words its server accepts."""

    info: ModelInfo
    thinking: Thinking = "none"
    efforts: tuple[str, ...] = ()
    api: Api | None = None
    source: str = ""


class ModelTable:
    """All rows by provider and name."""

    def __init__(self, rows: tuple[ModelRow, ...]) -> None:
        self.rows = rows
        self._by_name = {(row.provider, row.name): row for row in rows}

    def facts(self, provider: str, model: str) -> ModelFacts:
        """Give what is known of a model; for an unknown one only what its name says for certain."""
        for name in (model, without_date(model)):
            row = self._by_name.get((provider, name)) or self._by_name.get(("", name))
            if row is not None:
                return _facts(row, model)
        return ModelFacts(info=ModelInfo(name=model), thinking=_thinking_by_name(provider, model))

    def default_model(self, provider: str) -> str:
        """Give the provider's first model; "" when it has none."""
        return next((row.name for row in self.rows if row.provider == provider), "")

    def names(self, provider: str) -> list[str]:
        """List the models of a provider, the default first."""
        return [row.name for row in self.rows if row.provider == provider]


def load_table(overrides: Mapping[str, JsonObject] | None = None) -> ModelTable:
    """Read the bundled table and put the user's rows over it.

    `overrides` maps a model's name to fields of its row; a row the bundled table lacks counts for every provider
    unless it names one. What `wrong_facts` names is left out.
    """
    rows = list(_bundled_rows())
    for name, fields in (overrides or {}).items():
        rows = _overridden(rows, name, fields)
    return ModelTable(tuple(rows))


def wrong_facts(overrides: Mapping[str, JsonObject]) -> list[tuple[str, str]]:
    """Give the fields of the user's rows that mean nothing or have a wrong value: dotted key, what is wrong."""
    found: list[tuple[str, str]] = []
    for name, fields in overrides.items():
        for field, reason in _wrong_fields(fields).items():
            found.append((f"model.facts.{name}.{field}", reason))
    return found


@cache
def _bundled_rows() -> tuple[ModelRow, ...]:
    text = Path(__file__).with_name("models.toml").read_text(encoding="utf-8")
    return tuple(ModelRow.model_validate(row) for row in tomllib.loads(text)["models"])


def _overridden(rows: list[ModelRow], name: str, fields: JsonObject) -> list[ModelRow]:
    wanted = fields.get("provider")
    index = next(
        (i for i, row in enumerate(rows) if row.name == name and wanted in {None, row.provider}), None
    )
    known: JsonObject = (
        {"provider": "", "name": name} if index is None else rows[index].as_known().model_dump(mode="json")
    )
    wrong = _wrong_fields(fields)
    good = {field: value for field, value in fields.items() if field not in wrong}
    row = ModelRow.model_validate({**known, "confirmed": True, **good})
    return [*rows, row] if index is None else [*rows[:index], row, *rows[index + 1 :]]


def _wrong_fields(fields: JsonObject) -> dict[str, str]:
    """Say of each field that cannot be used why not."""
    try:
        ModelRow.model_validate({"provider": "", "name": "", **fields})
    except ValidationError as error:
        known = [name for name in ModelRow.model_fields if name != "name"]
        return {
            field: f"is no fact of a model{did_you_mean(field, known)}"
            if field not in ModelRow.model_fields
            else f"{misfit(problem)}, got {fields[field]!r}"
            for problem in error.errors()
            for field in [str(problem["loc"][0])]
        }
    return {}


def _facts(row: ModelRow, model: str) -> ModelFacts:
    row = row.as_known()
    info = ModelInfo(
        name=model,
        context_tokens=row.context_tokens,
        max_output_tokens=row.max_output_tokens,
        input_usd_per_mtok=row.input_usd_per_mtok,
        output_usd_per_mtok=row.output_usd_per_mtok,
        cache_read_usd_per_mtok=row.cache_read_usd_per_mtok,
        cache_write_usd_per_mtok=row.cache_write_usd_per_mtok,
        sees_images=row.sees_images,
        reads_pdfs=row.reads_pdfs,
        thinks=row.thinking != "none",
    )
    if row.long_prompt is not None:
        info = replace(
            info,
            long_prompt_from_tokens=row.long_prompt.from_tokens,
            long_prompt_input_factor=row.long_prompt.input_factor,
            long_prompt_output_factor=row.long_prompt.output_factor,
        )
    return ModelFacts(info, thinking=row.thinking, efforts=row.efforts, api=row.api, source=row.source)


def without_date(model: str) -> str:
    """Take the date of a snapshot off a model's name."""
    return re.sub(r"-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)$", "", model)


def _thinking_by_name(provider: str, model: str) -> Thinking:
    """Claude models from 4.6 on think by themselves, 4 to 4.5 with a budget; of others nothing is certain."""
    if provider != "anthropic":
        return "none"
    found = re.match(r"claude-[a-z]+-(\d+)(?:-(\d)(?!\d))?", model)
    if found is None:
        return "none"
    version = (int(found[1]), int(found[2] or 0))
    if version >= (4, 6):
        return "adaptive"
    return "budget" if version >= (4, 0) else "none"


def server_effort(effort: Effort, facts: ModelFacts) -> str:
    """Give the effort in the model's own words: the nearest it accepts; "" to leave it to the server."""
    if not effort or not facts.efforts:
        return effort if facts.thinking in {"adaptive", "effort"} else ""
    if effort in facts.efforts:
        return effort
    return facts.efforts[-1] if effort in {"high", "max"} else facts.efforts[0]


def cost_usd(usage: TokenUsage, info: ModelInfo) -> float | None:
    """Give the price of one request in USD; None when the model's prices are not known.

    A cache price that is not known counts as the input price.
    """
    if info.input_usd_per_mtok is None or info.output_usd_per_mtok is None:
        return None
    plain = info.input_usd_per_mtok
    read = plain if info.cache_read_usd_per_mtok is None else info.cache_read_usd_per_mtok
    write = plain if info.cache_write_usd_per_mtok is None else info.cache_write_usd_per_mtok
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    is_long = info.long_prompt_from_tokens is not None and prompt > info.long_prompt_from_tokens
    in_factor = info.long_prompt_input_factor if is_long else 1.0
    out_factor = info.long_prompt_output_factor if is_long else 1.0
    into = usage.input_tokens * plain + usage.cache_read_tokens * read + usage.cache_write_tokens * write
    return (into * in_factor + usage.output_tokens * info.output_usd_per_mtok * out_factor) / 1_000_000
