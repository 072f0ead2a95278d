"""The filter for sides that were copied instead of translated."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from translator.corpus.filters.sides import Check, Sides

UNTRANSLATED_FROM: Final = 4
"""Different words that must be the same on both sides: a name or a term rightly stands unchanged."""

_LETTER: Final = re.compile(r"[^\W\d_]")


def untranslated(limit: float) -> Check:
    """Return the check that drops a pair of which more than `limit` of a side's words stand on the other unchanged.

    With a limit of 0.8, "He opened the door" with "He opened the door او در را باز کرد" goes; "Python is fast" with
    "زبان Python سریع است" stays.
    """

    def check(sides: Sides) -> bool:
        same = sides.source_vocabulary & sides.target_vocabulary
        if len(same) < UNTRANSLATED_FROM:
            return False
        return max(copied_share(sides.source_words, same), copied_share(sides.target_words, same)) > limit

    return check


def copied_share(words: Sequence[str], same: AbstractSet[str]) -> float:
    """Return the share of `words` that are the `same` on the other side; only words with a letter count.

    It is 0 where fewer than `UNTRANSLATED_FROM` different words are the same.
    """
    words = [word for word in words if _LETTER.search(word)]
    copied = [word for word in words if word in same]
    return len(copied) / len(words) if len(set(copied)) >= UNTRANSLATED_FROM else 0.0
