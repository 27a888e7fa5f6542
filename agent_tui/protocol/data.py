"""The base of every type that crosses a layer, a process or a file."""

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject = dict[str, JsonValue]


class Data(BaseModel):
    """Frozen, validated data; unknown fields are refused so that a misspelt one is noticed.

    Validators are built on first use, which keeps the import cheap.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
