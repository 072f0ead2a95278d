"""Text that a translation copies: numbers, codes, addresses and emoji that were lost or invented."""

from collections import Counter

from translator.corpus.number_agreement import numbers_of
from translator.evaluation.mistakes.sentence import Mistake, Sentence, list_counts, mistake_of_words
from translator.subword.placeholders import is_number, things_to_copy


def check_numbers(sentence: Sentence) -> Mistake | None:
    """Find numbers in digits that were lost or invented; ۱۲, ١٢ and 12 are one number."""
    source_numbers = Counter(numbers_of(sentence.source))
    if not source_numbers:
        return None

    # References may spell a number in words: it is lost only if all references have it in digits.
    expected = source_numbers
    accepted = source_numbers
    for reference in sentence.references:
        reference_numbers = Counter(numbers_of(reference))
        expected = expected & reference_numbers
        accepted = accepted | reference_numbers
    hypothesis_numbers = Counter(numbers_of(sentence.hypothesis))
    lost = expected - hypothesis_numbers
    invented = hypothesis_numbers - accepted

    notes = []
    if lost:
        notes.append(f"lost {list_counts(lost)}")
    if invented:
        notes.append(f"invented {list_counts(invented)}")
    return Mistake(severity=lost.total() + invented.total(), note=", ".join(notes))


def check_copies(sentence: Sentence) -> Mistake | None:
    """Find addresses, codes, groups of digits and emoji of source and all references that were lost or changed."""
    expected = _copied_parts(sentence.source)
    if not expected:
        return None
    for reference in sentence.references:
        expected = expected & _copied_parts(reference)
    return mistake_of_words(expected - _copied_parts(sentence.hypothesis))


def _copied_parts(text: str) -> Counter[str]:
    """Return what a translation of `text` copies whole; numbers of one group have their own check."""
    return Counter(part for part in things_to_copy(text) if " " in part or not is_number(part))
