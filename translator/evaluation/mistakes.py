"""Mistakes in translations that can be counted: each has a check that looks at one sentence."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from translator.corpus.held_out import HeldOutSet
from translator.corpus.number_agreement import numbers_of
from translator.run.arabic_shaping import is_persian
from translator.run.text import excerpt
from translator.search.loop_detection import looping_words, words_of
from translator.subword.placeholders import is_number, things_to_copy

_MAX_LISTED: Final = 200  # characters of a list of words in a note
_LATIN_WORD: Final = re.compile("[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ]{2,}")


class Sentence(NamedTuple):
    """A sentence with its translation, as the checks see it."""

    source: str
    references: tuple[str, ...]  # one or more
    hypothesis: str
    is_cut_off: bool | None  # whether the search reached its length limit; None if unknown


class Check(NamedTuple):
    """A kind of mistake, and how to find it."""

    meaning: str
    find: Callable[[Sentence], str | None]
    """Returns a note on the mistake, "" if the sentence is without it, and None if it cannot have it."""


def check_empty(sentence: Sentence) -> str | None:
    """Find a translation without words, where the source and all references have some."""
    if not all(map(words_of, (sentence.source, *sentence.references))):
        return None
    if words_of(sentence.hypothesis):
        return ""
    return sentence.hypothesis.strip() or "nothing"


def check_loop(sentence: Sentence) -> str | None:
    """Find a translation that repeats words, or letters in a word, where no reference does (Holtzman et al. 2020)."""
    count = looping_words(sentence.source, sentence.hypothesis)
    if count == 0 or any(looping_words(sentence.source, reference) for reference in sentence.references):
        return ""
    return f"{count} of {len(words_of(sentence.hypothesis))} words repeated"


def check_lost(sentence: Sentence) -> str | None:
    """Find numbers, addresses, codes and emoji of the source that all references have and the translation lacks.

    The digits ۱۲, ١٢ and 12 are one number. A number that a reference spells in words is not lost.
    """
    expected = _copied_parts(sentence.source)
    if not expected:
        return None
    for reference in sentence.references:
        expected = expected & _copied_parts(reference)
    return _list_counts(expected - _copied_parts(sentence.hypothesis))


def _copied_parts(text: str) -> Counter[str]:
    """Return the numbers of `text`, and what a translation copies whole: `a.org`, `B12`, 😂, `+98 21 8877`."""
    copied = [part for part in things_to_copy(text) if " " in part or not is_number(part)]
    return Counter([*numbers_of(text), *copied])


def check_cut_off(sentence: Sentence) -> str | None:
    """Find a translation that the search cut off at its length limit."""
    if sentence.is_cut_off is None:
        return None
    return "stopped at the length limit" if sentence.is_cut_off else ""


def check_latin_words(sentence: Sentence) -> str | None:
    """Find Latin words in a Persian translation that no reference has: words left of the source, or invented ones."""
    if not any(map(is_persian, sentence.references)):
        return None
    surplus = _latin_words(sentence.hypothesis)
    for reference in sentence.references:
        surplus = surplus - _latin_words(reference)
    return _list_counts(surplus)


def _latin_words(text: str) -> Counter[str]:
    return Counter(word.lower() for word in _LATIN_WORD.findall(text))


def _list_counts(counts: Counter[str]) -> str:
    """Return the entries as text, with their counts if above 1: `the ×3 garden`."""
    entries = [f"{entry} ×{count}" if count > 1 else entry for entry, count in counts.items()]
    return excerpt(" ".join(entries), _MAX_LISTED)


CHECKS: Final[Mapping[str, Check]] = {
    "empty": Check("The translation has no word.", check_empty),
    "loop": Check("Words or letters repeat more often than in the source and the references.", check_loop),
    "lost": Check("A number, address, code or emoji that the references keep was lost.", check_lost),
    "cut_off": Check("The search reached its length limit before the end of the sentence.", check_cut_off),
    "latin_words": Check("Latin words that are in no reference.", check_latin_words),
}
"""The checks by the name of their mistake, in the order of tables."""


class Mistakes(NamedTuple):
    """The mistakes in the translations of a test set."""

    possible: Mapping[str, int]  # for each mistake, the number of sentences that could have it
    notes: Sequence[Mapping[str, str]]  # for each sentence, a note on each mistake in it, by name

    def count(self, name: str) -> int:
        """Return the number of sentences with this mistake."""
        return sum(name in notes for notes in self.notes)

    def to_json(self) -> dict[str, Any]:
        """Return for each mistake its count and the number of sentences that could have it, as JSON values."""
        return {name: {"count": self.count(name), "of": possible} for name, possible in self.possible.items()}


def find_mistakes(text: HeldOutSet, hypotheses: Sequence[str], cut_off_sentences: Iterable[int] | None) -> Mistakes:
    """Return the mistakes in the translations of a test set.

    Args:
        text: N sentences with their references.
        hypotheses: their translations.
        cut_off_sentences: numbers, from 1, of the translations that the search cut off; None if they are unknown.
    """
    cut_off = None if cut_off_sentences is None else set(cut_off_sentences)
    possible = dict.fromkeys(CHECKS, 0)
    all_notes = []
    rows = zip(text.sources, text.references, hypotheses, strict=True)
    for number, (source, references, hypothesis) in enumerate(rows, start=1):
        is_cut_off = None if cut_off is None else number in cut_off
        sentence = Sentence(source, references, hypothesis, is_cut_off)
        notes = {}
        for name, check in CHECKS.items():
            note = check.find(sentence)
            possible[name] += note is not None
            if note:
                notes[name] = note
        all_notes.append(notes)
    return Mistakes(possible=possible, notes=all_notes)
