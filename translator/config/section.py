"""What all sections of a configuration have in common: strict keys, and rules that several keys keep together."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

Mistake = tuple[tuple[str, ...], str]
"""Keys of a section that do not agree (`"sources.1.name"`; `""` is the section itself), the first to blame, and why."""


@dataclass(frozen=True)
class Rule:
    """Something that several keys of a section must keep together, wherever the section comes from."""

    needs: tuple[str, ...]
    """The keys that `check` takes, in order; `sources.*.name` gives the names by their number in the list."""
    check: Callable[..., Iterator[Mistake]]

    def mistakes(self, values: Mapping[str, Any]) -> list[Mistake]:
        """Return what `values`, the keys of a section known to be right in themselves, do wrong; none if one lacks."""
        try:
            found = [_look_up(values, need.split(".")) for need in self.needs]
        except KeyError:
            return []
        return list(self.check(*found))


def rule(*needs: str) -> Callable[[Callable[..., Iterator[Mistake]]], Rule]:
    """Make a `Rule` of a function of the values of the keys `needs`."""
    return lambda check: Rule(needs, check)


def _look_up(values: Any, parts: Sequence[str]) -> Any:
    """Return the value at the key path `parts`; raises KeyError if it is not known."""
    if not parts:
        return values
    if parts[0] != "*":
        return _look_up(values[parts[0]], parts[1:])
    found = {}
    for number, item in enumerate(values):
        try:
            found[number] = _look_up(item, parts[1:])
        except KeyError:
            continue
    return found


class Section(BaseModel):
    """The base of every section: frozen, strict about types (`"5"` is no number), closed to unknown keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )

    rules: ClassVar[tuple[Rule, ...]] = ()
    """What the keys of this section must keep together."""

    @model_validator(mode="after")
    def _keep_rules(self) -> Self:
        values = self.model_dump()
        reasons = [reason for rule in self.rules for _, reason in rule.mistakes(values)]
        if reasons:
            raise ValueError("; ".join(reasons))
        return self


def section_in(annotation: Any) -> type[Section] | None:
    """Return the section type named in an annotation such as `tuple[SourceConfig, ...]`, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next(filter(None, map(section_in, get_args(annotation))), None)


def matching(pattern: str, meaning: str) -> AfterValidator:
    """Return a validator for text that `pattern` fits as a whole; `meaning` says in words what that is."""

    def validate(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise PydanticCustomError("mismatch", "{meaning}", {"meaning": meaning})
        return text

    return AfterValidator(validate)


Name = Annotated[
    str,
    Field(max_length=60),
    matching(r"\w[\w.-]*", "letters, digits, `_`, `-` and `.`, the first a letter, a digit or `_`"),
]
PathText = Annotated[str, Field(min_length=1), matching(r"[^\0]*", "a path without NUL characters")]
_LARGEST_INT = 2**31 - 1
PositiveInt = Annotated[int, Field(ge=1, le=_LARGEST_INT)]
Count = Annotated[int, Field(ge=0, le=_LARGEST_INT)]
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
