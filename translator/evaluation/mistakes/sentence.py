"""A sentence as the checks see it, and a mistake as they return it."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from translator.evaluation.results import ModelScore
from translator.run.arabic_shaping import is_persian
from translator.run.text import excerpt

_MAX_LISTED: Final = 200  # characters of a list of words in a note


class Sentence(NamedTuple):
    """A sentence with its translation."""

    source: str
    references: tuple[str, ...]  # one or more
    hypothesis: str
    hypothesis_score: ModelScore | None = None  # the model's score of the hypothesis
    reference_score: ModelScore | None = None  # and of the first reference

    @property
    def is_into_persian(self) -> bool:
        """Whether a reference is Persian; some checks are on Persian text only."""
        return any(map(is_persian, self.references))


class Mistake(NamedTuple):
    """A mistake in one sentence: its severity (0: no mistake), and a short note on what is wrong."""

    severity: float
    note: str


NO_MISTAKE: Final = Mistake(severity=0.0, note="")


def mistake_of_words(word_counts: Counter[str]) -> Mistake:
    """Return a mistake that consists of these words; none if there are no words."""
    return Mistake(severity=word_counts.total(), note=list_counts(word_counts))


def list_counts(counts: Counter[str]) -> str:
    """Return the entries as text, with their counts if above 1: `the ×3 garden`."""
    entries = []
    for entry, count in counts.items():
        entries.append(f"{entry} ×{count}" if count > 1 else entry)
    return excerpt(" ".join(entries), _MAX_LISTED)


def surplus(sentence: Sentence, parts_of: Callable[[str], Iterable[str]]) -> Counter[str]:
    """Return the parts of the hypothesis, such as words, that are in no reference, with their counts."""
    counts = Counter(parts_of(sentence.hypothesis))
    for reference in sentence.references:
        counts = counts - Counter(parts_of(reference))
    return counts
