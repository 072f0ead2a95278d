"""Repetition of words in a text."""

import itertools
from collections.abc import Sequence
from typing import Final

RUN: Final = 8  # words in a row that must occur twice
_NEARLY: Final = 0.9  # a repeat follows its original directly, unlike refrains and parallels


def repeated_share(words: Sequence[str]) -> float:
    """Return the share of words that repeat the words just before them, at least 8 in a row; 0 for no words."""
    if not words:
        return 0.0
    last_place: dict[tuple[str, ...], int] = {}  # of each run of words
    repeated_words = 0
    counted_until = 0  # words before this place are counted
    length = 0  # words of the present repeat
    distance = 0  # from it to its original
    runs = zip(*(words[start:] for start in range(RUN)), strict=False)
    for start, run in enumerate(itertools.chain(runs, [()])):  # the empty run ends the last repeat
        earlier = last_place.get(run)
        if earlier is not None and length and start - earlier == distance:
            length += 1
        else:
            # The present repeat ends. It counts if it follows its original directly.
            if length and length >= _NEARLY * distance:
                end = start + RUN - 1
                repeated_words += min(length, end - counted_until)
                counted_until = end
            # Another one begins here if this run occurred before.
            length = RUN if earlier is not None else 0
            distance = start - earlier if earlier is not None else 0
        last_place[run] = start
    return repeated_words / len(words)
