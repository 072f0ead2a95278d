"""Sentences that are too long for a model, split at clauses, and at words if need be, into segments that fit."""

import bisect
import re
from collections.abc import Callable, Sequence
from typing import Final

from translator.inference.text.sentences import split_sentences

Lengths = Callable[[Sequence[str]], list[int]]  # returns the length of each text in tokens

_CLAUSE_END: Final = re.compile(r"([,;:،؛][\"'”’»)\]]*|\s[-–—]|—)\s+")


def split_text(text: str, lengths: Lengths, room: int) -> list[str]:
    """Return `text`, one line, as segments of at most `room` tokens, in order; only white space at the cuts is lost.

    A text that fits stays whole. Otherwise each sentence is a segment. A sentence that does not fit is split between
    clauses, and a clause that does not fit between words, into the fewest and most even segments. A word stays whole
    even if it does not fit.

    Args:
        text: one line.
        lengths: returns the lengths of texts in tokens.
        room: maximum length of a segment in tokens.

    >>> split_text("It rains. When it stops, we go home.", lambda texts: [len(text.split()) for text in texts], room=4)
    ['It rains.', 'When it stops,', 'we go home.']
    """
    text = text.strip()
    if not text or lengths([text])[0] <= room:
        return [text] if text else []
    # The whole text is too long. Sentences are the best places for cuts, since a model has learned from sentences.
    sentences = [sentence.text for sentence in split_sentences(text)]
    segments: list[str] = []
    for sentence, length in zip(sentences, lengths(sentences), strict=True):
        if length <= room:
            segments.append(sentence)
        else:
            segments += _clause_segments(sentence, lengths, room)
    return segments


def _clause_segments(sentence: str, lengths: Lengths, room: int) -> list[str]:
    """Return a sentence of more than `room` tokens as segments of one or more clauses, or of parts of a clause."""
    clauses = _CLAUSE_END.sub("\\1\n", sentence).split("\n")
    segments: list[str] = []
    fitting: list[str] = []  # the clauses since the last one that is too long
    for clause, length in zip(clauses, lengths(clauses), strict=True):
        if length <= room:
            fitting.append(clause)
            continue
        segments += _even_segments(fitting, lengths, room)
        segments += _even_segments(clause.split(), lengths, room)
        fitting = []
    return segments + _even_segments(fitting, lengths, room)


def _even_segments(parts: Sequence[str], lengths: Lengths, room: int) -> list[str]:
    """Return `parts` joined into the fewest segments that fit, with the longest as short as possible."""
    # 1. Find by bisection the smallest limit of a segment's length with which there are no more segments than with
    # `room`. So no segment is a short remainder, which would lack its context.
    sizes = lengths(parts)
    fewest = len(_groups(parts, sizes, room))

    def is_enough(limit: int) -> bool:
        return len(_groups(parts, sizes, limit)) <= fewest

    # The index of limit 1 is 0. If no smaller limit than `room` is enough, the index is that of `room`.
    index = bisect.bisect_left(range(1, room), True, key=is_enough)
    smallest_limit = index + 1

    # 2. Join the parts of each segment.
    segments: list[str] = []
    for group in _groups(parts, sizes, smallest_limit):
        joined = " ".join(group)
        # The sum of the lengths of parts only estimates the length of the joined text: a group that is too long stays
        # split.
        segments += [joined] if lengths([joined])[0] <= room else group
    return segments


def _groups(parts: Sequence[str], sizes: Sequence[int], limit: int) -> list[list[str]]:
    """Return `parts` in groups, filled up to a length of `limit`; a longer part forms its own group."""
    groups: list[list[str]] = []
    room_left = -1
    for part, size in zip(parts, sizes, strict=True):
        if size <= room_left:
            groups[-1].append(part)
            room_left -= size
        else:
            groups.append([part])
            room_left = limit - size
    return groups
