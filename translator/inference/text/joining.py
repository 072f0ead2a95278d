"""The translations of the segments of a text, joined into translations of the text."""

import heapq
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from translator.inference.alignment import Alignment, AttentionMap, join_alignments
from translator.inference.translation import Translation


def join_segments(
    segments: Sequence[Sequence[Translation]], between: Sequence[str], count: int, *, ranked: bool
) -> list[Translation]:
    """Return up to `count` translations of a text from those of its segments.

    Args:
        segments: the translations of each segment, best first; at least one segment.
        between: the text before the first segment, between two, and after the last: one more than there are segments.
        count: number of translations.
        ranked: whether to return the best combinations, best first. Otherwise draws are joined by number: the first of
            each segment, the second of each, and so on.
    """
    if count == 1:
        return [_joined([translations[0] for translations in segments], between)]
    combinations = _best_combinations(segments, count) if ranked else _draws_by_number(segments, count)
    return [_joined(parts, between) for parts in combinations]


def _draws_by_number(segments: Sequence[Sequence[Translation]], count: int) -> list[Sequence[Translation]]:
    """Return the first draw of each segment, the second of each, and so on; at most `count`."""
    combinations: list[Sequence[Translation]] = []
    for draws in zip(*segments, strict=False):
        combinations.append(draws)
    return combinations[:count]


class _Combination(NamedTuple):
    """One translation of each segment so far: that of the last, and a back-pointer to a combination before it."""

    finished: int  # number of finished translations
    total: float  # sum of the normalized scores
    translation: Translation  # of the last segment
    previous: int  # index in the list of the combinations of all segments before


def _best_combinations(segments: Sequence[Sequence[Translation]], count: int) -> list[Sequence[Translation]]:
    """Return the `count` best combinations, best first, in linear time.

    As in a search, finished translations precede those that were cut off; then the sum of normalized scores decides.
    """
    # 1. Extend the best combinations of the segments before by each translation of a segment, and keep the best.
    beams: list[list[_Combination]] = []
    bases = [(0, 0.0)]  # finished translations and total of each combination so far
    for translations in segments:
        extended = []
        for previous, (finished, total) in enumerate(bases):
            for translation in translations:
                combination = _Combination(
                    finished=finished + translation.finished,
                    total=total + translation.normalized_score,
                    translation=translation,
                    previous=previous,
                )
                extended.append(combination)
        best = heapq.nlargest(count, extended, key=lambda combination: (combination.finished, combination.total))
        bases = [(combination.finished, combination.total) for combination in best]
        beams.append(best)

    # 2. Follow the back-pointers from the last segment to the first.
    results: list[Sequence[Translation]] = []
    for rank in range(len(bases)):
        parts: list[Translation] = []
        for beam in reversed(beams):
            combination = beam[rank]
            parts.append(combination.translation)
            rank = combination.previous
        results.append(parts[::-1])
    return results


def _joined(parts: Sequence[Translation], between: Sequence[str]) -> Translation:
    """Return the translation of a text from one translation of each of its segments."""
    # 1. The text. White space is left out beside an empty translation, and at the end.
    texts = [between[0]]
    for part, following in zip(parts, between[1:], strict=True):
        texts.append(part.text)
        if part.text or following.strip():
            texts.append(following)
    indentation = between[0][: len(between[0]) - len(between[0].lstrip())]
    text = "".join(texts).strip()
    text = indentation + text if text else ""
    if len(parts) == 1:
        return replace(parts[0], text=text)

    # 2. The word alignment and the attention maps, if they were requested.
    alignment: Alignment | None = None
    attention: tuple[AttentionMap, ...] | None = None
    if parts[0].alignment is not None:
        alignment = join_alignments([part.alignment or Alignment() for part in parts])
        attention_maps: list[AttentionMap] = []
        for part in parts:
            attention_maps += part.attention or ()
        attention = tuple(attention_maps)

    return Translation(
        text=text,
        score=sum(part.score for part in parts),
        normalized_score=sum(part.normalized_score for part in parts) / len(parts),
        tokens=sum(part.tokens for part in parts),
        pieces=sum(part.pieces for part in parts),
        finished=all(part.finished for part in parts),
        alignment=alignment,
        attention=attention,
    )
