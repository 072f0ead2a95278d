"""Spelling correction: replaces a word unseen in training with a frequent word that is one typing error away."""

import itertools
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from translator.run.files import write_text

FREQUENT: Final = 20  # minimum count in the training text of a word that can be a correction
RARE: Final = 3  # in a small text, the minimum is its words divided by `_WORDS_FOR_ONE`, but at least this
_WORDS_FOR_ONE: Final = 60_000
SHORTEST: Final = 3  # letters; shorter words have too many neighbours
_ENDINGS: Final = ("s", "es", "ed", "d", "ing", "ly", "er", "ers", "r", "rs", "est", "ness", "less", "able", "ish")
_LETTERS: Final = string.ascii_lowercase
_OTHER_AS_SPACE: Final = bytes(byte if chr(byte) in _LETTERS else ord(" ") for byte in range(256))
_MAX_STORED_WORDS: Final = 200_000  # the most frequent ones
_KEYBOARD: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_VOWELS: Final = "aeiou"
_LONG: Final = 7  # letters; in a shorter word, another vowel often makes a name: Rosa, rose
_OPENERS: Final = re.compile(
    "after|although|another|because|before|however|th(?:at|en|ere|ese|ey|is|ose|ough)|what|when|where|which|with|your"
)
"""The words to which a capitalized word at the start of a sentence is corrected: no usual name is close to them."""
# A word, in lower case after its first letter, that only spaces, dashes, sentence punctuation, quotation marks and
# brackets touch. Any other sign makes it part of an address, a path, an option, a hashtag or code. The possessive `+`
# keeps the search linear.
_LONE_WORD: Final = re.compile(
    rf"""(?<![^\s—…])(?P<opening>["“«(\[]?)(?P<word>[A-Za-z][a-z]{{{SHORTEST - 1},}}+)"""
    r"""(?P<closing>[.,;:!?]*+["”»)\]]?[.,;:!?]*+)(?![^\s—…])"""
)
_CLOSING_MARK: Final = re.compile(r"""["”»)\]]""")
_CODE: Final = re.compile(
    r"[`=<>|{}\\]|&&"
    r"|(?<!\S)--?[A-Za-z]"  # an option
    r"|\$[A-Za-z({]"  # a variable of a shell
    r"|[A-Za-z]\("  # a call
    r"|[A-Za-z]_[A-Za-z]"
    r"|[a-z]{2}\.[a-z]{2}"  # an attribute, but not e.g.
)
"""Signs of a sentence with code, in which a word may be a part of a command or of a program."""


def _neighbouring_keys() -> dict[str, str]:
    """Return the keys beside each letter of a keyboard."""
    neighbours = dict.fromkeys(_LETTERS, "")
    for row in _KEYBOARD:
        for key, next_key in itertools.pairwise(row):
            neighbours[key] += next_key
            neighbours[next_key] += key
    return neighbours


NEIGHBOURING_KEYS: Final = _neighbouring_keys()


class SpellingCorrector:
    """Corrects slips of the fingers: letters transposed, missing, doubled or replaced, one per word (Norvig 2007).

    A replaced letter is that of a neighbouring key or, in a long word, another vowel. The first letter of a word counts
    as correct. These stay:

    - a word of the training text, and a frequent one with an English ending;
    - a word with a capital, which may be a name; but at the start of a sentence, `Wheere` becomes `Where`;
    - a quoted word, and what touches a sign other than punctuation, as in #teh and /home/jhon;
    - each word of a sentence with code.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        """Set the counts of the training text's words, in lower case; without words, nothing is corrected."""
        self._counts = counts
        frequent_words = (word for word, count in counts.items() if count >= RARE)
        self._longest = max(map(len, frequent_words), default=0)  # letters of the longest possible correction
        # The minimum count of a correction.
        self._frequent = min(FREQUENT, max(RARE, sum(counts.values()) // _WORDS_FOR_ONE))
        self._meant = lru_cache(maxsize=100_000)(self._most_frequent_neighbour)

    def __call__(self, text: str) -> str:
        """Return `text` with typing errors corrected.

        >>> SpellingCorrector({"where": 90, "the": 99, "school": 40})("Whree is teh shcool? Ask Jhon.")
        'Where is the school? Ask Jhon.'
        """
        if not self._counts or _CODE.search(text):
            return text
        return _LONE_WORD.sub(self._corrected, text)

    def _corrected(self, match: re.Match[str]) -> str:
        """Return the text of a match of `_LONE_WORD`, with its word corrected.

        A word in quotation marks or brackets of its own, and most capitalized ones, stay.
        """
        opening, word, closing = match.groups()
        is_quoted = opening and _CLOSING_MARK.search(closing)
        if is_quoted:
            return match[0]

        # What the word is meant to be; the word itself if it is right.
        meant = self._meant(word.lower())
        if word.islower():
            return f"{opening}{meant}{closing}"

        # A capitalized word may be a name, unless it begins the text and is close to a word of `_OPENERS`. A word of
        # `SHORTEST` letters may be a name even then.
        is_first = match.start() == 0
        if is_first and len(word) > SHORTEST and _OPENERS.fullmatch(meant):
            return f"{opening}{meant.capitalize()}{closing}"
        return match[0]

    def _most_frequent_neighbour(self, word: str) -> str:
        """Return the most frequent word one error away, or `word` if it is known or no such word is frequent."""
        # A longer word is not one error away from any correction, and has very many neighbours.
        if len(word) > self._longest + 1 or self._is_known(word):
            return word
        neighbours = set(_one_slip_away(word))
        best = max(neighbours, key=lambda neighbour: (self._counts.get(neighbour, 0), neighbour))
        return best if self._is_frequent(best) else word

    def _is_known(self, word: str) -> bool:
        """Return whether `word` is in the training text, or is a frequent word with an English ending."""
        if word in self._counts:
            return True
        for ending in _ENDINGS:
            if word.endswith(ending):
                stem = word.removesuffix(ending)
                if self._is_frequent(stem) or self._is_frequent(f"{stem}e"):
                    return True
        return False

    def _is_frequent(self, word: str) -> bool:
        return self._counts.get(word, 0) >= self._frequent


def _one_slip_away(word: str) -> Iterator[str]:
    """Yield the words that may have become `word` by one slip after their first letter."""
    for place in range(1, len(word) + 1):
        before = word[:place]
        letter = word[place : place + 1]
        after = word[place + 1 :]

        # A letter before this place is missing.
        for missing_letter in _LETTERS:
            yield before + missing_letter + letter + after
        if not letter:  # this place is the end of the word
            continue

        # The letter is that of a neighbouring key or, in a long word, another vowel.
        for meant_letter in NEIGHBOURING_KEYS[letter]:
            yield before + meant_letter + after
        if letter in _VOWELS and len(word) >= _LONG:
            for meant_letter in _VOWELS:
                yield before + meant_letter + after

        # The letter is doubled.
        if letter == before[-1]:
            yield before + after

        # The letter and the next one are transposed.
        if after:
            yield before + after[0] + letter + after[1:]


NO_CORRECTION: Final = SpellingCorrector({})


# --- the words of the training text ---


def count_words(lines: Iterable[str]) -> Counter[str]:
    """Return the count of each English word, in lower case, in `lines`."""
    # As bytes, because replacing all other characters by spaces is much faster than searching for words.
    counts = Counter[bytes]()
    for line in lines:
        counts.update(line.lower().encode("utf-8").translate(_OTHER_AS_SPACE).split())
    return Counter({word.decode("ascii"): count for word, count in counts.items()})


def write_word_counts(path: Path, counts: Mapping[str, int]) -> None:
    """Write the most frequent words to the file `path`, a word and its count per line."""
    by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{word}\t{count}\n" for word, count in by_frequency[:_MAX_STORED_WORDS]]
    write_text(path, "".join(lines))
