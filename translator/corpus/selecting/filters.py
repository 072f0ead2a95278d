"""Filter rules that look at a single pair. A new rule needs a line in `PAIR_RULES`."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Final, NamedTuple

from translator.config import FilterConfig
from translator.corpus.selecting.number_agreement import DIGIT, number_agreement
from translator.corpus.selecting.scripts import (
    ARABIC_SCRIPT_WORD,
    LETTERS,
    arabic_script_share,
    arabic_share,
    latin_share,
)


class Sides(NamedTuple):
    """A pair of normalized texts, English and Persian, with the words and the distinct words of each."""

    texts: tuple[str, str]
    words: tuple[list[str], list[str]]
    vocabularies: tuple[set[str], set[str]]

    @classmethod
    def of(cls, source: str, target: str) -> "Sides":
        """Return a pair of texts with its words."""
        source_words, target_words = source.split(), target.split()
        return cls((source, target), (source_words, target_words), (set(source_words), set(target_words)))


Check = Callable[[Sides, float], bool]  # returns whether the rule drops a pair, given its setting


# --- text that is lost ---


def _has_empty_side(sides: Sides, _: float) -> bool:
    return not all(sides.words)


def _has_lost_character(sides: Sides, _: float) -> bool:
    english, persian = sides.texts
    return "\ufffd" in english or "\ufffd" in persian


_LETTER: Final = re.compile(r"[^\W\d_]")


def _has_side_without_words(sides: Sides, _: float) -> bool:
    english, persian = sides.texts
    return _LETTER.search(english) is None or _LETTER.search(persian) is None


# --- lengths ---

_LONG_TEXT: Final = 20  # characters, from which a ratio of lengths tells something
_MANY_WORDS: Final = 12


def _has_too_many_words(sides: Sides, limit: float) -> bool:
    return max(map(len, sides.words)) > limit


def _has_too_many_characters(sides: Sides, limit: float) -> bool:
    return max(map(len, sides.texts)) > limit


def _differs_in_characters(sides: Sides, limit: float) -> bool:
    return _differ_in_length(sides.texts, _LONG_TEXT, limit)


def _differs_in_words(sides: Sides, limit: float) -> bool:
    return _differ_in_length(sides.words, _MANY_WORDS, limit)


def _differ_in_length(sides: tuple[Sized, Sized], minimum: int, limit: float) -> bool:
    """Return whether one side is more than `limit` times as long as the other, and has `minimum` items or more."""
    english_length, persian_length = len(sides[0]), len(sides[1])
    is_far = english_length > limit * persian_length or persian_length > limit * english_length
    return is_far and max(english_length, persian_length) >= minimum


# --- script and language ---


def _is_not_latin(sides: Sides, share: float) -> bool:
    return latin_share(sides.texts[0]) < share


def _is_not_persian(sides: Sides, share: float) -> bool:
    """Return whether the Persian side is in another script.

    Words that both sides have do not count if two Persian words remain: فرمان ls را اجرا کنید is kept.
    """
    source, target = sides.texts
    if arabic_script_share(target) >= share:
        return False
    if len(ARABIC_SCRIPT_WORD.findall(target)) < 2:
        return True
    copied_words = set(LETTERS.findall(source))
    other_words = [word for word in LETTERS.findall(target) if word not in copied_words]
    return arabic_script_share(" ".join(other_words)) < share


_ARABIC_SCRIPT_RUN: Final = re.compile("[\u0620-\u065f\u066e-\u06d3\u200c]+")


def _is_arabic(sides: Sides, limit: float) -> bool:
    target = sides.texts[1]
    # One of these is in nearly every Arabic sentence, and in few Persian ones.
    if " ال" in target or "أ" in target or "إ" in target or target.startswith("ال"):
        return arabic_share(_ARABIC_SCRIPT_RUN.findall(target)) > limit
    return False


# --- copies ---

_UNTRANSLATED_FROM: Final = 4  # distinct shared words; names are copied correctly


def _is_untranslated(sides: Sides, limit: float) -> bool:
    shared_words = sides.vocabularies[0] & sides.vocabularies[1]
    if len(shared_words) < _UNTRANSLATED_FROM:
        return False
    return max(_copied_share(words, shared_words) for words in sides.words) > limit


def _copied_share(words: Sequence[str], shared_words: set[str]) -> float:
    """Return the share of words with letters that both sides have; 0 if these are few."""
    words = [word for word in words if _LETTER.search(word)]
    copied_words = [word for word in words if word in shared_words]
    if len(set(copied_words)) < _UNTRANSLATED_FROM:
        return 0.0
    return len(copied_words) / len(words)


# --- numbers ---


def _has_other_numbers(sides: Sides, share: float) -> bool:
    source, target = sides.texts
    if not DIGIT.search(source) or not DIGIT.search(target):
        return False
    return number_agreement(source, target) < share


# --- markup ---

_MARKUP_SIGNS: Final = re.compile(r"[<>@{}\\|=&/]")
_TAGS: Final = re.compile(r"<[!/]?[A-Za-z][^<>]*+>|<!--|-->|&(?:#x?[0-9A-Fa-f]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKUP_WORD: Final = re.compile(
    r"[a-z]://|www\.|[^@]@[^@.]++\.[A-Za-z]"  # addresses
    r"|[{}\\|]|[=!<>]=|=\"|[-=]>|\w\([^()]*+\);|\[\[\w+:"  # LaTeX, code, files of a wiki
)


def _is_markup(sides: Sides, limit: float) -> bool:
    return max(map(_markup_share, sides.texts)) > limit


def _markup_share(text: str) -> float:
    """Return the share of characters, without spaces, in addresses, tags, entities and code; 0 for no text."""
    # A fast test first: all markup has one of these.
    if not (_MARKUP_SIGNS.search(text) or "www." in text or ");" in text or "[[" in text):
        return 0.0
    characters = len("".join(text.split()))
    if characters == 0:
        return 0.0
    text_words = [word for word in _TAGS.sub(" ", text).split() if not _MARKUP_WORD.search(word)]
    return 1.0 - len("".join(text_words)) / characters


# --- repetition ---

_RUN: Final = 8  # words in a row that must occur twice
_NEARLY: Final = 0.9  # a repeat follows its original directly, unlike refrains and parallels
_REPETITION_FROM: Final = 10  # words of a side; in shorter ones, like "ha ha ha ha", repetition is emphasis


def _is_repetition(sides: Sides, limit: float) -> bool:
    """Return whether the share of repeated words of a side is above `limit`.

    The limit is halved if the other side repeats at most one pair of neighbouring words.
    """
    source_share = _share_beyond(limit / 2, sides.words[0], sides.vocabularies[0])
    target_share = _share_beyond(limit / 2, sides.words[1], sides.vocabularies[1])
    if not source_share and not target_share:
        return False
    if max(source_share, target_share) > limit:
        return True
    words_of_other = sides.words[0 if target_share else 1]
    return _repeated_couples(words_of_other) < 2


def _share_beyond(limit: float, words: Sequence[str], vocabulary: set[str]) -> float:
    """Return the share of repeated words, or 0 if it is `limit` at most."""
    # Fast tests first: if nearly all words, or pairs of neighbouring words, are new, nothing repeats.
    count = len(words)
    if count < _REPETITION_FROM or count - len(vocabulary) <= limit * count:
        return 0.0
    # A run of _RUN repeated words has _RUN - 1 repeated pairs.
    if _repeated_couples(words) < limit * count * (_RUN - 1) / _RUN:
        return 0.0
    share = _repeated_share(words)
    return share if share > limit else 0.0


def _repeated_couples(words: Sequence[str]) -> int:
    """Return how many pairs of neighbouring words occurred before."""
    return max(0, len(words) - 1) - len(set(itertools.pairwise(words)))


def _repeated_share(words: Sequence[str]) -> float:
    """Return the share of words, at least 8 in a row, that repeat the words just before them; 0 for no words."""
    longest = 0
    for distance in range(1, len(words)):
        run = 0
        for earlier_word, word in zip(words, words[distance:], strict=False):
            run = run + 1 if word == earlier_word else 0
            if run >= max(_RUN, _NEARLY * distance):
                longest = max(longest, run)
    return longest / max(len(words), 1)


# --- the rules ---


class PairRule(NamedTuple):
    """A rule that drops a pair."""

    name: str  # in reports
    limit: str | float  # or the key of `FilterConfig` that holds it
    check: Check
    meaning: str  # for people


EMPTY: Final = "empty"
ALWAYS: Final = True  # the limit of a rule that has none
PAIR_RULES: Final = (
    PairRule(EMPTY, ALWAYS, _has_empty_side, "One side has no text."),
    PairRule("replacement_character", ALWAYS, _has_lost_character, "A character was lost (U+FFFD)."),
    PairRule("no_words", "no_words", _has_side_without_words, "One side has no letter: a number, a time or signs."),
    PairRule("too_many_words", "max_words", _has_too_many_words, "One side has too many words."),
    PairRule("too_many_characters", 1000, _has_too_many_characters, "One side is too long."),  # in characters
    PairRule("length_ratio", "max_length_ratio", _differs_in_characters, "One side is far longer."),
    PairRule("word_ratio", 4.0, _differs_in_words, "One side has far more words."),  # times as many
    PairRule("source_script", 0.5, _is_not_latin, "The English side is not Latin."),  # share of Latin letters
    PairRule("target_script", "min_target_script", _is_not_persian, "The Persian side is not in Arabic script."),
    # The share of Arabic among the words that are clearly Arabic or clearly Persian.
    PairRule("arabic", 0.5, _is_arabic, "The words of the Persian side are Arabic, not Persian."),
    PairRule("untranslated", "max_untranslated", _is_untranslated, "One side was copied to the other, not translated."),
    # The share of the numbers of a side that the other side has too.
    PairRule("numbers", 0.5, _has_other_numbers, "Both sides have numbers in digits, but different ones."),
    # The share of characters in web addresses, tags, entities, LaTeX or code.
    PairRule("markup", 0.5, _is_markup, "One side is mostly markup or code."),
    # The share of words in runs of 8 or more that repeat one phrase.
    PairRule("repetition", 0.5, _is_repetition, "One side repeats the same words over and over."),
)
"""The rules in their order."""
FILTER_MEANINGS: Final[Mapping[str, str]] = {rule.name: rule.meaning for rule in PAIR_RULES}


class PairFilter:
    """The rules of `PAIR_RULES` that a configuration leaves on."""

    def __init__(self, config: FilterConfig) -> None:
        """Select the rules whose limit is neither null nor false; 0 is a valid limit."""
        self._checks: list[tuple[str, Check, float]] = []
        for rule in PAIR_RULES:
            limit = getattr(config, rule.limit) if isinstance(rule.limit, str) else rule.limit
            if limit is not None and limit is not False:
                self._checks.append((rule.name, rule.check, limit))

    def broken_rule(self, source: str, target: str) -> str | None:
        """Return the name of the first rule that a pair of normalized texts breaks, or None."""
        sides = Sides.of(source, target)
        for name, breaks, limit in self._checks:
            if breaks(sides, limit):
                return name
        return None
