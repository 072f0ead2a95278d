"""Reranking: a model of the other direction also rates the hypotheses of a beam (Li et al. 2016, Yee et al. 2019).

A hypothesis that has lost a part of its source, or has invented one, makes the source less probable.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from translator.inference.text.segments import Segment
from translator.inference.translation import Translation
from translator.search.loop_detection import looping_words

WEIGHT: Final = 0.3  # of the other direction; chosen on validation text, where 0.2 to 1 are alike (docs/results.md)

Score = Callable[[Sequence[str], Sequence[str]], list[Translation]]
"""Scores each target as the translation of its source, as `Translator.score` does."""


def rerank(
    segments: Sequence[Segment], translations: Sequence[Sequence[Translation]], score: Score
) -> list[list[Translation]]:
    """Return the translations of each segment, best first by the models of both directions.

    The new `normalized_score` is the old one + `WEIGHT` * the mean log-probability of the tokens of the source, given
    the translation. A segment with a pair that is too long for the model keeps its translations as they are.

    Args:
        segments: give the sources.
        translations: those of each segment, best first.
        score: `Translator.score` of the model of the other direction.
    """
    # 1. Score all pairs together, in the other direction: from each translation to its source.
    texts = []
    sources = []
    for segment, segment_translations in zip(segments, translations, strict=True):
        texts += [translation.text for translation in segment_translations]
        sources += [segment.source] * len(segment_translations)
    scored = iter(score(texts, sources))

    # 2. Sort the translations of each segment.
    results = []
    for segment, segment_translations in zip(segments, translations, strict=True):
        rated = []
        for translation in segment_translations:
            reverse = next(scored)
            mean = reverse.score / max(reverse.tokens, 1)
            rated.append(replace(translation, normalized_score=translation.normalized_score + WEIGHT * mean))
        # A pair that is too long for the model has the score minus infinity.
        all_fit = all(math.isfinite(translation.normalized_score) for translation in rated)
        # The source tells which translations are loops; these come last.
        results.append(_sorted(rated, segment.source) if all_fit else list(segment_translations))
    return results


def _sorted(translations: Sequence[Translation], source: str) -> list[Translation]:
    """Return the translations of a source, best first.

    As in a search, finished ones precede those that were cut off. A loop makes its source probable too, so those with
    more looping words than the first come last.
    """
    most_loops = looping_words(source, translations[0].text)

    def rank(translation: Translation) -> tuple[bool, bool, float]:
        is_loop = looping_words(source, translation.text) > most_loops
        return not is_loop, translation.finished, translation.normalized_score

    return sorted(translations, key=rank, reverse=True)
