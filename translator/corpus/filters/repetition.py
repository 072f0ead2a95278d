"""The filter for texts that say the same over and over: loops of a decoder, boilerplate pasted several times."""

import itertools
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from translator.corpus.filters.sides import Check, Sides

REPETITION_FROM: Final = 10
"""Words of a side from which repetition is looked at: "ha ha ha ha" is emphasis."""
RUN: Final = 8
"""Words that must follow each other as before."""
COUPLES_BY_CHANCE: Final = 2
"""A side with fewer couples of words that were there before repeats nothing."""
_NEARLY: Final = 0.9
"""A repeat begins where what it repeats has ended: refrains and parallels have other words between."""


def repetition(limit: float) -> Check:
    """Return the check that drops a pair of which a side repeats itself in more than `limit` of its words.

    Half of that is enough where the other side repeats nothing, as when a phrase was pasted twice. With a limit of 0.5,
    "he went in and he went in and he went in and" goes; "no, no, no, no!" stays, for it is short.
    """

    def check(sides: Sides) -> bool:
        source = _share_beyond(limit / 2, sides.source_words, sides.source_vocabulary)
        target = _share_beyond(limit / 2, sides.target_words, sides.target_vocabulary)
        if not source and not target:
            return False
        other_words = sides.source_words if target else sides.target_words
        return max(source, target) > limit or _repeated_couples(other_words) < COUPLES_BY_CHANCE

    return check


def _share_beyond(limit: float, words: Sequence[str], vocabulary: AbstractSet[str]) -> float:
    """Return the share of repeated words where it is beyond `limit`, else 0."""
    count = len(words)
    # A word that is repeated was there before, and so was the word before it but at the beginning of a repeat: where
    # nearly all words or couples of words are new, there is nothing to count.
    if (
        count < REPETITION_FROM
        or count - len(vocabulary) <= limit * count
        or _repeated_couples(words) < limit * count * (RUN - 1) / RUN
    ):
        return 0.0
    share = repeated_share(words)
    return share if share > limit else 0.0


def _repeated_couples(words: Sequence[str]) -> int:
    return max(0, len(words) - 1) - len(set(itertools.pairwise(words)))


def repeated_share(words: Sequence[str]) -> float:
    """Return the share of words that repeat the words just before them, at least `RUN` on end; 0 for no words."""
    last: dict[tuple[str, ...], int] = {}
    repeated = length = distance = covered = 0
    runs = zip(*(words[start:] for start in range(RUN)), strict=False)
    for start, run in enumerate(itertools.chain(runs, [()])):  # the empty run ends the last repeat
        before = last.get(run)
        if before is not None and length and start - before == distance:
            length += 1
        else:
            if length and length >= _NEARLY * distance:
                end = start + RUN - 1
                repeated += min(length, end - covered)
                covered = end
            length, distance = (RUN, start - before) if before is not None else (0, 0)
        last[run] = start
    return repeated / len(words) if words else 0.0
