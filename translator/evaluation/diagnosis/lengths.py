"""Hypotheses that are much shorter or longer than their references, and those that never came to an end."""

import math
from collections.abc import Sequence
from typing import Final

from translator.evaluation.diagnosis.finding import Finding, Flag, finding
from translator.evaluation.scored_set import ScoredSet

LOOKED_AT_FROM: Final = 20
"""Characters of the longer text from which the ratio is looked at: short sentences vary too much."""
LONGEST_RATIO: Final = 2.0
"""Characters of a hypothesis as a multiple of the nearest reference's; its inverse is the lower limit."""
_QUANTILES: Final = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def find_lengths(scored: ScoredSet, examples: int) -> list[Finding]:
    """Return those that are too short, and those that are too long, both with the distribution of the ratio."""
    ratios: list[float] = []
    short, long = [], []
    for number, hypothesis in enumerate(scored.hypotheses):
        nearest, length = nearest_length(hypothesis, scored.references[number]), len(hypothesis.strip())
        if not length or not nearest:  # an empty one is another finding
            continue
        ratio = length / nearest
        ratios.append(ratio)
        if max(length, nearest) < LOOKED_AT_FROM:
            continue
        note = f"{length} characters, the reference {nearest}"
        if ratio > LONGEST_RATIO:
            long.append(Flag(number, ratio, note))
        elif ratio < 1 / LONGEST_RATIO:
            short.append(Flag(number, 1 / ratio, note))
    figures = length_figures(ratios)
    looked_at = len(ratios)
    return [
        finding(
            "too_short",
            f"The translation has less than half as many characters as the nearest reference (looked at from "
            f"{LOOKED_AT_FROM} characters).",
            of=looked_at,
            flags=short,
            examples=examples,
            figures=figures,
        ),
        finding(
            "too_long",
            f"The translation has more than twice as many characters as the nearest reference (looked at from "
            f"{LOOKED_AT_FROM} characters).",
            of=looked_at,
            flags=long,
            examples=examples,
            figures=figures,
        ),
    ]


def find_unfinished(scored: ScoredSet, examples: int) -> Finding | None:
    """Return the hypotheses that were stopped at their limit; None where nobody knows."""
    if scored.hypothesis_scores is None:
        return None
    flags = [
        Flag(number, translation.tokens, f"stopped after {translation.tokens} tokens")
        for number, translation in enumerate(scored.hypothesis_scores)
        if not translation.finished
    ]
    return finding(
        "unfinished",
        "The search stopped at its length limit before the model had ended the sentence.",
        of=len(scored.hypothesis_scores),
        flags=flags,
        examples=examples,
    )


def nearest_length(hypothesis: str, references: Sequence[str]) -> int:
    """Return the characters of the reference that is nearest in length; 0 if all are empty."""
    length = max(len(hypothesis.strip()), 1)
    lengths = [len(text) for text in map(str.strip, references) if text]
    return min(lengths, key=lambda other: (abs(math.log(length / other)), other), default=0)


def length_figures(ratios: Sequence[float]) -> dict[str, float]:
    """Return quantiles of the ratio of characters, hypothesis to reference; nothing for no ratios."""
    if not ratios:
        return {}
    ordered = sorted(ratios)
    names = ("lowest", "5%", "25%", "median", "75%", "95%", "highest")
    last = len(ordered) - 1
    return {f"ratio, {name}": ordered[round(quantile * last)] for name, quantile in zip(names, _QUANTILES, strict=True)}
