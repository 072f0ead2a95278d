"""Building blocks of the recipe sections: types of keys, rules across keys, effects of a change on resuming."""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, ClassVar, Final, NamedTuple, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, SerializationInfo, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from translator.config.paths import expand_home
from translator.errors import InputError

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
    BATCHES = "changes_result", "the current epoch starts again"
    AVERAGE = "changes_result", "the weights are averaged differently from here on"
    COSINE = "changes_result", "the cosine schedule depends on it"
    CLOCK = "changes_result", "cosine schedule and dropout depend on it"
    BEST = "refused", "scores of another metric cannot be compared"
    MOMENTS = "refused", "the saved optimizer state does not fit"
    NETWORK = "refused", "the saved weights have another architecture"
    PIECES = "refused", "the saved weights have another vocabulary"
    TEXT = "refused", "the prepared text and its subword models would change"

    def __init__(self, kind: str, why: str) -> None:
        self.kind = kind  # always accepted; accepted with --allow-changed; never accepted
        self.why = why


class Mistake(NamedTuple):
    """A broken rule, for the message."""

    keys: tuple[str, ...]  # the conflicting key paths, dotted and relative to the section of the rule
    reason: str


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A condition on several keys of a section."""

    sentence: str  # the condition in words, for help text and message
    keys: tuple[str, ...]  # the keys of the condition; a message shows their values in this order
    holds: Callable[[Any], bool]  # whether a section meets the condition

    def mistakes(self, section: "Section") -> list[Mistake]:
        """Return the mistake of `section`, if it breaks this rule."""
        if self.holds(section):
            return []
        return [Mistake(keys=self.keys, reason=_reason(self.sentence, section, self.keys))]


@dataclass(frozen=True, kw_only=True)
class ItemRule:
    """A condition on a key of each item of a list."""

    sentence: str  # the condition in words, for help text and message
    violations: Callable[[Any], list[str]]  # paths of the keys that break it, such as `sources.2.name`

    def mistakes(self, section: "Section") -> list[Mistake]:
        """Return one mistake for each item of `section` that breaks this rule."""
        mistakes = []
        for key in self.violations(section):
            mistakes.append(Mistake(keys=(key,), reason=_reason(self.sentence, section, (key,))))
        return mistakes


def _reason(sentence: str, section: "Section", keys: tuple[str, ...]) -> str:
    """Return the sentence of a rule, followed by the values of `keys`."""
    values = [f"{key}: {show_value(_value_at(section, key))}" for key in keys]
    return f"{sentence} ({', '.join(values)})"


def _value_at(section: Any, key_path: str) -> Any:
    """Return the value at a dotted key path below `section`; numbers in the path are list indices."""
    value = section
    for part in key_path.split("."):
        value = value[int(part)] if part.isdecimal() else getattr(value, part)
    return value


def show_value(value: Any) -> str:
    """Return a value as YAML writes it, cut to 60 characters."""
    # Numbers that are none have names in YAML.
    if isinstance(value, float) and math.isnan(value):
        return ".nan"
    if isinstance(value, float) and math.isinf(value):
        return "+.inf" if value > 0 else "-.inf"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    # Quotation marks tell a text like "5" from a number.
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Section(BaseModel):
    """The base of every section: frozen, strict about types (`"5"` is not a number), without unknown keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )
    rules: ClassVar[tuple[Rule | ItemRule, ...]] = ()
    """Conditions across keys of this section."""
    effect: ClassVar[Effect | None] = None
    """The effect of keys whose annotation names none."""

    def __init_subclass__(cls, effect: Effect | None = None) -> None:
        """Set the default effect, for keys whose annotation names none."""
        cls.effect = effect or cls.effect

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        """Raise one error for all broken rules; its context has the list of `Mistake`s."""
        # All rules are checked before one error is raised, so that a user sees every mistake at once.
        mistakes: list[Mistake] = []
        for rule in self.rules:
            mistakes += rule.mistakes(self)
        if mistakes:
            reasons = "; ".join(mistake.reason for mistake in mistakes)
            raise PydanticCustomError("rules", "{reasons}", {"reasons": reasons, "mistakes": mistakes})
        return self


def section_in(annotation: Any) -> type[Section] | None:
    """Return the section type named in an annotation such as `tuple[SourceConfig, ...]`, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    # Look into `tuple[...]`, `Annotated[...]` and unions.
    for argument in get_args(annotation):
        section = section_in(argument)
        if section is not None:
            return section
    return None


def effects(section: type[Section], prefix: str = "") -> Iterator[tuple[str, Effect | None]]:
    """Yield each key path below `section` with its effect; paths omit list indices, and a list has its own effect."""
    for key, field in section.model_fields.items():
        # A list of sections is a key with an effect, and its sections have keys too.
        inner = section_in(field.annotation)
        is_section = inner is not None and field.annotation is inner
        if not is_section:
            yield prefix + key, _effect_of(field, section)
        if inner is not None:
            yield from effects(inner, f"{prefix}{key}.")


def _effect_of(field: FieldInfo, section: type[Section]) -> Effect | None:
    """Return the effect in the annotation of a key, else that of its section."""
    for item in field.metadata:
        if isinstance(item, Effect):
            return item
    return section.effect


# --- kinds of keys ---


def _write_place(path: str, info: SerializationInfo) -> str:
    """Return the path as written, or converted by the function in `context`."""
    return str(info.context(path)) if info.context else path


def _expand_home(path: str) -> str:
    """Return `path` with its home folder."""
    try:
        return expand_home(path)
    except InputError as error:
        meaning = "a home folder of this machine, or `./` before a name that begins with `~`"
        raise PydanticCustomError("mismatch", "{meaning}", {"meaning": meaning}) from error


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
MemberPath = Annotated[str, Field(min_length=1), matching(r"[^\x00-\x1f\x7f]*", "a path without control characters")]
"""A path inside an archive."""
PathText = Annotated[MemberPath, AfterValidator(_expand_home)]
"""A path given by the user, relative to the current folder; `~` is a home folder."""
Place = Annotated[PathText, PlainSerializer(_write_place)]
"""A path that `context` may convert when it is written."""
Name = Annotated[
    str,
    Field(max_length=60),
    matching(r"\w[\w.-]*", "letters, digits, `_`, `-` and `.`, beginning with a letter, a digit or `_`"),
]
