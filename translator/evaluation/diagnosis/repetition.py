"""Words said again and again, as a decoder does that runs in a circle."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from translator.evaluation.diagnosis.finding import Finding, Flag, finding, listed
from translator.evaluation.diagnosis.words import words_of
from translator.evaluation.scored_set import ScoredSet

LONGEST_PHRASE: Final = 8
"""Words of the longest phrase that is looked for right after itself."""
NGRAM: Final = 3
"""Words that count as a repetition wherever they stood before: two are often said twice with good reason."""
_CIRCLE_IN_WORD: Final = re.compile(r"([^\W\d_]{2,8}?)\1{2,}|([^\W\d_])\2{3,}")
"""Some letters three times in a row inside a word, or one letter four times."""


def find_repetition(scored: ScoredSet, examples: int) -> Finding:
    """Return the hypotheses that repeat themselves more than each of their references does, and than the source."""
    flags = []
    for number, hypothesis in enumerate(scored.hypotheses):
        words = words_of(hypothesis)
        repeated = repeated_words(words)
        if not repeated:
            continue
        texts = (scored.sources[number], *scored.references[number])
        allowed = max(len(repeated_words(words_of(text))) for text in texts)
        if len(repeated) > allowed:
            said = listed(Counter(words[place] for place in repeated))
            weight = (len(repeated) - allowed) / len(words)
            flags.append(Flag(number, weight, f"{len(repeated)} of {len(words)} words said before: {said}"))
    return finding(
        "repetition",
        "The translation says words again that it has just said, or three words in a row that it said before, more "
        "than source and references do.",
        of=len(scored.hypotheses),
        flags=flags,
        examples=examples,
    )


def repeated_words(words: Sequence[str]) -> list[int]:
    """Return the places of the words that repeat something, counted from 0 and in order.

    A word repeats if it ends a phrase that follows right upon the same phrase, if it belongs to `NGRAM` words that
    stood in this order before, or if it runs in a circle itself (`دوتاتاتاتا`).
    """
    places: set[int] = set()
    for length in range(1, min(LONGEST_PHRASE, len(words) // 2) + 1):
        same = 0
        for place in range(length, len(words)):
            same = same + 1 if words[place] == words[place - length] else 0
            if same == length:
                places.update(range(place - length + 1, place + 1))
            elif same > length:
                places.add(place)
    seen: dict[tuple[str, ...], int] = {}
    for start in range(len(words) - NGRAM + 1):
        ngram = tuple(words[start : start + NGRAM])
        if seen.setdefault(ngram, start) <= start - NGRAM:
            places.update(range(start, start + NGRAM))
    places.update(place for place, word in enumerate(words) if _CIRCLE_IN_WORD.search(word))
    return sorted(places)
