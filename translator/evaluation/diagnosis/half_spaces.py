"""Agreement with the references in the half-space: می‌رود, می رود and میرود are one word in three writings."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from translator.evaluation.diagnosis.finding import Agreement, Finding, Flag, finding
from translator.evaluation.diagnosis.words import ZWNJ, one_spelling
from translator.evaluation.scored_set import ScoredSet

PARTS: Final = 3
"""Words with a space between that are tried as one word."""
_WORD: Final = re.compile(rf"[^\W_]+(?:{ZWNJ}+[^\W_]+)*+")

Writings = Mapping[str, Counter[str]]
"""For each word without half-spaces and spaces, how often it stands there in each writing."""


@dataclass(frozen=True)
class SharedWords:
    """The half-spaces of a hypothesis beside those of one reference."""

    agreement: Agreement
    """In words that have a half-space."""
    shared: int
    """Words in both texts that at least one of them writes with a half-space."""
    otherwise: Counter[str]
    """Those of `shared` that are written in different ways, as the hypothesis writes them."""


def find_half_spaces(scored: ScoredSet, examples: int) -> Finding:
    """Return the hypotheses with a word that is the reference's but for half-space, space or neither between its parts.

    Of several references, the one that agrees best counts.
    """
    flags = []
    looked_at = shared = otherwise = 0
    words = Agreement(0, 0, 0)
    for number, hypothesis in enumerate(scored.hypotheses):
        compared = [compare(hypothesis, reference) for reference in scored.references[number]]
        best = min(compared, key=lambda one: (one.otherwise.total(), -(one.agreement.f1 or 0.0), -one.shared))
        words += best.agreement
        shared += best.shared
        otherwise += best.otherwise.total()
        looked_at += best.shared > 0
        if best.otherwise:
            flags.append(Flag(number, best.otherwise.total(), "، ".join(best.otherwise)))
    return finding(
        "half_spaces",
        "A word of the reference is written with another half-space (ZWNJ), with a space, or with none.",
        of=looked_at,
        flags=flags,
        examples=examples,
        agreements={"words with a half-space": words},
        figures={"words in both, with a half-space in one": shared, "of them written otherwise": otherwise},
    )


def compare(hypothesis: str, reference: str) -> SharedWords:
    """Return how the half-spaces of two texts agree; variants of letters and vowel marks make no difference."""
    ours, theirs = one_spelling(hypothesis), one_spelling(reference)
    keys = {word.replace(ZWNJ, "") for text in (ours, theirs) for word in _WORD.findall(text) if ZWNJ in word}
    if not keys:
        return SharedWords(Agreement(0, 0, 0), 0, Counter())
    our_writings, their_writings = writings(ours, keys), writings(theirs, keys)
    shared = 0
    otherwise: Counter[str] = Counter()
    for key in sorted(our_writings.keys() & their_writings.keys()):
        our, their = our_writings[key], their_writings[key]
        common = min(our.total(), their.total())
        shared += common
        differing = common - (our & their).total()
        if differing:
            otherwise.update(list((our - their).elements())[:differing])
    return SharedWords(_agreement(our_writings, their_writings), shared, otherwise)


def writings(text: str, keys: set[str]) -> Writings:
    """Return how the words in `keys` are written in `text`: with half-spaces, with spaces, or in one."""
    found: dict[str, Counter[str]] = {}
    words = list(_WORD.finditer(text))
    for start in range(len(words)):
        whole = ""
        for last in range(start, min(start + PARTS, len(words))):
            if last > start and not text[words[last - 1].end() : words[last].start()].isspace():
                break  # punctuation parts words for good
            whole += f" {words[last][0]}" if whole else words[last][0]
            key = whole.replace(" ", "").replace(ZWNJ, "")
            if key in keys:
                writing = re.sub(f"{ZWNJ}+", ZWNJ, whole)
                found.setdefault(key, Counter())[writing] += 1
    return found


def _agreement(ours: Writings, theirs: Writings) -> Agreement:
    """Return the agreement in words that have a half-space and no space."""
    our, their = (
        Counter(
            {
                writing: count
                for counts in found.values()
                for writing, count in counts.items()
                if ZWNJ in writing and " " not in writing
            }
        )
        for found in (ours, theirs)
    )
    return Agreement((our & their).total(), our.total(), their.total())
