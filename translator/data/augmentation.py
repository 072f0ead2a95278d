"""Augmentation: random changes of training pairs in each epoch, for robustness to text as people type it.

The changes of a pair are a pure function of run seed, epoch and pair, so that a resumed run sees the same text. A
source text may be in lower case, if its model folds it.
"""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from translator.config.training_section import AugmentationConfig
from translator.subword.spelling import NEIGHBOURING_KEYS

SHARE_OF_TYPOS: Final = 0.2  # in a text that gets typos, the share of its longer words that are mistyped

_LONGER_WORD: Final = re.compile("[A-Za-z]{4,}")
_FINAL_PUNCTUATION: Final = re.compile(r"\s*[.!?…؟۔]+(?=[\"'»”)\]]*$)")
_LATIN_WORD: Final = re.compile(r"(?<![\w.@/-])[A-Za-z][A-Za-z0-9]+(?![\w@/-])")  # likely to be copied


class SidePair(NamedTuple):
    """Both sides of a training pair."""

    source: str
    target: str


Change = Callable[[SidePair, Random], SidePair]


class Augmentation:
    """Changes pairs at random, at the rates of a recipe."""

    def __init__(self, rates: AugmentationConfig, placeholders: Sequence[str]) -> None:
        """Take the rates, and the placeholders that the subword models have."""
        self._placeholders = list(placeholders)
        # A change sees the results of the changes before it, so their order decides the text.
        changes: list[tuple[float, Change]] = [
            (rates.copies, self._with_placeholders),
            (rates.final_punctuation, _without_final_punctuation),
            (rates.typos, _with_source_typos),
        ]
        self._changes = [(rate, change) for rate, change in changes if rate > 0]

    def chosen(self, count: int, generator: np.random.Generator) -> NDArray[np.bool_]:
        """Return which kinds of changes are made to each of `count` pairs, (N, kinds), as `generator` draws them."""
        rates = [rate for rate, _ in self._changes]
        return generator.random((count, len(rates))) < rates

    def apply(self, pair: SidePair, chosen: Sequence[bool], seed: str) -> SidePair:
        """Return `pair` with the `chosen` kinds of changes; the same for the same `seed`."""
        random = Random(seed)
        for (_, change), is_chosen in zip(self._changes, chosen, strict=True):
            if is_chosen:
                pair = change(pair, random)
        return pair

    def _with_placeholders(self, pair: SidePair, random: Random) -> SidePair:
        """Return `pair` with one or two placeholders on both sides.

        They replace Latin words that occur once on each side, whether in capitals or not. Without such words, they are
        added.
        """
        # 1. Put the placeholders that are not in the pair into random order, so that all are used equally often.
        text = pair.source + pair.target
        free_placeholders = [placeholder for placeholder in self._placeholders if placeholder not in text]
        placeholders = random.sample(free_placeholders, len(free_placeholders))
        if not placeholders:
            return pair

        # 2. Choose the words to replace.
        source_words = _LATIN_WORD.findall(pair.source.lower())
        target_words = _LATIN_WORD.findall(pair.target.lower())
        shared_words = [word for word in source_words if source_words.count(word) == target_words.count(word) == 1]
        word_count = min(len(shared_words), random.randint(1, 2), len(placeholders))
        chosen_words = random.sample(shared_words, word_count)

        # 3. Replace them, or add placeholders.
        if not chosen_words:
            return _with_added_placeholders(pair, placeholders, random)
        placeholder_of_word = dict(zip(chosen_words, placeholders, strict=False))  # there may be more placeholders
        return _with_replaced_words(pair, placeholder_of_word)


# --- placeholders ---


def _on_both_sides(pair: SidePair, change: Callable[[str], str]) -> SidePair:
    return SidePair(source=change(pair.source), target=change(pair.target))


def _with_replaced_words(pair: SidePair, placeholder_of_word: dict[str, str]) -> SidePair:
    def replacement(match: re.Match[str]) -> str:
        word = match[0]
        return placeholder_of_word.get(word.lower(), word)

    return _on_both_sides(pair, lambda text: _LATIN_WORD.sub(replacement, text))


def _with_added_placeholders(pair: SidePair, placeholders: Sequence[str], random: Random) -> SidePair:
    """Return `pair` with one placeholder (or, in a quarter of all cases, two) added at the same place of both sides."""
    count = random.choice((1, 1, 1, 2))
    added_text = " ".join(placeholders[:count])

    # A quarter is added at the start, a quarter before the final punctuation, and half at the end.
    quarter = random.randrange(4)
    if quarter == 0:
        return _on_both_sides(pair, lambda text: f"{added_text} {text}")
    if quarter == 1:
        return _on_both_sides(pair, lambda text: _insert_before_final_punctuation(text, added_text))
    return _on_both_sides(pair, lambda text: f"{text} {added_text}")


def _insert_before_final_punctuation(text: str, added_text: str) -> str:
    punctuation = _FINAL_PUNCTUATION.search(text)
    if punctuation is None:
        return f"{text} {added_text}"
    place = punctuation.start()
    return f"{text[:place]} {added_text}{text[place:]}"


# --- punctuation ---


def without_final_punctuation(text: str) -> str:
    """Return `text` without the full stop, question mark or exclamation mark at its end; quotation marks stay."""
    return _FINAL_PUNCTUATION.sub("", text)


def _without_final_punctuation(pair: SidePair, random: Random) -> SidePair:
    # A source of only punctuation stays as it is: no side may become empty.
    source = without_final_punctuation(pair.source) or pair.source
    return pair._replace(source=source)


# --- typos ---


def with_typos(text: str, share: float, random: Random) -> str:
    """Return `text` with one letter swapped, dropped, doubled or mistyped in a `share` of the words of 4+ letters."""

    def typed(match: re.Match[str]) -> str:
        word = match[0]
        if random.random() < share:
            return _mistyped(word, random)
        return word

    return _LONGER_WORD.sub(typed, text)


def _with_source_typos(pair: SidePair, random: Random) -> SidePair:
    return pair._replace(source=with_typos(pair.source, SHARE_OF_TYPOS, random))


def _mistyped(word: str, random: Random) -> str:
    """Return `word`, of three or more Latin letters, with one mistake, never at its first letter."""
    place = random.randrange(1, len(word) - 1)  # not the last letter: a swap needs the next one
    before = word[:place]
    letter = word[place]
    after = word[place + 1 :]

    # A finger that misses its key hits a neighbour.
    neighbours = NEIGHBOURING_KEYS[letter.lower()]
    wrong_letter = neighbours[random.randrange(len(neighbours))]
    if letter.isupper():
        wrong_letter = wrong_letter.upper()

    mistakes = (
        before + after[0] + letter + after[1:],  # swapped with the next letter
        before + after,  # dropped
        before + letter + letter + after,  # doubled
        before + wrong_letter + after,  # mistyped
    )
    return mistakes[random.randrange(len(mistakes))]
