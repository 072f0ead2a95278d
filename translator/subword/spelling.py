"""Spelling correction: replaces a word unseen in training with a frequent word that is one typing error away."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

FREQUENT: Final = 20  # minimum count in the training text of a word that can be a correction
RARE: Final = 3  # in a small text, the minimum is its words divided by `_WORDS_FOR_ONE`, but at least this
_WORDS_FOR_ONE: Final = 60_000
SHORTEST: Final = 3  # letters; shorter words have too many neighbours
_ENDINGS: Final = ("s", "es", "ed", "d", "ing", "ly", "er", "ers", "r", "rs", "est", "ness", "less", "able", "ish")
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_LETTERS_ONLY: Final = re.compile("[a-z]+")
_WORD: Final = re.compile(rf"(?<![\w.@'’`/-])[A-Za-z]{{{SHORTEST},}}(?![\w@'’`(/-]|\.\w)")  # not part of a name or path


def count_words(lines: Iterable[str]) -> Counter[str]:
    """Return the count of each English word, in lower case, in `lines`."""
    counts = Counter[str]()
    for line in lines:
        counts.update(_LETTERS_ONLY.findall(line.lower()))
    return counts


class SpellingCorrector:
    """Corrects typing errors: letters transposed, missing, extra or replaced, one per word (Norvig 2007).

    The first letter of a word counts as correct. A word with a capital, inside a text that is not all capitals, counts
    as a name and stays; so does a frequent word with an English ending.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        """Set the counts of the training text's words, in lower case; without words, nothing is corrected."""
        self._counts = counts
        frequent_words = (word for word, count in counts.items() if count >= RARE)
        self._longest = max(map(len, frequent_words), default=0)  # letters of the longest possible correction
        self._frequent = min(FREQUENT, max(RARE, sum(counts.values()) // _WORDS_FOR_ONE))
        self._meant = lru_cache(maxsize=100_000)(self._most_frequent_neighbour)

    def __call__(self, text: str) -> str:
        """Return `text` with typing errors corrected.

        >>> SpellingCorrector({"where": 90, "there": 99, "school": 40})("Whree is Shool? At teh shcool.")
        'Where is Shool? At teh school.'
        """
        if not self._counts:
            return text
        capitals = text.isupper()

        def corrected(found: re.Match[str]) -> str:
            word = found[0]
            named = not (word.islower() or capitals or (found.start() == 0 and word[1:].islower()))
            meant = word if named else self._meant(word.lower())
            return meant.upper() if capitals else meant.capitalize() if word[0].isupper() and not named else meant

        return _WORD.sub(corrected, text)

    def _most_frequent_neighbour(self, word: str) -> str:
        """Return the most frequent word one error away, or `word` if it is known or no such word is frequent."""
        # A longer word is not one error away from any correction, and has very many neighbours.
        if len(word) > self._longest + 1 or self._is_known(word):
            return word
        known = {one: self._counts.get(one, 0) for one in _one_mistake_away(word)}
        best = max(known, key=lambda one: (known[one], one))
        return best if known[best] >= self._frequent else word

    def _is_known(self, word: str) -> bool:
        stems = (word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending))
        frequent = (max(self._counts.get(stem, 0), self._counts.get(f"{stem}e", 0)) >= self._frequent for stem in stems)
        return word in self._counts or any(frequent)


def _one_mistake_away(word: str) -> Iterator[str]:
    """Yield the words that differ from `word` by one error after the first letter."""
    for place in range(1, len(word) + 1):
        before, letter, after = word[:place], word[place : place + 1], word[place + 1 :]
        yield from (before + other + letter + after for other in _LETTERS)
        if letter:
            yield before + after
            yield from (before + other + after for other in _LETTERS)
        if after:
            yield before + after[0] + letter + after[1:]
