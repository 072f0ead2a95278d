"""Latin words in the Persian hypotheses that no reference has."""

import re
from collections import Counter
from typing import Final

from translator.evaluation.diagnosis.finding import Finding, Flag, finding, listed
from translator.evaluation.scored_set import ScoredSet

_LATIN_WORD: Final = re.compile("[A-Za-zÀ-ÖØ-öø-ɏḀ-ỿ]{2,}")


def find_latin_words(scored: ScoredSet, examples: int) -> Finding:
    """Return the hypotheses with Latin words beyond those of every reference; a single letter is none."""
    flags = []
    copied = left = 0
    for number, hypothesis in enumerate(scored.hypotheses):
        ours = latin_words(hypothesis)
        for reference in scored.references[number] if ours else ():
            ours -= latin_words(reference)
        if ours:
            theirs = latin_words(scored.sources[number])
            copied += sum((ours & theirs).values())
            left += sum(ours.values())
            flags.append(Flag(number, sum(ours.values()), listed(ours)))
    return finding(
        "latin_words",
        "The translation has Latin words that no reference has.",
        of=len(scored.hypotheses),
        flags=flags,
        examples=examples,
        figures={"Latin words": left, "of them copied from the source": copied},
    )


def latin_words(text: str) -> Counter[str]:
    """Return how often each word of two and more Latin letters stands in `text`, in small letters."""
    return Counter(word.lower() for word in _LATIN_WORD.findall(text))
