"""Translations that are not there, and those that are the same whatever the source says."""

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from translator.corpus.normalize import fold
from translator.evaluation.diagnosis.finding import Finding, Flag, finding
from translator.evaluation.diagnosis.words import words_of
from translator.evaluation.scored_set import ScoredSet

IDENTICAL_FROM: Final = 3
"""Words of a hypothesis from which it is looked at: many a source comes to "no" or "thank you"."""
ALIKE_FROM: Final = 1 / 3
"""Share of words in common, of all words of two sources, from which they may well have the same translation."""
MANY: Final = 50
"""Different sources that no longer are looked at in pairs: so many cannot all mean the same."""


def find_empty(scored: ScoredSet, examples: int) -> Finding:
    """Return the hypotheses without a word whose source and references have some."""
    flags = []
    looked_at = 0
    for number, hypothesis in enumerate(scored.hypotheses):
        if all(map(words_of, (scored.sources[number], *scored.references[number]))):
            looked_at += 1
            if not words_of(hypothesis):
                flags.append(Flag(number, len(scored.sources[number]), hypothesis.strip() or "nothing"))
    return finding(
        "empty",
        "The translation has not a word, though source and references have some.",
        of=looked_at,
        flags=flags,
        examples=examples,
    )


def find_identical(scored: ScoredSet, examples: int) -> Finding:
    """Return the hypotheses that also stand for a quite different source, with another reference.

    Case, punctuation and spaces make no difference to references; of several the first counts.
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, hypothesis in enumerate(scored.hypotheses):
        words = words_of(hypothesis)
        if len(words) >= IDENTICAL_FROM:
            groups[" ".join(words)].append(number)
    flags = []
    for text, numbers in groups.items():
        sources = [frozenset(words_of(scored.sources[number])) for number in numbers]
        if len(set(sources)) < 2:
            continue
        references = [fold(scored.references[number][0]) for number in numbers]
        for place, others in enumerate(_strangers(sources, references)):
            if others:
                note = f"the same for {others} other source{'s' if others > 1 else ''}: {text}"
                flags.append(Flag(numbers[place], others, note))
    return finding(
        "identical",
        f"Sources with few words in common have the same translation of {IDENTICAL_FROM} words or more, though their "
        "references differ: a sign that it was not made from the source.",
        of=sum(map(len, groups.values())),
        flags=flags,
        examples=examples,
    )


def _strangers(sources: Sequence[AbstractSet[str]], references: Sequence[str]) -> list[int]:
    """Return, for each of some sentences, how many different sources among the others are nothing like its own."""
    different = set(zip(map(frozenset, sources), references, strict=True))
    if len(different) > MANY:
        return [len(different) - 1] * len(sources)
    return [
        len({other for other, theirs in different if theirs != reference and not _alike(source, other)})
        for source, reference in zip(sources, references, strict=True)
    ]


def _alike(words: AbstractSet[str], others: AbstractSet[str]) -> bool:
    return len(words & others) >= ALIKE_FROM * len(words | others)
