"""What a metric counts in each sentence, from which the score of any set of sentences is made.

These are the sufficient statistics of sacreBLEU's own metrics. Counting is the slow part, and is done once: the whole
set, its slices and its bootstrap resamples are sums of these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from translator.config import MetricName
from translator.evaluation.bootstrap import bootstrap_seed
from translator.evaluation.spbleu import spbleu_scorer
from translator.evaluation.text_variants import TextVariant

_COUNTED_BY: Final[dict[MetricName, MetricName]] = {"length_ratio": "bleu"}
"""Scores that are made of the counts of another metric."""


@dataclass(frozen=True)
class SentenceCounts:
    """What one metric counted in each sentence of one variant of the text."""

    metric: MetricName
    normalization: str
    counts: npt.NDArray[np.float64]
    """(N, K)"""
    signature: str
    score_of_sum: Callable[[list[float]], float]
    """From the K sums over some sentences to their score."""

    def score(self, rows: npt.NDArray[np.int64] | None = None) -> float:
        """Return the score of all sentences, or of those with the numbers `rows`."""
        return self.score_of_sum((self.counts if rows is None else self.counts[rows]).sum(axis=0).tolist())


def count_sentences(
    hypotheses: Sequence[str],
    references: Sequence[tuple[str, ...]],
    metrics: Sequence[MetricName],
    variants: Sequence[TextVariant],
    samples: int | None = None,
) -> list[SentenceCounts]:
    """Return what each of `metrics` counts, for one variant of the text after the other.

    A sentence that a variant leaves as it was in the variant before is not counted anew.

    Args:
        hypotheses: N translations.
        references: N tuples of one reference or more, equally many for each sentence.
        metrics: scores that sacreBLEU computes; those whose models are not there have been taken out.
        variants: the spellings, the first one raw.
        samples: number of bootstrap resamples, for the signatures.
    """
    found: list[SentenceCounts] = []
    counted: dict[MetricName, npt.NDArray[np.float64]] = {}
    texts: list[tuple[str, ...]] = []
    scorers = {name: _scorer(name, len(references[0]), samples) for name in map(_counter, metrics)}
    for variant in variants:
        spelt = [
            (variant.spell(hypothesis), *map(variant.spell, several))
            for hypothesis, several in zip(hypotheses, references, strict=True)
        ]
        changed = [number for number, row in enumerate(spelt) if not texts or row != texts[number]]
        texts = spelt
        for name, scorer in scorers.items():
            if not changed:
                continue
            fresh = _count(scorer, [spelt[number] for number in changed])
            if len(changed) < len(spelt):
                whole = counted[name].copy()
                whole[changed] = fresh
                fresh = whole
            counted[name] = fresh
        for name in metrics:
            scorer = scorers[_counter(name)]
            compute = _length_ratio if name == "length_ratio" else _computing(scorer)
            signature = str(scorer.get_signature())
            found.append(SentenceCounts(name, variant.label, counted[_counter(name)], signature, compute))
    return found


def _counter(name: MetricName) -> MetricName:
    return _COUNTED_BY.get(name, name)


def _scorer(name: MetricName, references: int, samples: int | None) -> Metric:
    """Return a fresh metric; `force` only silences a warning about references with spaces before full stops."""
    scorer: Metric
    if name == "bleu":
        scorer = BLEU(tokenize="13a", force=True)
    elif name == "bleu_intl":
        scorer = BLEU(tokenize="intl", force=True)
    elif name == "spbleu":
        scorer = spbleu_scorer()
    elif name == "ter":
        scorer = TER()
    else:
        scorer = CHRF(word_order=0 if name == "chrf" else 2)
    scorer.num_refs = references
    if samples is not None:
        scorer.n_bootstrap, scorer.seed = samples, str(bootstrap_seed())
    return scorer


def _count(scorer: Metric, texts: Sequence[tuple[str, ...]]) -> npt.NDArray[np.float64]:
    """Return (N, K) the counts of N rows, each a hypothesis and its references."""
    hypotheses, *sides = (list(side) for side in zip(*texts, strict=True))
    return np.array(scorer._extract_corpus_statistics(hypotheses, sides), dtype=np.float64)


def _computing(scorer: Metric) -> Callable[[list[float]], float]:
    return lambda sums: float(scorer._compute_score_from_stats(sums).score)


def _length_ratio(sums: list[float]) -> float:
    """Return tokens of the hypotheses over tokens of the references, which are BLEU's first two counts."""
    return sums[0] / sums[1] if sums[1] else 0.0
