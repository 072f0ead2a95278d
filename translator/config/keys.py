"""Building blocks of the recipe sections: types of keys, rules across keys, effects of a change on resuming."""

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
    """Whether a resumed run accepts a changed key (`kind`), and the reason shown in the message (`why`)."""

    HARMLESS = "harmless", ""
    SCORED = "harmless", "validation scores are not directly comparable with earlier ones"
    MACHINE = "harmless", "the order of summation changes, so the last bits differ from here on"
    PROCESSES = "harmless", "the dropout noise and the last bits differ from here on"
    START = "harmless", "only a new run uses it; this run continues from its own weights"
    UPDATES = "changes_result", ""
    BEST = "changes_result", "the best score so far is discarded"
    BATCHES = "changes_result", "the current epoch starts again"
    AVERAGE = "changes_result", "the weights are averaged differently from here on"
    COSINE = "changes_result", "the cosine schedule depends on it"
    CLOCK = "changes_result", "cosine schedule and dropout depend on it"
    MOMENTS = "refused", "the saved optimizer state does not fit"
    NETWORK = "refused", "the saved weights have another architecture"
    PIECES = "refused", "the saved weights have another vocabulary"
    TEXT = "refused", "the prepared text and its subword models would change"

    def __init__(self, kind: str, why: str) -> None:
        self.kind = kind  # always accepted; accepted with --allow-changed; never accepted
        self.why = why


class Rule(NamedTuple):
    """A condition on several keys of a section."""

    says: str  # the condition in words, with its keys in backticks: help text and message
    holds: Callable[[Any], bool | list[str]]  # or the key paths that violate it, each a separate mistake

    def mistakes(self, section: "Section") -> list[tuple[tuple[str, ...], str]]:
        """Return the conflicting keys and the reason, for each mistake in `section`."""
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
    """Return a value as YAML writes it, cut to 60 characters."""
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else '+'}.inf"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Section(BaseModel):
    """The base of every section: frozen, strict about types (`"5"` is not a number), without unknown keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )
    rules: ClassVar[tuple[Rule, ...]] = ()
    effect: ClassVar[Effect | None] = None

    def __init_subclass__(cls, effect: Effect | None = None) -> None:
        """Set the default effect, for keys whose annotation names none."""
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
    """Yield each key path below `section` with its effect; paths omit list indices, and a list has its own effect."""
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
    """Return `path`, or the shipped file if `path` is a missing file of the embedded sample."""
    found = Path(path)
    with contextlib.suppress(OSError):  # path too long: opening it reports the error
        if found.is_relative_to("data/sample") and not found.exists() and (shipped_folder() / found).exists():
            return shipped_folder() / found
    return found


def absolute_path(path: str) -> str:
    """Return `path` as an absolute path, with symbolic links unresolved."""
    return os.path.abspath(present_path(path))  # noqa: PTH100 - `resolve` follows links


def _write_place(path: str, info: SerializationInfo) -> str:
    """Return the path as written, or converted by the function in `context`."""
    return str(info.context(path)) if info.context else path


# --- kinds of keys ---


def matching(pattern: str, meaning: str) -> AfterValidator:
    """Return a validator for text that `pattern` must match in full; `meaning` describes it in error messages."""

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
"""A path given by the user, relative to the current folder."""
Name = Annotated[
    str,
    Field(max_length=60),
    matching(r"\w[\w.-]*", "letters, digits, `_`, `-` and `.`, beginning with a letter, a digit or `_`"),
]
