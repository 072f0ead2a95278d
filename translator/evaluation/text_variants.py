"""Text variants: raw, normalized, and folded text, on which a metric compares translations and references."""

from collections.abc import Callable, Mapping
from typing import Final

from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.normalizer.rules import NormalizerRules

RAW: Final = "raw"  # the `normalization` of a score on unchanged text: references as read, hypotheses as translated
ZWNJ: Final = "\u200c"


Spelling = Callable[[str], str]
"""What is done to both sides before a comparison."""
RAW_TEXT: Final[Mapping[str, Spelling]] = {RAW: str}


def text_variants(
    config: NormalizationConfig, languages: Languages = (ENGLISH, PERSIAN), rules: NormalizerRules | None = None
) -> dict[str, Spelling]:
    """Return three functions from a text to the form that is scored: raw, normalized, and with spaces for ZWNJ.

    Each has a label, which a score records as its `normalization`.

    Args:
        config: chooses among the rules.
        languages: (source, target); the rules of the target language apply.
        rules: those of the model's normalizer; None: the current ones.
    """
    normalizer = Normalizer(config, languages, rules)

    def with_spaces_for_zwnj(text: str) -> str:
        return normalizer.target(text).replace(ZWNJ, " ")

    # A label names every rule that differs from the default, since such scores are not comparable with others.
    defaults = NormalizationConfig().model_dump()
    changed_rules = [f"{key}={value}" for key, value in config.model_dump().items() if value != defaults[key]]
    name = f"normalizer-{normalizer.rules.version}"
    return {
        **RAW_TEXT,
        " ".join([f"{name} on both sides", *changed_rules]): normalizer.target,
        " ".join([f"{name}, ZWNJ as space, on both sides", *changed_rules]): with_spaces_for_zwnj,
    }
