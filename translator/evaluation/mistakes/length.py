"""Length of a translation: empty, less than half or more than twice the length of a reference, or cut off."""

import math
from typing import Final, NamedTuple

from translator.evaluation.mistakes.sentence import NO_MISTAKE, Mistake, Sentence
from translator.search.loop_detection import words_of

_MIN_LENGTH: Final = 20  # characters of the longer text: the ratio of shorter ones varies too much
_MAX_RATIO: Final = 2.0


def check_empty(sentence: Sentence) -> Mistake | None:
    """Flag a translation without words if the source and all references have some."""
    for text in (sentence.source, *sentence.references):
        if not words_of(text):
            return None
    if words_of(sentence.hypothesis):
        return NO_MISTAKE
    return Mistake(severity=len(sentence.source), note=sentence.hypothesis.strip() or "nothing")


def check_too_short(sentence: Sentence) -> Mistake | None:
    """Flag a translation with less than half as many characters as the nearest reference."""
    lengths = _compare_lengths(sentence)
    if lengths is None:
        return None
    return _length_mistake(lengths, ratio=lengths.reference / lengths.hypothesis)


def check_too_long(sentence: Sentence) -> Mistake | None:
    """Flag a translation with more than twice as many characters as the nearest reference."""
    lengths = _compare_lengths(sentence)
    if lengths is None:
        return None
    return _length_mistake(lengths, ratio=lengths.hypothesis / lengths.reference)


class _Lengths(NamedTuple):
    """Characters without the spaces around, at least 1 on both sides."""

    hypothesis: int
    reference: int  # of the nearest reference


def _compare_lengths(sentence: Sentence) -> _Lengths | None:
    """Return the lengths; None for an empty translation, which has its own check, or without a reference with text."""
    length = len(sentence.hypothesis.strip())
    nearest = None
    for reference in sentence.references:
        reference_length = len(reference.strip())
        if length == 0 or reference_length == 0:
            continue
        # The nearest ratio counts; of two equally near lengths, the shorter one.
        distance = (abs(math.log(length / reference_length)), reference_length)
        if nearest is None or distance < nearest:
            nearest = distance
    return None if nearest is None else _Lengths(hypothesis=length, reference=nearest[1])


def _length_mistake(lengths: _Lengths, *, ratio: float) -> Mistake:
    if max(lengths) < _MIN_LENGTH or ratio <= _MAX_RATIO:
        return NO_MISTAKE
    return Mistake(severity=ratio, note=f"{lengths.hypothesis} characters, the reference {lengths.reference}")


def check_unfinished(sentence: Sentence) -> Mistake | None:
    """Flag a translation that the search cut off at its length limit."""
    score = sentence.hypothesis_score
    assert score is not None
    if score.finished:
        return NO_MISTAKE
    return Mistake(severity=score.tokens or 1, note=f"stopped after {score.tokens} tokens")
