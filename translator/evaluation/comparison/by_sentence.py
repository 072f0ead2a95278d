"""Which sentences a system translates better than the baseline, and which worse."""

import heapq
from collections.abc import Sequence

from translator.evaluation.comparison.results import Difference, SentenceComparison
from translator.evaluation.scored_set import ScoredSet
from translator.evaluation.sentence_counts import SentenceCounts


def compare_sentences(
    label: str,
    baseline: ScoredSet,
    system: ScoredSet,
    baseline_chrf: Sequence[float],
    system_chrf: Sequence[float],
    examples: int,
) -> SentenceComparison:
    """Return wins, losses and ties of `system`, and its largest differences from `baseline` either way.

    Args:
        label: the system's.
        baseline, system: the same sentences as two systems translated them.
        baseline_chrf, system_chrf: of each sentence.
        examples: how many differences to show each way; of two that are as large, the earlier sentence comes first.
    """
    gains = [ours - theirs for ours, theirs in zip(system_chrf, baseline_chrf, strict=True)]

    def differences(sign: int) -> tuple[Difference, ...]:
        chosen = heapq.nsmallest(
            examples,
            (number for number, gain in enumerate(gains) if sign * gain > 0),
            key=lambda number: (-sign * gains[number], number),
        )
        return tuple(
            Difference(
                sentence=number + 1,
                source=system.sources[number],
                references=system.references[number],
                baseline=baseline.hypotheses[number],
                system=system.hypotheses[number],
                baseline_chrf=baseline_chrf[number],
                system_chrf=system_chrf[number],
            )
            for number in chosen
        )

    wins, losses = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    return SentenceComparison(
        system=label,
        wins=wins,
        losses=losses,
        ties=len(gains) - wins - losses,
        better=differences(1),
        worse=differences(-1),
    )


def sentence_scores(counts: SentenceCounts) -> list[float]:
    """Return the score of each sentence by itself."""
    return [counts.score_of_sum(row) for row in counts.counts.tolist()]
