"""Scores of parts of a test set: by length of the source, by share of rare words, by source of the corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from translator.config import MetricName
from translator.evaluation.sentence_counts import SentenceCounts
from translator.evaluation.text_variants import RAW

Kind = Literal["length", "rare words", "source"]
METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf")
"""Scores of a slice, as far as they are computed."""

_LONGEST: Final = (5, 10, 20, 40)
"""Words of a source in each bucket of length at most; the last bucket is open."""
_LENGTHS: Final = ("1–5 words", "6–10 words", "11–20 words", "21–40 words", "over 40 words")
_RAREST: Final = (0.0, 0.1, 0.25)
"""Share of rare words in each bucket at most; the last bucket is open."""
_SHARES: Final = ("none", "up to 10%", "10–25%", "over 25%")


@dataclass(frozen=True)
class Slice:
    """Some sentences of a test set, and how they score on raw text."""

    test_set: str
    checkpoint: str
    search: str
    kind: Kind
    part: str
    """For example `6–10 words`."""
    sentences: int
    scores: Mapping[str, float]
    """By metric."""

    def to_json(self) -> dict[str, Any]:
        """Return the entry of slices.json."""
        return asdict(self)


def slice_scores(
    test_set: str,
    checkpoint: str,
    search: str,
    counts: Sequence[SentenceCounts],
    sources: Sequence[str],
    rare_shares: Sequence[float],
    origins: Sequence[str],
) -> list[Slice]:
    """Return the parts of a test set that have sentences; none of a kind that has but one part.

    Args:
        test_set, checkpoint, search: what to write into the slices.
        counts: of the sentences.
        sources: the English sentences.
        rare_shares: for each the share of its words that are rare in the training text; empty where not known.
        origins: for each the source of the corpus.
    """
    raw = {one.metric: one for one in counts if one.normalization == RAW and one.metric in METRICS}
    lengths = np.array([len(source.split()) for source in sources])
    names = np.array(origins)
    kinds: list[tuple[Kind, list[tuple[str, npt.NDArray[np.int64]]]]] = [
        ("length", _buckets(lengths, _LONGEST, _LENGTHS)),
        ("rare words", _buckets(np.array(rare_shares), _RAREST, _SHARES)),
        ("source", [(name, np.flatnonzero(names == name)) for name in dict.fromkeys(origins)]),
    ]
    found = []
    for kind, parts in kinds:
        filled = [(part, rows) for part, rows in parts if len(rows)]
        for part, rows in filled if len(filled) > 1 else ():
            scores: dict[str, float] = {metric: one.score(rows) for metric, one in raw.items()}
            found.append(Slice(test_set, checkpoint, search, kind, part, len(rows), scores))
    return found


def _buckets(
    values: npt.NDArray[Any], limits: Sequence[float], labels: Sequence[str]
) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Return for each label the numbers of the values up to its limit and above the one before."""
    places = np.searchsorted(np.array(limits), values, side="left")
    return [(label, np.flatnonzero(places == place)) for place, label in enumerate(labels)]
