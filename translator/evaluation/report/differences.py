"""Where a translation and its reference differ, word by word."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

Pieces: TypeAlias = tuple[str, ...]
"""A text in pieces: the first is the same on both sides (it may be empty), the next differs, and so on in turn."""

_WORD: Final = re.compile(r"[\w\u0300-\u036f\u064b-\u065f\u0670\u200c]+|[^\w\s]")
"""A word with its marks and half-spaces, or one sign: a full stop that is missing is no other word."""
MOST_BITS: Final = 1 << 26
"""Of the table that two texts are compared in; longer ones are compared by the words at both ends alone."""


class WordDifferences(NamedTuple):
    """Two texts, each in pieces."""

    reference: Pieces
    hypothesis: Pieces
    same_words: int
    """How many words both have in the same order."""
    words: int
    """Of the longer of the two."""

    @property
    def likeness(self) -> float:
        """The share of words that are the same, 0 to 1; two empty texts are alike."""
        return self.same_words / self.words if self.words else 1.0


def compare_words(reference: str, hypothesis: str) -> WordDifferences:
    """Return both texts in pieces; what is outside their longest common subsequence of words differs.

    Spaces belong to the piece around them, or to the word before them. Nothing of a text is lost or changed.
    """
    left, right = list(_WORD.finditer(reference)), list(_WORD.finditer(hypothesis))
    in_left, in_right = common_subsequence([word[0] for word in left], [word[0] for word in right])
    return WordDifferences(
        _pieces(reference, left, in_left),
        _pieces(hypothesis, right, in_right),
        same_words=len(in_left),
        words=max(len(left), len(right)),
    )


def common_subsequence(left: Sequence[str], right: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return the places of a longest common subsequence in each of two sequences.

    Of two sequences that are too long for this (`MOST_BITS`), only what they begin and end with in common.
    """
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    in_left = set(range(start)) | set(range(len(left) - end, len(left)))
    in_right = set(range(start)) | set(range(len(right) - end, len(right)))
    middle_left, middle_right = left[start : len(left) - end], right[start : len(right) - end]
    if len(middle_left) * len(middle_right) <= MOST_BITS:
        for one, other in _matches(middle_left, middle_right):
            in_left.add(start + one)
            in_right.add(start + other)
    return in_left, in_right


def _matches(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of places that a longest common subsequence matches, the last first.

    Row r of the table, one bit for each word on the left, has a zero where one word more on the left gives a longer
    subsequence with the first r words on the right (Hyyrö 2004): a row is a few operations on whole numbers.
    """
    places: dict[str, int] = {}
    for place, word in enumerate(left):
        places[word] = places.get(word, 0) | 1 << place
    all_ones = (1 << len(left)) - 1
    rows = [all_ones]
    for word in right:
        row = rows[-1]
        matching = row & places.get(word, 0)
        rows.append((row + matching | row - matching) & all_ones)
    found = []
    one, other = len(left), len(right)
    while one and other:
        bit = 1 << one - 1
        if rows[other] & bit:
            one -= 1  # this word on the left adds nothing
        elif not rows[other - 1] & bit:
            other -= 1  # nor does this one on the right
        else:
            one, other = one - 1, other - 1
            found.append((one, other))
    return found


def _pieces(text: str, words: Sequence[re.Match[str]], same: set[int]) -> Pieces:
    """Cut `text` where words that are the same and words that differ meet; spaces between two equals stay with them."""
    pieces = [""]
    end = 0
    for place, word in enumerate(words):
        differs = place not in same
        if differs == (len(pieces) % 2 == 1):
            # A space before a difference, or after one, is not part of it.
            between = text[end : word.start()]
            if differs:
                pieces[-1] += between
                pieces.append(word[0])
            else:
                pieces.append(between + word[0])
        else:
            pieces[-1] += text[end : word.end()]
        end = word.end()
    if text[end:]:
        if len(pieces) % 2 == 0:
            pieces.append("")
        pieces[-1] += text[end:]
    return tuple(pieces)
