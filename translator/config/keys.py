"""Building blocks of the recipe sections: types of keys, rules across keys, effects of a change on resuming."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Annotated, Any, ClassVar, Final, Self, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, SerializationInfo, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from translator.config.paths import expand_home
from translator.errors import InputError

DEVICE: Final = r"auto|cpu|mps|cuda(:[0-9]{1,3})?"  # pattern of the names of devices
DEVICE_NAMES: Final = "`auto`, `cpu`, `mps`, `cuda` or `cuda:N`"


class Effect(Enum):
    """What a changed key does to a run that is resumed."""

    FREE = "free"  # the run takes the new value
    RESULT = "result"  # the result of training changes, so the user must allow it
    REFUSED = "refused"  # the saved weights, or the text that they were trained on, would not fit


# --- rules ---

RuleMethod = TypeVar("RuleMethod", bound=Callable[..., bool | list[str]])


def rule(sentence: str) -> Callable[[RuleMethod], RuleMethod]:
    """Make a method of a section one of its rules.

    The method returns whether the section meets the condition; a condition on each item of a list returns the dotted
    keys that break it, such as `sources.2.name`.

    Args:
        sentence: the condition in words, for help text and message; the keys that it is about are in backticks.
    """

    def mark(method: RuleMethod) -> RuleMethod:
        method.__dict__["sentence"] = sentence  # an attribute, which the type of a method does not declare
        return method

    return mark


def _named_keys(sentence: str, section: "Section") -> Iterator[str]:
    """Yield the keys of `section` that the sentence of a rule has in backticks, in their order."""
    for quoted in re.findall("`([^`]*)`", sentence):
        for word in re.findall(r"[a-z_][a-z0-9_.]*", quoted):
            # A word that is no key, such as the value `char` in `model_type: char`, raises AttributeError.
            with contextlib.suppress(AttributeError):
                _value_at(section, word)
                yield word


def _value_at(section: Any, key_path: str) -> Any:
    """Return the value at a dotted key path below `section`; numbers in the path are list indices."""
    value = section
    for part in key_path.split("."):
        value = value[int(part)] if part.isdecimal() else getattr(value, part)
    return value


def show_value(value: Any) -> str:
    """Return a value as YAML writes it, cut to 60 characters."""
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
    effect: ClassVar[Effect | None] = None
    """The effect of keys whose annotation names none."""

    def __init_subclass__(cls, effect: Effect | None = None) -> None:
        """Set the default effect, for keys whose annotation names none."""
        cls.effect = effect or cls.effect

    @classmethod
    def constraints(cls) -> Iterator[Callable[..., bool | list[str]]]:
        """Yield the methods of this section that `rule` marks, in their order; each has its `sentence`."""
        for owner in reversed(cls.__mro__):  # the base classes first
            for member in vars(owner).values():
                if hasattr(member, "sentence"):
                    yield member

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        """Raise one error for all broken rules.

        Its context has the list `mistakes`: for each mistake the conflicting keys, as dotted paths below this section,
        and the reason.
        """
        mistakes: list[tuple[tuple[str, ...], str]] = []
        for method in self.constraints():
            # 1. The keys of each mistake. A rule about the items of a list returns one key for each item that breaks
            # it; any other rule returns whether it is met, and its sentence names the keys that conflict.
            sentence: str = method.__dict__["sentence"]
            verdict = method(self)
            keys_of_mistakes: list[tuple[str, ...]] = []
            if isinstance(verdict, list):
                keys_of_mistakes = [(key,) for key in verdict]
            elif not verdict:
                keys_of_mistakes = [tuple(_named_keys(sentence, self))]

            # 2. The reason: the sentence, and the value of each key.
            for keys in keys_of_mistakes:
                values = ", ".join(f"{key}: {show_value(_value_at(self, key))}" for key in keys)
                mistakes.append((keys, f"{sentence} ({values})"))

        # 3. One error after all rules, so that a user sees every mistake at once.
        if mistakes:
            reasons = "; ".join(reason for _, reason in mistakes)
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
    """Yield each key path below `section` with its effect, None for a section itself; paths omit list indices."""
    for key, field in section.model_fields.items():
        # A list of sections is no section: it is a key with an effect, although its items have keys below it.
        inner = section_in(field.annotation)
        is_section = inner is not None and field.annotation is inner
        yield prefix + key, None if is_section else _effect_of(field, section)
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
