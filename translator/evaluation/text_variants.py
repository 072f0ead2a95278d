"""The spellings under which translations and references are compared: one system, several scores, each named."""

from collections.abc import Callable
from typing import Final, NamedTuple

from translator.config import NormalizationConfig
from translator.corpus.normalize import NORMALIZER_VERSION, Normalizer

RAW: Final = "raw"
"""The `normalization` of a score on text as it is: references as read, hypotheses as translated."""

_ZWNJ: Final = "\u200c"


class TextVariant(NamedTuple):
    """One way to spell both sides before they are compared."""

    label: str
    """The `normalization` of its scores."""
    spell: Callable[[str], str]


RAW_TEXT: Final = TextVariant(RAW, lambda text: text)


def text_variants(config: NormalizationConfig) -> list[TextVariant]:
    """Return raw text, both sides normalized, and both sides normalized with a space for each ZWNJ, in this order.

    Each forgives what the one before it forgives, and more: other letters for the same thing; then a half-space that is
    written as a space.
    """
    normalizer = Normalizer(config)
    return [
        RAW_TEXT,
        TextVariant(normalization_label(config), normalizer.target),
        TextVariant(folded_label(config), lambda text: normalizer.target(text).replace(_ZWNJ, " ")),
    ]


def normalization_label(config: NormalizationConfig) -> str:
    """Return the `normalization` of scores whose two sides went through `Normalizer(config).target`.

    Rules that differ from the defaults are named, since scores under other rules are other scores.
    """
    return " ".join([f"normalizer-{NORMALIZER_VERSION} on both sides", *_changed(config)])


def folded_label(config: NormalizationConfig) -> str:
    """Return the `normalization` of scores whose two sides were normalized and have a space for each ZWNJ."""
    return " ".join([f"normalizer-{NORMALIZER_VERSION}, ZWNJ as space, on both sides", *_changed(config)])


def _changed(config: NormalizationConfig) -> list[str]:
    usual = NormalizationConfig().model_dump()
    return [f"{key}={value}" for key, value in config.model_dump().items() if value != usual[key]]
