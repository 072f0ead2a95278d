"""Mistakes in translations that can be counted: each has a check that looks at one sentence."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from translator.corpus.held_out import HeldOutSet
from translator.corpus.selecting.number_agreement import numbers_of
from translator.run.text import excerpt, is_persian
from translator.search.loop_detection import looping_words, words_of
from translator.subword.placeholders import is_number, things_to_copy

_MAX_LISTED: Final = 200  # characters of a list of words in a note
_LATIN_WORD: Final = re.compile("[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ]{2,}")


MEANINGS: Final[Mapping[str, str]] = {
    "empty": "The translation has no word.",
    "loop": "Words or letters repeat more often than in the source and the references.",
    "lost": "A number, address, code or emoji that the references keep was lost.",
    "cut_off": "The search reached its length limit before the end of the sentence.",
    "latin_words": "Latin words that are in no reference.",
}
"""What each mistake is, in the order of tables."""


def find_mistakes(
    text: HeldOutSet, hypotheses: Sequence[str], cut_off_sentences: Sequence[int] | None
) -> list[dict[str, str]]:
    """Return for each sentence a note on each mistake that it could have; the note is "" if the sentence is without it.

    Args:
        text: N sentences with their references.
        hypotheses: their translations.
        cut_off_sentences: numbers, from 1, of the translations that the search cut off; None if they are unknown.
    """
    cut_off = None if cut_off_sentences is None else set(cut_off_sentences)
    notes_of_sentences = []
    rows = zip(text.sources, text.references, hypotheses, strict=True)
    for number, (source, references, hypothesis) in enumerate(rows, start=1):
        # None: the sentence cannot have the mistake, or whether it has is unknown.
        notes = {
            "empty": check_empty(source, references, hypothesis),
            "loop": check_loop(source, references, hypothesis),
            "lost": check_lost(source, references, hypothesis),
            "cut_off": None,  # replaced below if it is known
            "latin_words": check_latin_words(references, hypothesis),
        }
        if cut_off is not None:
            notes["cut_off"] = "stopped at the length limit" if number in cut_off else ""
        notes_of_sentences.append({name: note for name, note in notes.items() if note is not None})
    return notes_of_sentences


# Each check returns a note on the mistake, "" for a sentence without it, and None for one that cannot have it.


def check_empty(source: str, references: Sequence[str], hypothesis: str) -> str | None:
    """Find a translation without words, where the source and all references have some."""
    if not all(map(words_of, (source, *references))):
        return None
    if words_of(hypothesis):
        return ""
    return hypothesis.strip() or "nothing"


def check_loop(source: str, references: Sequence[str], hypothesis: str) -> str:
    """Find a translation that repeats words, or letters in a word, where no reference does (Holtzman et al. 2020)."""
    count = looping_words(source, hypothesis)
    if count == 0 or any(looping_words(source, reference) for reference in references):
        return ""
    return f"{count} of {len(words_of(hypothesis))} words repeated"


def check_lost(source: str, references: Sequence[str], hypothesis: str) -> str | None:
    """Find numbers, addresses, codes and emoji of the source that all references have and the translation lacks.

    The digits ۱۲, ١٢ and 12 are one number. A number that a reference spells in words is not lost.
    """
    expected = _copied_parts(source)
    if not expected:
        return None
    for reference in references:
        expected = expected & _copied_parts(reference)
    return _list_counts(expected - _copied_parts(hypothesis))


def _copied_parts(text: str) -> Counter[str]:
    """Return the numbers of `text`, and what a translation copies whole: `a.org`, `B12`, 😂, `+98 21 8877`."""
    copied = [part for part in things_to_copy(text) if " " in part or not is_number(part)]
    return Counter([*numbers_of(text), *copied])


def check_latin_words(references: Sequence[str], hypothesis: str) -> str | None:
    """Find Latin words in a Persian translation that no reference has: words left of the source, or invented ones."""
    if not any(map(is_persian, references)):
        return None
    surplus = _latin_words(hypothesis)
    for reference in references:
        surplus = surplus - _latin_words(reference)
    return _list_counts(surplus)


def _latin_words(text: str) -> Counter[str]:
    return Counter(word.lower() for word in _LATIN_WORD.findall(text))


def _list_counts(counts: Counter[str]) -> str:
    """Return the entries as text, with their counts if above 1: `the ×3 garden`."""
    entries = [f"{entry} ×{count}" if count > 1 else entry for entry, count in counts.items()]
    return excerpt(" ".join(entries), _MAX_LISTED)
