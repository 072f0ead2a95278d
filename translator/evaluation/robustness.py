"""Robustness: translate each test set (N sentences) with noisy input, and measure the loss."""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from translator.evaluation.metrics import Score, reference_sides, scorer
from translator.evaluation.resampling import bounded_samples
from translator.evaluation.results import ScoredSet, TypedScore
from translator.evaluation.text_variants import RAW
from translator.inference.translator import Translator

_BETA: Final = 2  # weight of recall in chrF
_SEED: Final = 12345  # of the resamples, as in sacreBLEU
_QUOTE: Final = re.compile(r'"([^"]*)"')


WAYS: Final = ("capitals", "title-case", "lower-case", "no-final-punctuation", "typos", "quotes-and-spaces")
"""Kinds of noise; the name follows the name of a test set."""


def with_noise(text: str, way: str, random: Random) -> str:
    """Return `text` with one of the kinds of noise."""
    # The package `data` imports torch, which is slow, and of no use for a message on a mistyped path.
    from translator.data.augmentation import SHARE_OF_TYPOS, title_case, with_typos, without_final_punctuation

    match way:
        case "capitals":
            return text.upper()
        case "title-case":
            return title_case(text)
        case "lower-case":
            return text.lower()
        case "no-final-punctuation":
            return without_final_punctuation(text)
        case "typos":
            return with_typos(text, SHARE_OF_TYPOS, random)
        case _:
            return _typeset(text, random)


def _typeset(text: str, random: Random) -> str:
    """Return `text` with curly quotation marks and apostrophes, and with some spaces doubled."""
    text = _QUOTE.sub("“\\1”", text).replace("'", "’")
    return re.sub(" ", lambda space: space[0] * random.choice((1, 1, 2)), text)


Translate = Callable[[Sequence[str], str], Sequence[str]]
"""Translates texts with the noise of that name."""


def measure_robustness(
    plain: ScoredSet, translator: Translator, translate: Translate, samples: int
) -> list[TypedScore]:
    """Return the chrF of a test set under each noise of `WAYS`; all systems get the same typos.

    Args:
        plain: the original test set, of N sentences.
        translator: the system, which shows what the model reads.
        translate: makes the translations; sentences with unchanged model input are not translated again.
        samples: number of bootstrap resamples.
    """
    sentence_count = len(plain.sources)
    samples = bounded_samples(samples, sentence_count)
    resamples = _resamples(sentence_count, samples)
    # What all kinds of noise are compared with.
    plain_input = _model_input(plain.sources, translator)
    plain_chrf = _measure_chrf(plain.hypotheses, plain.references)

    results: list[TypedScore] = []
    for way in WAYS:
        # 1. Type every source with the noise; translate those that the model reads differently.
        sources = [with_noise(text, way, Random(f"{number} {text}")) for number, text in enumerate(plain.sources)]
        noisy_input = _model_input(sources, translator)
        changed_numbers = [number for number in range(sentence_count) if noisy_input[number] != plain_input[number]]
        hypotheses = list(plain.hypotheses)
        translations = translate([sources[number] for number in changed_numbers], way)
        for number, translation in zip(changed_numbers, translations, strict=True):
            hypotheses[number] = translation

        # 2. Score all sentences, and compare with the original ones on the same resamples.
        noisy_chrf = _measure_chrf(hypotheses, plain.references)
        intervals = _intervals(plain_chrf.counts, noisy_chrf.counts, resamples)
        # The place of the resamples is that of sacreBLEU: after the number of references.
        references_part, _, other_parts = noisy_chrf.signature.partition("|")
        score = Score(
            test_set=f"{plain.test_set}.{way}",
            metric="chrf",
            score=noisy_chrf.score,
            signature=f"{references_part}|bs:{samples}|seed:{_SEED}|{other_parts}",
            normalization=RAW,
            search=plain.search,
            checkpoint=plain.checkpoint,
            sentences=sentence_count,
            left_out=plain.left_out,
            interval=intervals.score,
        )
        result = TypedScore(
            way=way,
            score=score,
            loss=plain_chrf.score - noisy_chrf.score,
            loss_interval=intervals.loss,
            changed=len(changed_numbers),
            sources=tuple(sources),
            hypotheses=tuple(hypotheses),
        )
        results.append(result)
    return results


def _resamples(sentences: int, samples: int) -> npt.NDArray[np.float64]:
    """Return the count of each sentence in each bootstrap resample, (samples, N); always the same."""
    shares = [1 / sentences] * sentences
    return np.random.default_rng(_SEED).multinomial(sentences, shares, size=samples).astype(np.float64)


def _model_input(texts: Sequence[str], translator: Translator) -> list[list[Any]]:
    """Return the model input for each text; texts with equal input have the same translation."""
    inputs: list[list[Any]] = [[] for _ in texts]
    for segment in translator.segments(texts):
        inputs[segment.line].append((segment.ids, segment.copied))
    # A text without segments is copied.
    for number, text in enumerate(texts):
        if not inputs[number]:
            inputs[number].append(text)
    return inputs


class _Chrf(NamedTuple):
    score: float
    counts: npt.NDArray[np.float64]  # (N, 6, 3), as `counts_for_chrf` returns them
    signature: str


def _measure_chrf(hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]) -> _Chrf:
    metric = scorer("chrf")
    score = float(metric.corpus_score(hypotheses, reference_sides(references)).score)
    return _Chrf(score, counts_for_chrf(hypotheses, references), str(metric.get_signature()))


class _Intervals(NamedTuple):
    score: tuple[float, float]
    loss: tuple[float, float]


def _intervals(
    plain_counts: npt.NDArray[np.float64], noisy_counts: npt.NDArray[np.float64], resamples: npt.NDArray[np.float64]
) -> _Intervals:
    """Return the 95% intervals of the chrF with noise and of its loss; counts are (N, 6, 3), resamples (samples, N)."""
    plain_chrf = chrf_of(np.tensordot(resamples, plain_counts, axes=1))
    noisy_chrf = chrf_of(np.tensordot(resamples, noisy_counts, axes=1))
    return _Intervals(score=_middle(noisy_chrf), loss=_middle(plain_chrf - noisy_chrf))


def _middle(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the bounds of the middle 95% of some values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def counts_for_chrf(hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]) -> npt.NDArray[np.float64]:
    """Return counts (N, 6, 3) of character n-grams of each hypothesis, of its best reference, and of those shared."""
    # The private method of sacreBLEU's significance tests; there is no public one.
    counts = scorer("chrf")._extract_corpus_statistics(hypotheses, reference_sides(references))
    return np.array(counts, np.float64).reshape(len(hypotheses), -1, 3)


def chrf_of(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return chrF, 0 to 100, of counts (…, 6, 3) that are summed over the sentences (Popović 2015; as in sacreBLEU)."""
    hypothesis_ngrams = counts[..., 0]  # (…, 6)
    reference_ngrams = counts[..., 1]
    shared_ngrams = counts[..., 2]

    # Orders of n-grams that are longer than the text do not count.
    is_counted = (hypothesis_ngrams > 0) & (reference_ngrams > 0)
    order_count = np.maximum(is_counted.sum(axis=-1), 1)
    precisions = is_counted * shared_ngrams / np.maximum(hypothesis_ngrams, 1)
    recalls = is_counted * shared_ngrams / np.maximum(reference_ngrams, 1)
    precision = precisions.sum(axis=-1) / order_count  # (…)
    recall = recalls.sum(axis=-1) / order_count

    divisor = np.maximum(_BETA**2 * precision + recall, 1e-16)
    result: npt.NDArray[np.float64] = 100 * (1 + _BETA**2) * precision * recall / divisor
    return result
