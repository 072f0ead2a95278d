"""Scores by sacreBLEU on raw, normalized and folded text, with signatures and bootstrap intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import sacrebleu.utils
from pydantic import with_config
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU, BLEUScore
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

from translator.config import MetricName
from translator.evaluation.text_variants import RAW, RAW_TEXT, Spelling
from translator.run.records import STRICT, WholeNumber

LOWER_IS_BETTER: Final = frozenset({"ter"})
RESAMPLES: Final = 1000  # bootstrap resamples of an interval
SEED: Final = 12345  # sacreBLEU's, which its signatures name
_MAX_DRAWN_SENTENCES: Final = 5_000_000  # in all resamples of a score; sacreBLEU needs up to 100 bytes for each
_MIN_RESAMPLES: Final = 100
_LARGEST_SCORE: Final = 100.0  # of BLEU and chrF; the others have no largest value
_SPM: Final = "flores200"  # the SentencePiece model of spBLEU, by sacreBLEU's name


class _LengthRatio(BLEU):
    """The tokens of the translations over those of the references: BLEU's counts; of several references the nearest."""

    def _compute_score_from_stats(self, stats: list[int]) -> BLEUScore:
        score = super()._compute_score_from_stats(stats)
        score.score = score.ratio
        return score


# `force` only silences sacreBLEU's warning about translations with a space before the full stop.
_METRICS: Final[Mapping[MetricName, Callable[[], Metric]]] = {
    "bleu": partial(BLEU, tokenize="13a", force=True),
    "length_ratio": partial(_LengthRatio, tokenize="13a", force=True),
    "bleu_intl": partial(BLEU, tokenize="intl", force=True),
    "spbleu": partial(BLEU, tokenize=_SPM, force=True),
    "chrf": CHRF,
    "chrf++": partial(CHRF, word_order=2),
    "ter": TER,
}
_SENTENCE_BLEU: Final = BLEU(effective_order=True)

Interval = tuple[float, float]
References = list[list[Any]]
"""References as sacreBLEU takes them: N texts for each reference of a sentence, None where a sentence has fewer.

The type is `Any`, since the annotations of sacreBLEU do not have the None that it accepts.
"""


@with_config(STRICT)
@dataclass(frozen=True, kw_only=True)
class Score:
    """One number, with everything that defines it."""

    test_set: str = ""
    metric: str  # one of ours, or the name of an external one
    score: float
    signature: str  # sacreBLEU's: tokenizer, smoothing, bootstrap, version
    normalization: str  # `raw`, or the normalization of both sides
    search: str = ""  # short name of the search settings, for example beam-5
    checkpoint: str = ""
    sentences: WholeNumber  # that are scored
    left_out: tuple[WholeNumber, ...] = ()  # lines of the test set, from 1, without source text or without reference
    interval: Interval | None = None  # 95% bootstrap interval; None if not requested

    @property
    def label(self) -> str:
        """What tells translations of one test set by one run apart, for example `step-001250 beam-5`."""
        return f"{self.checkpoint} {self.search}".strip()

    @property
    def setting(self) -> tuple[object, ...]:
        """Key of the measurement; a newer score with the same key replaces an older one."""
        return (self.test_set, self.metric, self.normalization, self.label)

    @property
    def shown(self) -> str:
        """The score as text, with its interval."""
        return show_score(self.metric, self.score, self.interval)


def show_value(metric: str, value: float) -> str:
    """Return a value of this metric as text: two decimals for percentages, three for ratios and others."""
    is_percentage = metric in _METRICS and metric != "length_ratio"
    return f"{value:.2f}" if is_percentage else f"{value:.3f}"


def show_score(metric: str, score: float, interval: Interval | None) -> str:
    """Return a score of this metric as text, with its interval if it has one."""
    value = show_value(metric, score)
    if interval is None:
        return value
    # One decimal less from 100 on keeps a table with three texts within 80 columns.
    bounds = [f"{bound:.1f}" if bound >= 100 else show_value(metric, bound) for bound in interval]
    return f"{value} ({'–'.join(bounds)})"


# --- scores of a test set ---


def compute_scores(
    hypotheses: Sequence[str],
    references: Sequence[tuple[str, ...]],
    *,
    metrics: Sequence[MetricName],
    variants: Mapping[str, Spelling] = RAW_TEXT,
    intervals: bool = False,
) -> list[Score]:
    """Return the scores of N translations by all `metrics` on all `variants`; raw text always has BLEU 13a, and first.

    Args:
        hypotheses: detokenized translations.
        references: one text or several for each; the number may vary. They are texts as read: references decoded from
            ids would inflate BLEU.
        metrics: those of sacreBLEU.
        variants: forms of the text in which both sides are compared, by label; see `text_variants`.
        intervals: whether each score gets a 95% bootstrap interval.
    """
    resamples = bounded_resamples(len(hypotheses)) if intervals else 0
    scores = []
    for label, spell in variants.items():
        # Spell both sides in the same way.
        spelt_hypotheses = [spell(text) for text in hypotheses]
        spelt_references = reference_sides(references, spell)

        # BLEU 13a on raw text is the score that publications report.
        variant_metrics = list(metrics)
        if label == RAW:
            variant_metrics = list(dict.fromkeys(["bleu", *metrics]))
        for metric in variant_metrics:
            scores.append(_measure(metric, label, spelt_hypotheses, spelt_references, resamples))
    return scores


def bounded_resamples(sentences: int) -> int:
    """Return the number of bootstrap resamples, smaller if those of so many sentences do not fit into memory."""
    return min(RESAMPLES, max(_MAX_DRAWN_SENTENCES // sentences, _MIN_RESAMPLES))


def _measure(
    name: MetricName, normalization: str, hypotheses: Sequence[str], references: References, resamples: int
) -> Score:
    """Return a score with interval (None without resamples) and signature, as sacreBLEU's command line has them."""
    metric = scorer(name)
    interval = None
    if resamples:
        # `corpus_score` can make an interval too, but fails where its draws give numbers of two types. So the interval
        # comes from the significance test, with one system in it.
        signature, (result,) = resample([("", hypotheses)], metric, references, "bs", resamples)
        interval = interval_of(name, result)
        value = result.score
    else:
        value = metric.corpus_score(hypotheses, references).score
        signature = str(metric.get_signature())
    return Score(
        metric=name,
        score=float(value),
        signature=signature,
        normalization=normalization,
        sentences=len(hypotheses),
        interval=interval,
    )


def resample(
    systems: Sequence[tuple[str, Sequence[str]]],
    metric: Metric,
    references: References,
    kind: Literal["bs", "ar"],
    draws: int,
) -> tuple[str, list[Result]]:
    """Return the signature of sacreBLEU's test, and its result for each system, with p-values against the first.

    Args:
        systems: name and N hypotheses of each.
        metric: sacreBLEU's, see `scorer`.
        references: one or more for each of the N sentences.
        kind: `bs` for bootstrap resampling, `ar` for approximate randomisation.
        draws: resamples or trials.
    """
    test = PairedTest(list(systems), {"metric": metric}, references, test_type=kind, n_samples=draws)
    signatures, columns = test()
    (signature,) = signatures.values()
    # One of the two columns has the names of the systems, the other has the results.
    (column,) = (cells for title, cells in columns.items() if title != "System")
    return str(signature), [cell for cell in column if isinstance(cell, Result)]


# --- sacreBLEU ---


def interval_of(name: MetricName, result: Result) -> Interval | None:
    """Return the 95% interval of a score from its bootstrap resamples; None without them."""
    if result.mean is None or result.ci is None:
        return None
    # No value of a metric is below 0, and none of most metrics above 100.
    largest = np.inf if name in ("ter", "length_ratio") else _LARGEST_SCORE
    low, high = np.clip([result.mean - result.ci, result.mean + result.ci], 0.0, largest).tolist()
    return low, high


def scorer(name: MetricName) -> Metric:
    """Return the metric in the form of sacreBLEU."""
    return _METRICS[name]()


def reference_sides(references: Sequence[tuple[str, ...]], spell: Spelling) -> References:
    """Return the references of N sentences, one or more for each, in the form of sacreBLEU and spelt by `spell`."""
    sides: References = []
    for texts in zip_longest(*references):
        sides.append([None if text is None else spell(text) for text in texts])
    return sides


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]) -> list[float]:
    """Return the chrF of each sentence separately."""
    chrf = CHRF()
    scores = []
    for hypothesis, texts in zip(hypotheses, references, strict=True):
        scores.append(float(chrf.sentence_score(hypothesis, texts).score))
    return scores


def sentence_bleu(hypothesis: str, reference: str) -> float:
    """Return the sentence BLEU, with as many n-gram orders as the sentence has (`effective_order`)."""
    return float(_SENTENCE_BLEU.sentence_score(hypothesis, [reference]).score)


def spbleu_lacks() -> str | None:
    """Return what spBLEU lacks and how to get it; None if it can be computed. Downloads nothing."""
    url = SPM_MODELS[_SPM]["url"]
    file = Path(sacrebleu.utils.SACREBLEU_DIR) / "models" / Path(url).name  # where sacreBLEU looks for it
    if file.is_file():
        return None
    return f"spBLEU needs the SentencePiece model of FLORES-200: download {url} to {file}"
