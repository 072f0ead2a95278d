"""Robustness: translate each test set (N sentences) with noisy input, and measure the loss."""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from translator.data.augmentation import SHARE_OF_TYPOS, title_case, with_typos, without_final_punctuation
from translator.evaluation.metrics import Score, reference_sides, scorer
from translator.evaluation.resampling import bounded_samples
from translator.evaluation.results import ScoredSet, TypedScore
from translator.evaluation.text_variants import RAW
from translator.inference.translator import Translator

_BETA: Final = 2  # weight of recall in chrF
_QUOTE: Final = re.compile(r'"([^"]*)"')


def _typeset(text: str, random: Random) -> str:
    """Return `text` with curly quotation marks and apostrophes, and with some spaces doubled."""
    text = _QUOTE.sub("“\\1”", text).replace("'", "’")
    return re.sub(" ", lambda space: space[0] * random.choice((1, 1, 2)), text)


WAYS: Final[Mapping[str, Callable[[str, Random], str]]] = {
    "capitals": lambda text, _: text.upper(),
    "title-case": lambda text, _: title_case(text),
    "lower-case": lambda text, _: text.lower(),
    "no-final-punctuation": lambda text, _: without_final_punctuation(text),
    "typos": lambda text, random: with_typos(text, SHARE_OF_TYPOS, random),
    "quotes-and-spaces": _typeset,
}
"""Kinds of noise: the name, which follows the name of a test set, and the function that changes a text."""


def measure_robustness(
    plain: ScoredSet, translator: Translator, translate: Callable[[Sequence[str], str], Sequence[str]], samples: int
) -> list[TypedScore]:
    """Return the chrF of a test set under each noise of `WAYS`; all systems get the same typos.

    `plain` is the original test set. `translate` takes texts and the name of the noise; sentences with unchanged model
    input are not translated again. `samples` is the number of bootstrap resamples.
    """
    metric, sides = scorer("chrf"), reference_sides(plain.references)
    plain_score = float(metric.corpus_score(plain.hypotheses, sides).score)
    plain_counts = counts_for_chrf(plain.hypotheses, plain.references)
    plain_read = _as_read(plain.sources, translator)
    sentences = len(plain.sources)
    samples = bounded_samples(samples, sentences)
    # The count of each sentence in each resample.
    drawn = np.random.default_rng(12345).multinomial(sentences, [1 / sentences] * sentences, size=samples)
    found = []
    for way, change in WAYS.items():
        sources = [change(text, Random(f"{number} {text}")) for number, text in enumerate(plain.sources)]
        read = _as_read(sources, translator)
        other = [number for number in range(sentences) if read[number] != plain_read[number]]
        hypotheses = list(plain.hypotheses)
        for number, text in zip(other, translate([sources[n] for n in other], way), strict=True):
            hypotheses[number] = text
        value = float(metric.corpus_score(hypotheses, sides).score)
        counts = counts_for_chrf(hypotheses, plain.references)
        interval, loss_interval = _intervals(plain_counts, counts, drawn.astype(np.float64))
        first, _, rest = str(metric.get_signature()).partition("|")
        score = Score(
            test_set=f"{plain.test_set}.{way}",
            metric="chrf",
            score=value,
            signature=f"{first}|bs:{samples}|seed:12345|{rest}",
            normalization=RAW,
            search=plain.search,
            checkpoint=plain.checkpoint,
            sentences=sentences,
            left_out=plain.left_out,
            interval=interval,
        )
        found.append(
            TypedScore(way, score, plain_score - value, loss_interval, len(other), tuple(sources), tuple(hypotheses))
        )
    return found


def _as_read(texts: Sequence[str], translator: Translator) -> list[list[Any]]:
    """Return the model input for each text; texts with equal input have the same translation."""
    read: list[list[Any]] = [[] for _ in texts]
    for segment in translator.segments(texts):
        read[segment.line].append((segment.ids, segment.copied))
    return [of_text or [text] for text, of_text in zip(texts, read, strict=True)]


def _intervals(
    plain: npt.NDArray[np.float64], typed: npt.NDArray[np.float64], drawn: npt.NDArray[np.float64]
) -> list[tuple[float, float]]:
    """Return the 95% intervals of the chrF of `typed` and of its loss; counts are (N, 6, 3), draws (resamples, N)."""
    before, after = (chrf_of(np.tensordot(drawn, counts, axes=1)) for counts in (plain, typed))
    bounds = [np.quantile(values, (0.025, 0.975)) for values in (after, before - after)]
    return [(float(low), float(high)) for low, high in bounds]


def counts_for_chrf(hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]) -> npt.NDArray[np.float64]:
    """Return counts (N, 6, 3) of character n-grams of each hypothesis, of its best reference, and of those shared."""
    # The private method of sacreBLEU's significance tests; there is no public one.
    counts = scorer("chrf")._extract_corpus_statistics(hypotheses, reference_sides(references))
    return np.array(counts, np.float64).reshape(len(hypotheses), -1, 3)


def chrf_of(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return chrF, 0 to 100, of counts (…, 6, 3) that are summed over the sentences (Popović 2015; as in sacreBLEU)."""
    ours, theirs, shared = np.moveaxis(counts, -1, 0)  # (…, 6) each
    known = (ours > 0) & (theirs > 0)  # n-grams longer than the text do not count
    orders = np.maximum(known.sum(axis=-1), 1)
    precision = (shared / np.maximum(ours, 1) * known).sum(axis=-1) / orders
    recall = (shared / np.maximum(theirs, 1) * known).sum(axis=-1) / orders
    divisor = np.maximum(_BETA**2 * precision + recall, 1e-16)
    result: npt.NDArray[np.float64] = 100 * (1 + _BETA**2) * precision * recall / divisor
    return result
