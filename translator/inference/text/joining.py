"""The translations of the segments of a text, joined into translations of the text."""

import heapq
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter, itemgetter
from typing import Any

from translator.inference.translation import Translation


def join_segments(
    segments: Sequence[Sequence[Translation]], between: Sequence[str], count: int, *, ranked: bool
) -> list[Translation]:
    """Return up to `count` translations of a text from those of its segments, best first.

    Args:
        segments: the translations of each segment, best first or in the order of their draws; at least one segment.
        between: the text before the first segment, between two, and after the last: one more than there are segments.
        count: number of translations.
        ranked: whether to return the best combinations. Otherwise draws are joined by number, so that the joined draws
            are independent, too: the first of each segment, the second of each, and so on.
    """
    combinations: Iterable[Sequence[Translation]]
    if ranked and count > 1:
        combinations = _best_combinations(segments, count)
    else:  # by number; the first of each segment are also the best combination
        combinations = itertools.islice(zip(*segments, strict=False), count)
    translations = [_joined(parts, between) for parts in combinations]
    if not ranked:
        translations.sort(key=attrgetter("normalized_score"), reverse=True)
    return translations


def _best_combinations(segments: Sequence[Sequence[Translation]], count: int) -> list[Sequence[Translation]]:
    """Return the `count` best combinations, best first, in time linear in the number of segments.

    As in a search, finished translations precede those that were cut off; then the sum of normalized scores decides.
    """
    # 1. For each segment, extend the best combinations of the earlier segments by each of its translations, and keep
    # the best. A combination has its number of finished translations, its total score, and a chain: (last translation,
    # the chain before it).
    best: list[tuple[int, float, Any]] = [(0, 0.0, None)]
    for translations in segments:
        extended = []
        for finished_count, total, chain in best:
            for translation in translations:
                score = total + translation.normalized_score
                extended.append((finished_count + translation.finished, score, (translation, chain)))
        best = heapq.nlargest(count, extended, key=itemgetter(0, 1))

    # 2. Follow each chain from the last segment to the first.
    combinations: list[Sequence[Translation]] = []
    for _, _, chain in best:
        parts: list[Translation] = []
        while chain is not None:
            translation, chain = chain
            parts.append(translation)
        combinations.append(parts[::-1])
    return combinations


def _joined(parts: Sequence[Translation], between: Sequence[str]) -> Translation:
    """Return the translation of a text from one translation of each of its segments.

    `between` is what stands before the first and after each of them: white space, or text that is copied.
    """
    # 1. The text. White space is left out after an empty translation, and at the end.
    texts = [between[0]]
    for part, following in zip(parts, between[1:], strict=True):
        texts.append(part.text)
        if part.text or following.strip():
            texts.append(following)
    # The white space before the first segment stays.
    indentation = between[0][: len(between[0]) - len(between[0].lstrip())]
    text = "".join(texts).strip()
    text = indentation + text if text else ""

    # 2. The scores, and the attention maps if they were requested.
    maps = tuple(itertools.chain.from_iterable(part.attention or () for part in parts))
    return replace(
        parts[0],  # for the precision, which is that of all parts
        text=text,
        score=sum(part.score for part in parts),
        normalized_score=sum(part.normalized_score for part in parts) / len(parts),
        tokens=sum(part.tokens for part in parts),
        pieces=len(parts),
        finished=all(part.finished for part in parts),
        source_tokens=sum(part.source_tokens for part in parts),
        attention=maps or None,
    )
