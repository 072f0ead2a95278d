"""English punctuation in a Persian translation, which has its own comma, semicolon and question mark."""

import re
from typing import Final

from translator.evaluation.mistakes.sentence import Mistake, Sentence, mistake_of_words, surplus

_ENGLISH_MARK: Final = re.compile("[,;?]")
_MARK_INSIDE: Final = re.compile(r"(?<=\d),(?=\d)|(?<=[A-Za-z]),(?=[A-Za-z])|&\w+;")
"""Marks that belong to a number, a Latin word or an entity."""


def check_english_punctuation(sentence: Sentence) -> Mistake | None:
    """Find English commas, semicolons and question marks that are in no reference."""
    if not sentence.is_into_persian:
        return None
    return mistake_of_words(surplus(sentence, _english_marks))


def _english_marks(text: str) -> list[str]:
    return _ENGLISH_MARK.findall(_MARK_INSIDE.sub(" ", text))
