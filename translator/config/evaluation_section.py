"""The section `evaluation` of a recipe."""

from typing import Annotated, Literal

from pydantic import Field

from translator.config.section import PathText, PositiveInt, Section
from translator.config.text_sections import SourceConfig

MetricName = Literal["bleu", "bleu_intl", "chrf", "chrf++", "ter", "length_ratio", "spbleu", "comet"]


class EvaluationConfig(Section):
    """Scoring on held-out text."""

    test_sets: Annotated[tuple[SourceConfig, ...], Field(strict=False)] = ()
    """More test sets than the corpus's own test split; their text is kept out of the training split."""
    metrics: Annotated[tuple[MetricName, ...], Field(strict=False, min_length=1)] = (
        "bleu",
        "bleu_intl",
        "chrf",
        "chrf++",
        "ter",
        "length_ratio",
        "spbleu",
        "comet",
    )
    """Scores to compute; BLEU 13a on raw text always comes first. Those whose models are not there are left out."""
    bootstrap_samples: Annotated[int, Field(ge=40, le=1_000_000)] = 1000
    """Resamples of a test set, from which the 95% interval of each score is taken (Koehn 2004)."""
    rare_below: PositiveInt = 5
    """A source word is rare if the training text has it fewer times than this."""
    comet_model: PathText | None = None
    """A COMET checkpoint (.ckpt), a local file; give one that you trust, since COMET unpickles it. `null`: no COMET."""
