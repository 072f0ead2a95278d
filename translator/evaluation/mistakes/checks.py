"""The checks of a diagnosis by the name of their mistake."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from translator.evaluation.mistakes.copied_text import check_copies, check_numbers
from translator.evaluation.mistakes.english_punctuation import check_english_punctuation
from translator.evaluation.mistakes.half_spaces import check_half_spaces
from translator.evaluation.mistakes.latin_words import check_latin_words
from translator.evaluation.mistakes.length import check_empty, check_too_long, check_too_short, check_unfinished
from translator.evaluation.mistakes.repeated_words import check_repetition
from translator.evaluation.mistakes.search_errors import check_search_error
from translator.evaluation.mistakes.sentence import Mistake, Sentence


class Check(NamedTuple):
    """A kind of mistake, and how to find it."""

    meaning: str
    find: Callable[[Sentence], Mistake | None]  # None: the mistake cannot occur in the sentence, or cannot be checked
    needs_hypothesis_scores: bool = False  # the model's scores of its translations
    needs_reference_scores: bool = False  # the model's scores of the references


CHECKS: Final[Mapping[str, Check]] = {
    "empty": Check("The translation has no word.", check_empty),
    "repetition": Check("Words or letters repeat more often than in source and references.", check_repetition),
    "too_short": Check("Less than half as many characters as the nearest reference.", check_too_short),
    "too_long": Check("More than twice as many characters as the nearest reference.", check_too_long),
    "unfinished": Check(
        "The search reached its length limit before the end of the sentence.",
        check_unfinished,
        needs_hypothesis_scores=True,
    ),
    "latin_words": Check("Latin words that are in no reference.", check_latin_words),
    "numbers": Check("A number that the references have in digits was lost, or one was invented.", check_numbers),
    "copies": Check("An address, code, emoji or number in groups that the references have was lost.", check_copies),
    "half_spaces": Check(
        "A word whose half-spaces (ZWNJ) or spaces differ from those in the reference.", check_half_spaces
    ),
    "english_punctuation": Check(
        "English commas, semicolons or question marks that are in no reference.", check_english_punctuation
    ),
    "search_errors": Check(
        "The model scores the reference above its own translation.",
        check_search_error,
        needs_hypothesis_scores=True,
        needs_reference_scores=True,
    ),
}
"""The checks by the name of their mistake, in the order of tables."""
