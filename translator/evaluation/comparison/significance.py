"""Paired significance tests by sacreBLEU, on counts that were taken once for all of them.

Every system is tested against the first, on the same draws of sentences.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.base import Score as MetricScore
from sacrebleu.significance import PairedTest as SacrebleuTest
from sacrebleu.significance import Result

from translator.errors import InputError
from translator.evaluation.comparison.results import Method, PairedTest, SystemResult
from translator.evaluation.sentence_counts import SentenceCounts

DRAWN_AT_MOST: Final = 100_000_000
"""Sentences in all draws of one test: sacreBLEU holds them in memory together, up to 100 bytes for each."""
_TYPES: Final[Mapping[Method, str]] = {"bootstrap": "bs", "randomisation": "ar"}


def paired_test(counts: Mapping[str, SentenceCounts], method: Method, draws: int) -> PairedTest:
    """Return what the test says of each system against the first.

    Two deviations from what sacreBLEU prints: a difference of exactly zero has a p-value of 1, where sacreBLEU's
    would be the smallest there is; and the counts behind both tests are taken only once.

    Args:
        counts: of each system by its label, the baseline first; all of one metric on one text, without bootstrap in
            their signatures.
        method: which test.
        draws: bootstrap samples, or trials of the randomisation.

    Raises:
        InputError: so many draws of so many sentences do not fit into memory.
    """
    first = next(iter(counts.values()))
    sentences = len(first.counts)
    if draws * sentences > DRAWN_AT_MOST:
        raise InputError(
            f"{draws:,} draws of {sentences:,} sentences are more than sacreBLEU can hold in memory; take at most "
            f"{DRAWN_AT_MOST // sentences:,} (--samples for the bootstrap, --trials for the randomisation)"
        )
    metric: Any = _Counted(counts)
    named: list[tuple[str, Any]] = [(label, np.full(sentences, place)) for place, label in enumerate(counts)]
    kind = _TYPES[method]
    _, columns = SacrebleuTest(named, {first.metric: metric}, None, test_type=kind, n_samples=draws)()
    results = [result for result in columns[first.metric] if isinstance(result, Result)]
    baseline = results[0]
    return PairedTest(
        metric=first.metric,
        normalization=first.normalization,
        method=method,
        signature=_signature(first.signature, kind, draws),
        systems=tuple(
            SystemResult(
                system=label,
                score=result.score,
                difference=result.score - baseline.score,
                p_value=_p_value(result, baseline),
                mean=None if result.mean is None else float(result.mean),
                half_interval=None if result.ci is None else float(result.ci),
            )
            for label, result in zip(counts, results, strict=True)
        ),
    )


def _p_value(result: Result, baseline: Result) -> float | None:
    if result.p_value is None:
        return None
    return float(result.p_value) if result.score != baseline.score else 1.0


def _signature(plain: str, kind: str, draws: int) -> str:
    """Return a signature with test and seed, where sacreBLEU puts them."""
    references, _, rest = plain.partition("|")
    return f"{references}|{kind}:{draws}|seed:{os.environ.get('SACREBLEU_SEED', '12345').lower()}|{rest}"


class _Counted:
    """Stands in for a metric of sacreBLEU whose counts are known; the "translations" it is given name the system."""

    def __init__(self, counts: Mapping[str, SentenceCounts]) -> None:
        self._counts = list(counts.values())

    def get_signature(self) -> "_Counted":
        """Return something to write into; the true signature is made elsewhere."""
        return self

    def update(self, key: str, value: object) -> None:
        """Take no notice of a new item of the signature."""

    def _extract_corpus_statistics(
        self, hypotheses: npt.NDArray[np.int64], references: None
    ) -> npt.NDArray[np.float64]:
        return self._counts[int(hypotheses[0])].counts

    def _compute_score_from_stats(self, sums: Sequence[float]) -> MetricScore:
        return MetricScore(self._counts[0].metric, self._counts[0].score_of_sum(list(sums)))

    def _aggregate_and_compute(self, statistics: npt.NDArray[np.float64]) -> MetricScore:
        return self._compute_score_from_stats(statistics.sum(axis=0).tolist())
