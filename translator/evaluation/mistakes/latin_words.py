"""Latin words in a Persian translation: source words that were copied, or foreign words that were invented."""

import re
from collections import Counter
from typing import Final

from translator.evaluation.mistakes.sentence import (
    NO_MISTAKE,
    Mistake,
    Sentence,
    list_counts,
    mistake_of_words,
    surplus,
)
from translator.search.repetition import words_of

_LATIN_WORD: Final = re.compile("[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ]{2,}")


def check_latin_words(sentence: Sentence) -> Mistake | None:
    """Find Latin words that are in no reference."""
    if not sentence.is_into_persian:
        return None
    return mistake_of_words(surplus(sentence, _latin_words))


def check_copied_source(sentence: Sentence) -> Mistake | None:
    """Find a translation of which at least half of the words are Latin source words that no reference has."""
    if not sentence.is_into_persian:
        return None
    copied = surplus(sentence, _latin_words) & Counter(_latin_words(sentence.source))
    share = copied.total() / max(len(words_of(sentence.hypothesis)), 1)
    return Mistake(severity=share, note=list_counts(copied)) if share >= 0.5 else NO_MISTAKE


def _latin_words(text: str) -> list[str]:
    return [word.lower() for word in _LATIN_WORD.findall(text)]
