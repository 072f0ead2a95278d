"""Numbers in digits that were lost or invented; ۱۲, ١٢ and 12 are one number, and twelve is none.

Either language may spell a number in words. So a number is lost only where all references have it in digits, and only
sentences whose source has digits are looked at.
"""

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from translator.corpus.filters.numbers import numbers_of
from translator.evaluation.diagnosis.finding import Agreement, Finding, Flag, finding, listed
from translator.evaluation.scored_set import ScoredSet


def find_numbers(scored: ScoredSet, examples: int) -> Finding:
    """Return the hypotheses that lost a number of the source, or have one that neither source nor reference has."""
    flags = []
    looked_at = 0
    with_source = with_reference = Agreement(0, 0, 0)
    for number, hypothesis in enumerate(scored.hypotheses):
        source = Counter(numbers_of(scored.sources[number]))
        if not source:
            continue
        looked_at += 1
        ours = Counter(numbers_of(hypothesis))
        references = [Counter(numbers_of(text)) for text in scored.references[number]]
        with_source += agreement(ours, source)
        with_reference += max((agreement(ours, one) for one in references), key=lambda one: one.f1 or 0.0)
        lost, invented = disagreement(ours, source, references)
        if lost or invented:
            note = [f"lost {listed(lost)}"] if lost else []
            note += [f"invented {listed(invented)}"] if invented else []
            flags.append(Flag(number, lost.total() + invented.total(), ", ".join(note)))
    return finding(
        "numbers",
        "A number in digits was lost that the references have too, or one stands there that neither source nor "
        "references have.",
        of=looked_at,
        flags=flags,
        examples=examples,
        agreements={"with the source": with_source, "with the references": with_reference},
    )


def disagreement(
    ours: Counter[str], source: Counter[str], references: Sequence[Counter[str]]
) -> tuple[Counter[str], Counter[str]]:
    """Return the numbers that a hypothesis lost, and those that it invented.

    Args:
        ours: how often each number stands in the hypothesis.
        source: the same of the source.
        references: the same of each reference.
    """
    lost = (source & reduce(and_, references)) - ours
    invented = ours - (source | reduce(or_, references))
    return lost, invented


def agreement(ours: Counter[str], theirs: Counter[str]) -> Agreement:
    """Return how far two texts agree in what was counted."""
    return Agreement((ours & theirs).total(), ours.total(), theirs.total())
