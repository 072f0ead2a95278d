"""What a section of a recipe is made of: kinds of keys, rules across keys, and what a changed key does to a run."""

import contextlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, SerializationInfo, model_validator
from pydantic_core import PydanticCustomError

DEVICE: Final = r"auto|cpu|mps|cuda(:[0-9]{1,3})?"  # pattern of the names of devices
DEVICE_NAMES: Final = "`auto`, `cpu`, `mps`, `cuda` or `cuda:N`"


class Effect(Enum):
    """What changing a key means for a run that is resumed: its kind, and why, for the message."""

    HARMLESS = "harmless", ""
    SCORED = "harmless", "validation scores are not quite comparable with those from before"
    MACHINE = "harmless", "sums are taken in another order, so the last bits differ from here on"
    PROCESSES = "harmless", "dropout draws other noise and the last bits differ from here on"
    START = "harmless", "only a new run starts from it; this run continues from its own weights"
    UPDATES = "changes_result", ""
    BEST = "changes_result", "the best score so far is forgotten"
    BATCHES = "changes_result", "the present epoch begins again"
    AVERAGE = "changes_result", "the weights are averaged differently from here on"
    COSINE = "changes_result", "the cosine schedule depends on it"
    CLOCK = "changes_result", "cosine schedule and dropout depend on it"
    MOMENTS = "refused", "the saved optimizer state is of another kind"
    NETWORK = "refused", "the weights belong to another network"
    PIECES = "refused", "the weights belong to another vocabulary"
    TEXT = "refused", "the prepared text and its subword models would change"

    def __init__(self, kind: str, why: str) -> None:
        self.kind = kind  # always accepted; accepted with --allow-changed; never accepted
        self.why = why


class Rule(NamedTuple):
    """A condition that several keys of a section fulfil together."""

    says: str  # the condition in words, with its keys in backticks: help text and message
    holds: Callable[[Any], bool | list[str]]  # or the key paths that do not fulfil it, each a mistake of its own

    def mistakes(self, section: "Section") -> list[tuple[tuple[str, ...], str]]:
        """Return the keys at odds and what is wrong, for each mistake in `section`."""
        found = self.holds(section)
        words = re.findall(r"[\w.]+", " ".join(self.says.split("`")[1::2]))
        named = tuple(word for word in words if word.partition(".")[0] in type(section).model_fields)
        culprits = [(key,) for key in found] if isinstance(found, list) else [] if found else [named]
        return [(keys, f"{self.says} ({', '.join(_shown(section, key) for key in keys)})") for keys in culprits]


def _shown(section: Any, key: str) -> str:
    for part in key.split("."):
        section = section[int(part)] if part.isdecimal() else getattr(section, part)
    return f"{key}: {show_value(section)}"


def show_value(value: Any) -> str:
    """Return a value as YAML has it, cut to 60 characters."""
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else '+'}.inf"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Section(BaseModel):
    """The base of every section: frozen, strict about types (`"5"` is no number), closed to unknown keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )
    rules: ClassVar[tuple[Rule, ...]] = ()
    effect: ClassVar[Effect | None] = None

    def __init_subclass__(cls, effect: Effect | None = None) -> None:
        """Set the effect of each key that has none in its own annotation."""
        cls.effect = effect or cls.effect

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        if broken := [mistake for rule in self.rules for mistake in rule.mistakes(self)]:
            reasons = "; ".join(reason for _, reason in broken)
            raise PydanticCustomError("rules", "{reasons}", {"reasons": reasons, "broken": broken})
        return self


def section_in(annotation: Any) -> type[Section] | None:
    """Return the section type named in an annotation such as `tuple[SourceConfig, ...]`, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next(filter(None, map(section_in, get_args(annotation))), None)


def effects(section: type[Section], prefix: str = "") -> Iterator[tuple[str, Effect | None]]:
    """Yield each key path below `section` and its effect; items of a list have no number, lists an own effect."""
    for key, field in section.model_fields.items():
        inner = section_in(field.annotation)
        if inner is None or field.annotation is not inner:
            yield prefix + key, next((item for item in field.metadata if isinstance(item, Effect)), section.effect)
        if inner is not None:
            yield from effects(inner, f"{prefix}{key}.")


# --- paths ---


def shipped_folder() -> Path:
    """Return the folder that has `configs` and `data/sample`: `shipped` in an installed package, or the checkout."""
    package = Path(__file__).parents[1]
    return package / "shipped" if (package / "shipped").is_dir() else package.parent


def present_path(path: str) -> Path:
    """Return `path`; where nothing is there and it is one of the embedded sample, the file that is shipped."""
    found = Path(path)
    with contextlib.suppress(OSError):  # too long for the file system: whoever opens it says so
        if found.is_relative_to("data/sample") and not found.exists() and (shipped_folder() / found).exists():
            return shipped_folder() / found
    return found


def absolute_path(path: str) -> str:
    """Return `path` as it is from any folder; links stay."""
    return os.path.abspath(present_path(path))  # noqa: PTH100 - `resolve` follows links


def _write_place(path: str, info: SerializationInfo) -> str:
    """Return the path as written, or what the function in `context` makes of it."""
    return str(info.context(path)) if info.context else path


# --- kinds of keys ---


def matching(pattern: str, meaning: str) -> AfterValidator:
    """Return a validator for text that `pattern` fits as a whole; `meaning` says in words what that is."""

    def validate(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise PydanticCustomError("mismatch", "{meaning}", {"meaning": meaning})
        return text

    return AfterValidator(validate)


_LARGEST_INT: Final = 2**31 - 1
PositiveInt = Annotated[int, Field(ge=1, le=_LARGEST_INT)]
Count = Annotated[int, Field(ge=0, le=_LARGEST_INT)]
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
PathText = Annotated[str, Field(min_length=1), matching(r"[^\x00-\x1f\x7f]*", "a path without control characters")]
Place = Annotated[PathText, PlainSerializer(_write_place)]
"""A path of the user's, relative to the current folder."""
Name = Annotated[
    str,
    Field(max_length=60),
    matching(r"\w[\w.-]*", "letters, digits, `_`, `-` and `.`, the first a letter, a digit or `_`"),
]
