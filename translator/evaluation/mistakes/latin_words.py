"""Latin words in a Persian translation: source words that were copied, or foreign words that were invented."""

import re
from typing import Final

from translator.evaluation.mistakes.sentence import Mistake, Sentence, mistake_of_words, surplus

_LATIN_WORD: Final = re.compile("[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ]{2,}")


def check_latin_words(sentence: Sentence) -> Mistake | None:
    """Find Latin words that are in no reference."""
    if not sentence.is_into_persian:
        return None
    return mistake_of_words(surplus(sentence, _latin_words))


def _latin_words(text: str) -> list[str]:
    return [word.lower() for word in _LATIN_WORD.findall(text)]
