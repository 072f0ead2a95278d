"""How sure a model is of a translation: a probability, from features that every engine gives. Imports no torch."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, with_config

from translator.errors import RunError
from translator.inference.translation import Translation
from translator.run.files import storage_errors
from translator.run.records import STRICT, RecordError, read_record


@with_config(STRICT)
@dataclass(frozen=True)
class Confidence:
    """How to compute the confidence in the translations of one checkpoint; the content of its file.

    It is the probability, by logistic regression, that a translation is good: that its chrF is at least the median of
    the validation text.
    """

    checkpoint: str
    weights: tuple[float, float, float, float]  # of the features
    measured: dict[str, Any]  # for people: how it was fitted, and how right it is on the validation text

    def probability(self, translation: Translation) -> float | None:
        """Return the confidence in a translation with exact scores; None if the whole text is copied."""
        if not translation.pieces:
            return None
        weighted = [weight * feature for weight, feature in zip(self.weights, features(translation), strict=True)]
        return 0.5 + 0.5 * math.tanh(sum(weighted) / 2)  # the logistic function, without overflow


def features(translation: Translation) -> tuple[float, float, float, float]:
    """Return what the confidence in a translation follows from, summed over its segments.

    It is 1, the mean log-probability of a token, the logarithm of its negative, and that of the tokens of the source.
    """
    mean = translation.score / max(translation.tokens, 1)
    mean = min(max(mean, -20.0), -0.001)  # so that its logarithm is finite
    return 1.0, mean, math.log(-mean), math.log1p(translation.source_tokens)


_CONFIDENCE: Final = TypeAdapter(Confidence)


def read_confidence(file: Path, checkpoint: str) -> Confidence | None:
    """Return the content of `file`; None if there is none, or if it is about another checkpoint.

    Raises RunError: the file is damaged.
    """
    with storage_errors(file, "read"):
        if not file.is_file():
            return None
        content = file.read_bytes()
    try:
        confidence = read_record(_CONFIDENCE, content)
    except RecordError as error:
        raise RunError(error.about(file, "delete it, and `translator train` with the same recipe writes it")) from error
    return confidence if confidence.checkpoint == checkpoint else None
