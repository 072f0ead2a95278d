"""Text variants: raw, normalized, and folded text, on which a metric compares translations and references."""

from collections.abc import Callable
from typing import Final, NamedTuple

from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.normalizer import Normalizer
from translator.corpus.normalizer_rules import NormalizerRules

RAW: Final = "raw"  # the `normalization` of a score on unchanged text: references as read, hypotheses as translated
ZWNJ: Final = "\u200c"


class TextVariant(NamedTuple):
    """A normalization of both sides before the comparison; `label` is the `normalization` of its scores."""

    label: str
    spell: Callable[[str], str]


RAW_TEXT: Final = TextVariant(label=RAW, spell=str)


def text_variants(
    config: NormalizationConfig, languages: Languages = (ENGLISH, PERSIAN), rules: NormalizerRules | None = None
) -> list[TextVariant]:
    """Return three variants: raw, normalized, and normalized with spaces for ZWNJ; labels name changed rules.

    Args:
        config: chooses among the rules.
        languages: (source, target); the rules of the target language apply.
        rules: those of the model's normalizer; None: the current ones.
    """
    normalizer = Normalizer(config, languages, rules)

    def fold(text: str) -> str:
        return normalizer.target(text).replace(ZWNJ, " ")

    # A label names every rule that differs from the default, since such scores are not comparable with others.
    defaults = NormalizationConfig().model_dump()
    changed_rules = [f"{key}={value}" for key, value in config.model_dump().items() if value != defaults[key]]
    name = f"normalizer-{normalizer.rules.version}"
    return [
        RAW_TEXT,
        TextVariant(label=" ".join([f"{name} on both sides", *changed_rules]), spell=normalizer.target),
        TextVariant(label=" ".join([f"{name}, ZWNJ as space, on both sides", *changed_rules]), spell=fold),
    ]
