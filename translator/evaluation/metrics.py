"""Scores by sacreBLEU on raw, normalized and folded text, with signatures and bootstrap intervals."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import sacrebleu.utils
from pydantic import with_config
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.base import Score as MetricScore
from sacrebleu.metrics.bleu import BLEU, BLEUScore
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS

from translator.config import MetricName, NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.normalizer_rules import NormalizerRules
from translator.errors import InputError
from translator.evaluation.resampling import (
    Interval,
    References,
    bounded_samples,
    ratio_interval,
    resample,
    signature_with_samples,
)
from translator.evaluation.text_variants import RAW, RAW_TEXT, text_variants
from translator.run.logging import progress_bar
from translator.run.records import STRICT, WholeNumber

LOWER_IS_BETTER: Final = frozenset({"ter"})
_LARGEST: Final = 100.0  # value of BLEU and chrF; TER has no largest value
_SPM: Final = "flores200"
# `force` only silences a warning about references with spaces before full stops.
_METRICS: Final[Mapping[MetricName, Callable[[], Metric]]] = {
    "bleu": partial(BLEU, tokenize="13a", force=True),
    "length_ratio": partial(BLEU, tokenize="13a", force=True),
    "bleu_intl": partial(BLEU, tokenize="intl", force=True),
    "spbleu": partial(BLEU, tokenize=_SPM, force=True),
    "chrf": CHRF,
    "chrf++": partial(CHRF, word_order=2),
    "ter": TER,
}
_SENTENCE_BLEU: Final = BLEU(effective_order=True)


@with_config(STRICT)
@dataclass(frozen=True, kw_only=True)
class Score:
    """One number, with everything that defines it."""

    test_set: str = ""
    metric: MetricName
    score: float
    signature: str  # sacreBLEU's: tokenizer, smoothing, bootstrap, version
    normalization: str  # `raw`, or the normalization of both sides
    search: str = ""
    checkpoint: str = ""
    sentences: WholeNumber  # that are scored
    left_out: tuple[WholeNumber, ...] = ()  # lines of the test set, from 1, without source text or without reference
    interval: tuple[float, float] | None = None  # 95% bootstrap interval; None if not requested

    @property
    def setting(self) -> tuple[str, ...]:
        """Key of the measurement; a newer score with the same key replaces an older one."""
        return (self.test_set, self.metric, self.normalization, self.search, self.checkpoint)

    @property
    def shown(self) -> str:
        """The score as text, with its interval."""
        value = show_value(self.metric, self.score)
        if self.interval is None:
            return value
        # One decimal less from 100 on keeps a table with three texts within 80 columns.
        bounds = [f"{bound:.1f}" if bound >= 100 else show_value(self.metric, bound) for bound in self.interval]
        return f"{value} ({'–'.join(bounds)})"

    def to_json(self) -> dict[str, Any]:
        """Return the entry of scores.json."""
        entry = asdict(self) | {"left_out": list(self.left_out)}
        interval = entry.pop("interval")
        if interval is not None:
            entry["interval"] = list(interval)
        return entry


def show_value(metric: MetricName, value: float) -> str:
    """Return a value of this metric as text: three decimals for ratios and COMET, two for the others."""
    return f"{value:.3f}" if metric in ("length_ratio", "comet") else f"{value:.2f}"


def compute_scores(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[tuple[str, ...]],
    *,
    metrics: Sequence[MetricName],
    normalization: NormalizationConfig | None = None,
    languages: Languages = (ENGLISH, PERSIAN),
    rules: NormalizerRules | None = None,
    bootstrap_samples: int | None = None,
    test_set: str = "",
    description: str | None = None,
) -> list[Score]:
    """Return the scores of N `hypotheses`: BLEU 13a on raw text, the other `metrics`, then all on the other variants.

    Args:
        hypotheses: detokenized translations.
        references: one text or a tuple of texts for each; the number may vary. As read: references decoded from ids
            would inflate BLEU.
        metrics: all but COMET.
        normalization: rules for the normalized and the folded text; None scores raw text only.
        languages: (source, target).
        rules: those of the model's normalizer; None: the current ones.
        bootstrap_samples: None computes no intervals.
        test_set: name in the scores and in messages.
        description: label of a progress bar; None: no bar.

    Raises InputError: there are no sentences, the numbers of hypotheses and references differ, a sentence has no
    reference, or a reference is blank.
    """
    texts_of_references = _checked_references(hypotheses, references, test_set)
    variants = [RAW_TEXT] if normalization is None else text_variants(normalization, languages, rules)
    scores = []
    for variant in progress_bar(variants, description=description or "", unit="texts", silent=description is None):
        # Spell both sides in the same way.
        spelt_hypotheses = [variant.spell(text) for text in hypotheses]
        spelt_references = reference_sides(texts_of_references, variant.spell)

        # Raw text always has BLEU 13a, and has it first: published scores are of this kind.
        variant_metrics = list(metrics)
        if variant.label == RAW:
            variant_metrics = list(dict.fromkeys(["bleu", *metrics]))
        for metric in variant_metrics:
            measured = _measure(metric, spelt_hypotheses, spelt_references, bootstrap_samples)
            scores.append(
                Score(
                    test_set=test_set,
                    metric=metric,
                    score=measured.value,
                    signature=measured.signature,
                    normalization=variant.label,
                    sentences=len(spelt_hypotheses),
                    interval=measured.interval,
                )
            )
    return scores


def _checked_references(
    hypotheses: Sequence[str], references: Sequence[str] | Sequence[tuple[str, ...]], test_set: str
) -> list[tuple[str, ...]]:
    """Return a tuple of references for each sentence; raise InputError as `compute_scores` does."""
    if not len(hypotheses) == len(references) > 0:
        raise InputError(
            f"cannot score {len(hypotheses)} translations against {len(references)} references of test set "
            f"`{test_set}`; both files need the same number of lines, at least one"
        )
    texts_of_references = [(texts,) if isinstance(texts, str) else texts for texts in references]
    for number, texts in enumerate(texts_of_references, start=1):
        if not texts or not all(map(str.strip, texts)):
            raise InputError(
                f"sentence {number:,} of test set `{test_set}` has no reference, or a blank one; remove it"
            )
    return texts_of_references


def scorer(name: MetricName) -> Metric:
    """Return sacreBLEU's metric; `length_ratio` is a part of BLEU."""
    return _METRICS[name]()


def reference_sides(references: Sequence[tuple[str, ...]], spell: Callable[[str], str] = str) -> References:
    """Return the references of N sentences, one or more for each, in the form of sacreBLEU and spelt by `spell`."""
    sides: References = []
    for texts in zip_longest(*references):
        sides.append([None if text is None else spell(text) for text in texts])
    return sides


def corpus_score(name: MetricName, hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]) -> float:
    """Return the score of N `hypotheses` against the references of each."""
    return _value(name, scorer(name).corpus_score(hypotheses, reference_sides(references)))


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
    # A home folder of another user may not be searched, and SentencePiece refuses a damaged file.
    with contextlib.suppress(OSError, RuntimeError):
        if file.is_file():
            scorer("spbleu")
            return None
    return f"spBLEU needs the SentencePiece model of FLORES-200: download {url} to {file}"


class _Measurement(NamedTuple):
    """A metric on N sentences, without the names of a `Score`."""

    value: float
    interval: Interval | None
    signature: str


def _measure(name: MetricName, hypotheses: Sequence[str], references: References, samples: int | None) -> _Measurement:
    """Return score, bootstrap interval (None without `samples`) and signature."""
    metric = scorer(name)

    # Without resampling, sacreBLEU's plain score.
    if samples is None:
        value = _value(name, metric.corpus_score(hypotheses, references))
        return _Measurement(value=value, interval=None, signature=str(metric.get_signature()))

    # With resampling, a paired test of sacreBLEU on one system: its interval is that of the command line.
    samples = bounded_samples(samples, len(hypotheses))
    if name == "length_ratio":
        return _measure_length_ratio(hypotheses, references, samples)
    resampling = resample([("", hypotheses)], metric, references, "bs", samples)
    (result,) = resampling.results
    assert result.mean is not None and result.ci is not None
    # sacreBLEU's interval has the mean in its middle, so that it may reach beyond the values of the metric.
    largest = np.inf if name in LOWER_IS_BETTER else _LARGEST
    low, high = np.clip([result.mean - result.ci, result.mean + result.ci], 0.0, largest).tolist()
    return _Measurement(value=float(result.score), interval=(low, high), signature=resampling.signature)


def _measure_length_ratio(hypotheses: Sequence[str], references: References, samples: int) -> _Measurement:
    """Return score, bootstrap interval and signature, since sacreBLEU has no test of this metric."""
    metric = scorer("length_ratio")
    # 1. The lengths of each sentence, in tokens of BLEU; of several references the nearest length counts.
    lengths: list[float] = []
    reference_lengths: list[float] = []
    for hypothesis, *texts in zip(hypotheses, *references, strict=True):
        sentence_score = metric.corpus_score([hypothesis], [[text] for text in texts])
        assert isinstance(sentence_score, BLEUScore)
        lengths.append(sentence_score.sys_len)
        reference_lengths.append(sentence_score.ref_len)

    # 2. The whole; last, since the signature is that of the latest call.
    value = _value("length_ratio", metric.corpus_score(hypotheses, references))
    return _Measurement(
        value=value,
        interval=ratio_interval(lengths, reference_lengths, samples),
        signature=signature_with_samples(str(metric.get_signature()), samples),
    )


def _value(name: MetricName, score: MetricScore) -> float:
    """Return the number that the metric `name` takes from sacreBLEU's score."""
    if name == "length_ratio":
        assert isinstance(score, BLEUScore)
        return score.sys_len / score.ref_len if score.ref_len else 0.0
    return float(score.score)
