"""Robustness: translate each test set (N sentences) with noisy input, and measure the loss."""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from translator.evaluation.metrics import Score, interval_around
from translator.evaluation.results import NoiseScore, ScoredSet
from translator.evaluation.significance import paired_test
from translator.evaluation.text_variants import RAW
from translator.inference.translator import Translator

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_QUOTE: Final = re.compile(r'"([^"]*)"')
WAYS: Final = ("capitals", "title-case", "lower-case", "no-final-punctuation", "typos", "quotes-and-spaces")
"""Kinds of noise; the name follows the name of a test set."""


def with_noise(text: str, way: str, random: Random) -> str:
    """Return `text` with one of the kinds of noise."""
    # The package `data` imports torch, which is slow, and of no use for a message on a mistyped path.
    from translator.data.augmentation import SHARE_OF_TYPOS, with_typos, without_final_punctuation

    match way:
        case "capitals":
            return text.upper()
        case "title-case":
            return _WORD.sub(lambda match: match[0].capitalize(), text)
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


def measure_robustness(
    plain: ScoredSet, translator: Translator, translate: Callable[[Sequence[str], Sequence[int]], Sequence[str]]
) -> list[NoiseScore]:
    """Return the chrF of a test set under each noise of `WAYS`; all systems get the same typos.

    Args:
        plain: the original test set, of N sentences.
        translator: the system, which shows what the model reads.
        translate: translates noisy sentences, given with their numbers; those with unchanged model input are left out.
    """
    text = plain.text
    plain_input = _model_input(text.sources, translator)
    results: list[NoiseScore] = []
    for way in WAYS:
        # 1. Type every source with the noise; translate those that the model reads differently.
        sources = [with_noise(source, way, Random(f"{number} {source}")) for number, source in enumerate(text.sources)]
        noisy_input = _model_input(sources, translator)
        changed_numbers = [number for number in range(len(sources)) if noisy_input[number] != plain_input[number]]
        hypotheses = list(plain.hypotheses)
        translations = translate([sources[number] for number in changed_numbers], changed_numbers)
        for number, translation in zip(changed_numbers, translations, strict=True):
            hypotheses[number] = translation

        # 2. Compare all translations with the original ones.
        test = paired_test({"plain": plain.hypotheses, way: hypotheses}, text.references, metric="chrf")
        original, noisy = test.systems
        assert noisy.p_value is not None and noisy.mean is not None and noisy.half_interval is not None
        score = Score(
            test_set=f"{text.name}.{way}",
            metric="chrf",
            score=noisy.score,
            signature=test.signature,
            normalization=RAW,
            search=plain.search,
            checkpoint=plain.checkpoint,
            sentences=len(sources),
            left_out=text.left_out,
            interval=interval_around("chrf", noisy.mean, noisy.half_interval),
        )
        result = NoiseScore(
            way=way,
            score=score,
            loss=original.score - noisy.score,
            p_value=noisy.p_value,
            changed=len(changed_numbers),
            sources=tuple(sources),
            hypotheses=tuple(hypotheses),
        )
        results.append(result)
    return results


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
