"""Loop detection: the words that a translation repeats more often than its source does.

A model that is unsure of the next word may say the last ones again, and again after that (Holtzman et al. 2020 §3).
Languages repeat words too: `the doctor said that the doctor …`, «کم کم». So a repetition is a loop only if it occurs
more often than the source says anything.

This file only detects loops. constraints.py blocks repeated tokens during a search, and inference/text/loops.py
searches a sentence again if its translation is a loop. Imports no torch, which is slow to start.
"""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

_WORD: Final = re.compile("[^\\W_]+(?:[\u200c\u200d\u064b-\u065f\u0670'’]*[^\\W_])*+")
"""A word or a number; half-spaces, vowel marks and apostrophes inside belong to it."""
_PART: Final = re.compile(r"[^\W_]+")  # `friend's` has two parts: friend, s
_LONGEST_PHRASE: Final = 8  # words of the longest phrase whose direct repetition is detected
_RECURRING_WORDS: Final = 3  # words in a row that count as repeated at any distance; two often recur for good reason
_CONTENT_LETTERS: Final = 5  # most shorter words, such as `the` and `that`, have a function, and repeat in any sentence
# A group of letters three times in a row inside a word, or one letter four times.
_CIRCLE_IN_WORD: Final = re.compile(r"([^\W\d_]{2,8}?)\1{2,}|([^\W\d_])\2{3,}")
_DOUBLED_WORD: Final = re.compile(
    "آرام|آه|آهسته|اندک|بسیار|بلند|بله|پاره|پچ|پله|تک|تکه|تلو|تند|جدا|خش|خیلی|دانه|دسته|دوان|ذره|رفته|ریز|زار|سلانه|"
    "قدم|قطره|کشان|کم|کورمال|گاه|لایه|لنگ|نفس|نم|نه|هق|یکی|یواش|bye|far|ha|no|oh|so|very|yes"
)
"""A word that is said twice for emphasis or manner, whatever the source says: «کم کم», little by little."""


def words_of(text: str) -> list[str]:
    """Return the words and numbers of `text`, in small letters."""
    return _WORD.findall(text.lower())


def words_without_doubling(text: str) -> list[str]:
    """Return the words of `text`; a word that languages say twice is returned once: `no, no` and «کم کم».

    Any word may be said twice with a sign between, and those of `_DOUBLED_WORD` also without. Of four equal words in a
    row, two are returned.
    """
    text = text.lower()
    words: list[str] = []
    end = 0  # of the last word
    was_left_out = False  # whether the last word was the second of two
    for match in _WORD.finditer(text):
        word = match[0]
        between = text[end : match.start()]
        may_double = bool(between.strip() or _DOUBLED_WORD.fullmatch(word))
        is_second_of_two = bool(words) and word == words[-1] and may_double and not was_left_out
        if not is_second_of_two:
            words.append(word)
        was_left_out = is_second_of_two
        end = match.end()
    return words


def circling_words(words: Sequence[str]) -> list[int]:
    """Return the places, from 0, of the words that repeat their own letters, as in `دوتاتاتاتا` or `Nooooo`."""
    return [place for place, word in enumerate(words) if _CIRCLE_IN_WORD.search(word)]


def repeated_words(words: Sequence[str], allowed: int = 1) -> list[int]:
    """Return the places, from 0, of the words with which a phrase occurs more than `allowed` times.

    A phrase is one or more words that follow themselves directly, or three words that recur in the same order at any
    distance. With `allowed` 1, the words of the second occurrence are returned; with 2, those of the third.
    """
    places: set[int] = set()

    # 1. Phrases of `length` words that follow themselves directly. Each word is compared with the one `length` words
    # before it. After `length * allowed` equal ones in a row, the phrase has occurred `allowed + 1` times: the last
    # occurrence, which ends here, is one too many.
    for length in range(1, min(_LONGEST_PHRASE, len(words) // 2) + 1):
        equal_in_a_row = 0
        for place in range(length, len(words)):
            if words[place] != words[place - length]:
                equal_in_a_row = 0
                continue
            equal_in_a_row += 1
            if equal_in_a_row >= length * allowed:
                places.update(range(place - length + 1, place + 1))

    # 2. Three words at any distance.
    occurrences: Counter[tuple[str, ...]] = Counter()
    last_ends: dict[tuple[str, ...], int] = {}
    for start in range(len(words) - _RECURRING_WORDS + 1):
        end = start + _RECURRING_WORDS
        ngram = tuple(words[start:end])
        # Occurrences that overlap count once.
        if start < last_ends.get(ngram, 0):
            continue
        last_ends[ngram] = end
        occurrences[ngram] += 1
        if occurrences[ngram] > allowed:
            places.update(range(start, end))
    return sorted(places)


def allowed_occurrences(source: str) -> int:
    """Return how often a translation of `source` may say a phrase: as often as the source says a word or two words.

    A word of fewer than five letters does not count by itself, only as one of two words in a row.

    >>> allowed_occurrences("The teacher met the teacher of the teacher.")
    3
    >>> allowed_occurrences("No, no, no!")
    3
    """
    # 1. How often the source says each longer word.
    parts = _PART.findall(source.lower())
    word_counts = Counter(part for part in parts if len(part) >= _CONTENT_LETTERS)

    # 2. How often it says each two words in a row, of any length.
    pair_counts = Counter(itertools.pairwise(parts))
    for first, second in pair_counts:
        if first == second:
            pair_counts[first, second] += 1  # a word three times in a row makes two pairs
    return max([1, *word_counts.values(), *pair_counts.values()])


def looping_words(source: str, translation: str) -> int:
    """Return the number of words of `translation` that repeat something more often than `source` allows; 0: no loop."""
    # Words that repeat their letters, unless the source has such a word.
    words = words_without_doubling(translation)
    circling = circling_words(words)
    if circling and circling_words(words_of(source)):
        circling = []

    # Words of phrases that occur too often. Most translations repeat nothing, and need no look at the source.
    repeated = repeated_words(words)
    if repeated:
        repeated = repeated_words(words, allowed_occurrences(source))
    return len({*circling, *repeated})
