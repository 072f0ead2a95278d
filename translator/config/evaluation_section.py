"""The section `evaluation` of a recipe."""

from typing import Annotated, Literal

from pydantic import Field

from translator.config.section import Section
from translator.config.text_sections import SourceConfig

MetricName = Literal["bleu", "bleu_intl", "chrf", "chrf++"]


class EvaluationConfig(Section):
    """Scoring on held-out text."""

    test_sets: Annotated[tuple[SourceConfig, ...], Field(strict=False)] = ()
    """More test sets than the corpus's own test split; their text is kept out of the training split."""
    metrics: Annotated[tuple[MetricName, ...], Field(strict=False, min_length=1)] = (
        "bleu",
        "bleu_intl",
        "chrf",
        "chrf++",
    )
    """Scores to compute; BLEU 13a on raw text always comes first."""
