"""Robustness: each test set (N sentences) typed in other ways, and how much chrF that costs."""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from translator.corpus.held_out import HeldOutSet
from translator.evaluation.compare import SystemComparison, compare_systems
from translator.evaluation.results import ScoredSet

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_QUOTE: Final = re.compile(r'"([^"]*)"')
WAYS: Final = ("capitals", "title-case", "lower-case", "no-final-punctuation", "typos", "quotes-and-spaces")
"""Kinds of noise; the name follows the name of a test set."""


def noisy_texts(text: HeldOutSet) -> list[HeldOutSet]:
    """Return a test set with each noise of `WAYS` in its sources; all systems get the same typos."""
    texts = []
    for way in WAYS:
        sources = [with_noise(source, way, Random(f"{number} {source}")) for number, source in enumerate(text.sources)]
        texts.append(replace(text, name=f"{text.name}.{way}", sources=tuple(sources)))
    return texts


def with_noise(text: str, way: str, random: Random) -> str:
    """Return `text` with one of the kinds of noise."""
    # Imported here, since the package `data` imports torch: mistakes of the user are told before that takes seconds.
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
        case _:  # curly quotation marks and apostrophes, and some spaces doubled
            curly = _QUOTE.sub("“\\1”", text).replace("'", "’")
            return re.sub(" ", lambda space: space[0] * random.choice((1, 1, 2)), curly)


def compare_noise(plain: ScoredSet, noisy_sets: Sequence[ScoredSet]) -> SystemComparison:
    """Return how the chrF of a test set differs from that of its noisy texts, in the order of `WAYS`."""
    systems = [plain]
    # `compare_systems` accepts one text only: each noisy set gets the plain text, whose references are the same.
    for way, noisy in zip(WAYS, noisy_sets, strict=True):
        systems.append(replace(noisy, text=plain.text, system=way))
    return compare_systems(systems, metrics=("chrf",))
