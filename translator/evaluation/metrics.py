"""Corpus scores by sacreBLEU; a score always carries the signature that says how it was made."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from translator.config import MetricName, NormalizationConfig
from translator.errors import InputError
from translator.evaluation.bootstrap import interval, resampled_sums
from translator.evaluation.sentence_counts import SentenceCounts, count_sentences
from translator.evaluation.text_variants import RAW, RAW_TEXT, text_variants

FIRST: Final[MetricName] = "bleu"
"""The metric that is always there, on raw text."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """One number, with all that is needed to know what it means."""

    test_set: str = ""
    metric: MetricName
    score: float
    signature: str
    """sacreBLEU's: tokenizer, smoothing, bootstrap, version."""
    normalization: str
    """`raw`, or what both sides went through."""
    search: str = ""
    checkpoint: str = ""
    sentences: int
    interval: tuple[float, float] | None = None
    """Where 95% of the scores of bootstrap resamples of the test set lie; None where nobody has asked."""

    @property
    def setting(self) -> tuple[str, ...]:
        """What was measured: two scores of one setting are two measurements of the same thing."""
        return (self.test_set, self.metric, self.normalization, self.search, self.checkpoint)

    @property
    def shown(self) -> str:
        """The number for a person: a ratio with three decimals, anything else with two."""
        return show_value(self.metric, self.score)

    @property
    def shown_interval(self) -> str:
        """The interval for a person; empty where there is none."""
        return "" if self.interval is None else "–".join(show_value(self.metric, bound) for bound in self.interval)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of scores.json."""
        entry = asdict(self)
        if self.interval is None:
            del entry["interval"]
        else:
            entry["interval"] = list(self.interval)
        return entry


def show_value(metric: MetricName, value: float) -> str:
    """Return a number of this metric for a person."""
    return f"{value:.3f}" if metric in ("length_ratio", "comet") else f"{value:.2f}"


def compute_scores(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[tuple[str, ...]],
    *,
    metrics: Sequence[MetricName],
    normalization: NormalizationConfig | None = None,
    bootstrap_samples: int | None = None,
    test_set: str = "",
    search: str = "",
    checkpoint: str = "",
) -> list[Score]:
    """Return the scores of `hypotheses` against `references`, sentence by sentence in pairs.

    BLEU 13a on raw text is always there and always first; then the other `metrics` on raw text; then, if
    `normalization` is given, all `metrics` with both sides passed through `Normalizer.target`, and all of them with
    both sides normalized and a space for each ZWNJ.

    Args:
        hypotheses: detokenized translations.
        references: the references as read from the corpus, never decoded back from ids: that would inflate BLEU. One
            text for each sentence, or equally many for each.
        metrics: names of the scores, all of them sacreBLEU's.
        normalization: rules of the normalizer.
        bootstrap_samples: number of resamples; without it there are no intervals.
        test_set, search, checkpoint: what to write into the scores.

    Raises:
        InputError: there are no sentences, or not as many hypotheses as references.
    """
    counts = counts_of_scores(hypotheses, references, metrics, normalization, bootstrap_samples, test_set)
    return scores_of_counts(counts, bootstrap_samples, test_set=test_set, search=search, checkpoint=checkpoint)


def counts_of_scores(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[tuple[str, ...]],
    metrics: Sequence[MetricName],
    normalization: NormalizationConfig | None = None,
    bootstrap_samples: int | None = None,
    test_set: str = "",
) -> list[SentenceCounts]:
    """Return what the scores of `compute_scores` are made of, in the same order.

    Raises:
        InputError: there are no sentences, or not as many hypotheses as references.
    """
    named = f" of test set `{test_set}`" if test_set else ""
    if len(hypotheses) != len(references):
        raise InputError(
            f"{len(hypotheses)} translations against {len(references)} references{named}: "
            "a score needs one reference for each; check that both files have the same number of lines"
        )
    if not references:
        raise InputError(f"nothing to score{named}: there is not one sentence; check its file or corpus.split.test")
    several = [(texts,) if isinstance(texts, str) else texts for texts in references]
    wanted: list[MetricName] = [FIRST, *(name for name in metrics if name != FIRST)]
    variants = [RAW_TEXT] if normalization is None else text_variants(normalization)
    counts = count_sentences(hypotheses, several, wanted, variants, bootstrap_samples)
    raw = [one for one in counts if one.normalization == RAW]
    spelt = {(one.normalization, one.metric): one for one in counts}
    return raw + [spelt[variant.label, name] for variant in variants[1:] for name in metrics]


def scores_of_counts(
    counts: Sequence[SentenceCounts],
    bootstrap_samples: int | None = None,
    *,
    test_set: str = "",
    search: str = "",
    checkpoint: str = "",
) -> list[Score]:
    """Return a score for each of `counts`, which are of the same sentences; all are resampled together."""
    intervals: list[tuple[float, float] | None] = [None] * len(counts)
    if bootstrap_samples is not None and counts:
        sums = resampled_sums(np.concatenate([one.counts for one in counts], axis=1), bootstrap_samples)
        ends = np.cumsum([one.counts.shape[1] for one in counts])
        intervals = [
            interval([one.score_of_sum(row) for row in part.tolist()])
            for one, part in zip(counts, np.split(sums, ends[:-1], axis=1), strict=True)
        ]
    return [
        Score(
            test_set=test_set,
            metric=one.metric,
            score=one.score(),
            signature=one.signature,
            normalization=one.normalization,
            search=search,
            checkpoint=checkpoint,
            sentences=len(one.counts),
            interval=bounds,
        )
        for one, bounds in zip(counts, intervals, strict=True)
    ]
