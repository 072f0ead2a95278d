"""Parts of a test set, by length, by rare words and by source of the corpus, and their scores."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from translator.config import MetricName
from translator.evaluation.metrics import corpus_score
from translator.evaluation.results import ScoredSet

PART_METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf")
# The largest value of each part, and its name.
_LENGTHS: Final = {5: "1–5 words", 10: "6–10 words", 20: "11–20 words", 40: "21–40 words", math.inf: "over 40 words"}
_RARE_SHARES: Final = {0.0: "none", 0.1: "up to 10%", 0.25: "10–25%", 1.0: "over 25%"}


class Part(NamedTuple):
    """Some sentences of a test set, and their scores on raw text."""

    kind: str  # `length`, `rare words` or `source`
    name: str  # for example `6–10 words`
    sentences: int
    scores: Mapping[MetricName, float]


def score_parts(scored: ScoredSet) -> list[Part]:
    """Return the non-empty parts of a test set; a kind with a single part is omitted."""
    # The part of each sentence, by each kind.
    lengths = [_name_of_part(len(text.split()), _LENGTHS) for text in scored.sources]
    rare_shares = [_name_of_part(share, _RARE_SHARES) for share in scored.rare_shares]
    return [
        *_parts_of_kind("length", lengths, _LENGTHS.values(), scored),
        *_parts_of_kind("rare words", rare_shares, _RARE_SHARES.values(), scored),
        *_parts_of_kind("source", scored.origins, dict.fromkeys(scored.origins), scored),
    ]


def _name_of_part(value: float, parts: Mapping[float, str]) -> str:
    """Return the name of the first part whose largest value is at least `value`."""
    return next(name for limit, name in parts.items() if value <= limit)


def _parts_of_kind(kind: str, part_of_sentence: Sequence[str], names: Iterable[str], scored: ScoredSet) -> list[Part]:
    """Return the parts of one kind that have sentences; empty if all sentences are in one part.

    Args:
        kind: what divides the set, such as source length.
        part_of_sentence: the name of the part of each of the N sentences; empty if unknown.
        names: the names of all parts, in the order of the result.
    """
    used_names = set(part_of_sentence)
    if len(used_names) < 2:
        return []
    parts = []
    for name in names:
        if name not in used_names:
            continue
        # Score the sentences of this part as if they were a test set.
        rows = [row for row, part_name in enumerate(part_of_sentence) if part_name == name]
        hypotheses = [scored.hypotheses[row] for row in rows]
        references = [scored.references[row] for row in rows]
        scores = {metric: corpus_score(metric, hypotheses, references) for metric in PART_METRICS}
        parts.append(Part(kind=kind, name=name, sentences=len(rows), scores=scores))
    return parts
