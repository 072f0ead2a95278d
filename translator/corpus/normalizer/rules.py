"""What a rule of the normalizer is made of: data, which every model keeps in its file `normalizer.json`.

docs/normalizer.md describes the file for other programs. A few algorithms are no replacements by a pattern; rules name
them, as `kept` says.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter, with_config

from translator.run.files import sha256_of_json
from translator.run.records import STRICT, WholeNumber, sign

Language = Literal["english", "persian"]
Character = Annotated[str, Field(min_length=1, max_length=1)]
Change = Callable[[str], str]
"""A function from a text, or from a single character, to its replacement."""


FUNCTIONS: Final[dict[str, Change]] = {}
"""The functions that rules may name."""
SIGNS_OF_FUNCTIONS: Final[dict[str, frozenset[str]]] = {}
"""By the name of a function, signs of which every text that it changes has at least one; without an entry, none."""


def kept(name: str, signs: Iterable[str] = "") -> Callable[[Change], Change]:
    """Mark a function that rules name, such as `join_quotes-1`: trained models expect what it gave in training.

    So what a name stands for never changes. A function that shall give anything else for any text gets a new name, such
    as `join_quotes-2`; the old one stays, for the models that were trained with it.

    Args:
        name: with the number of the version.
        signs: characters of which every text that the function changes has at least one; none: it may change any text.
    """

    def register(function: Change) -> Change:
        FUNCTIONS[name] = function
        if signs:
            SIGNS_OF_FUNCTIONS[name] = frozenset(signs)
        return function

    return register


@with_config(STRICT)
@dataclass(frozen=True, kw_only=True)
class Row:
    """One replacement of everything that a pattern matches."""

    contains: str  # a text that every match has: a fast test, by which most texts are left alone
    pattern: str  # a regular expression of Python
    replacement: str | dict[Character, str]  # a template such as `\1-`, or a table for the characters of the match
    unless: str | None = None  # a pattern; a match that contains one of its matches stays


@with_config(STRICT)
@dataclass(frozen=True, kw_only=True)
class Rewriting:
    """Rows, each applied to the text that the one before it returns."""

    rows: tuple[Row, ...]
    only_if: str | None = None  # a pattern; the rows are skipped for a text without a match


Step = str | Rewriting
"""A change of a whole text: rows, or the name of a function in `FUNCTIONS`."""


@with_config(STRICT)
@dataclass(frozen=True, kw_only=True)
class Work:
    """What a rule does to the text of one language, in this order."""

    decoding: str | None = None  # the name of a function that decodes text again, or the entities in it
    characters: dict[Character, str] | None = None  # the replacement of each single character that the rule changes
    text: tuple[Step, ...] = ()


NOTHING: Final = Work()


@with_config(STRICT)
@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule: its key in `corpus.normalization`, the value that enables it, and its work on each language."""

    key: str
    value: bool | str = True
    english: Work = NOTHING
    persian: Work = NOTHING


@with_config(STRICT)
@dataclass(frozen=True, kw_only=True)
class NormalizerRules:
    """All rules in order; which of them apply is the choice of a configuration.

    The repairs of the decoding come first, then all tables of characters, then the steps on the text.
    """

    format: Literal[1] = 1  # of `normalizer.json`
    version: WholeNumber  # the name of these rules in the label of a score
    rules: tuple[Rule, ...]
    # Patterns, by language. A text that was changed, and had a match, is normalized again until nothing changes.
    again: Annotated[dict[Language, str], Field(min_length=2)]

    @cached_property
    def sha256(self) -> str:
        """The hash of the rules, for fingerprints and checkpoints."""
        return sha256_of_json(NORMALIZER_RULES.dump_python(self, mode="json"))

    def to_json(self) -> str:
        """Return the content of `normalizer.json`, with its own checksum."""
        return json.dumps(sign(NORMALIZER_RULES.dump_python(self, mode="json")), ensure_ascii=False, indent=2) + "\n"


NORMALIZER_RULES: Final = TypeAdapter(NormalizerRules)
