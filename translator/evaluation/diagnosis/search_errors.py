"""Search errors: the model itself prefers the reference, and the search did not find it (Stahlberg and Byrne 2019 §2).

Where the model prefers its own hypothesis and the hypothesis is bad, not the search is to blame but the model.
"""

import math
from typing import TYPE_CHECKING, Final

from translator.evaluation.diagnosis.finding import Finding, Flag, finding
from translator.evaluation.scored_set import ScoredSet

if TYPE_CHECKING:
    from translator.inference.translation import Translation

_LEAST_MARGIN: Final = 1e-4
"""Below it, two scores may differ by rounding: one is of the search, the other of a whole sentence at once."""
_BEYOND: Final = "left out, the reference being longer than the search may go"
_UNKNOWN: Final = "\u2047"
"""What an unknown piece is decoded to; nothing else is, for the subword model spells this mark as ??."""


def find_search_errors(scored: ScoredSet, examples: int) -> list[Finding]:
    """Return the sentences whose reference has the better score, plain and normalized; nothing where nobody knows."""
    if scored.hypothesis_scores is None or scored.reference_scores is None:
        return []
    comparable = [
        (number, ours, theirs)
        for number, (ours, theirs) in enumerate(zip(scored.hypothesis_scores, scored.reference_scores, strict=True))
        if _comparable(ours, theirs)
    ]
    pairs = [pair for pair in comparable if pair[2].finished]
    beyond = len(comparable) - len(pairs)
    plain = [(number, _margin(ours, theirs, theirs.score - ours.score)) for number, ours, theirs in pairs]
    normalized = [
        (number, _margin(ours, theirs, theirs.normalized_score - ours.normalized_score))
        for number, ours, theirs in pairs
    ]
    return [
        _finding(
            "search_errors",
            "The model finds the reference more probable than its own translation, which the search should have found.",
            plain,
            beyond,
            examples,
        ),
        _finding(
            "search_errors_normalized",
            "The model scores the reference above its own translation, both with the length penalty of the search.",
            normalized,
            beyond,
            examples,
        ),
    ]


def _comparable(ours: "Translation", theirs: "Translation") -> bool:
    """Say whether each is one sequence with a score that the search was free to choose.

    A long source is searched in parts; a translation that was cut short is no choice; and no search writes an unknown
    piece.
    """
    if not ours.finished or _UNKNOWN in theirs.text:
        return False
    scores = (ours.score, ours.normalized_score, theirs.score, theirs.normalized_score)
    return ours.pieces == theirs.pieces == 1 and all(map(math.isfinite, scores))


def _margin(ours: "Translation", theirs: "Translation", margin: float) -> float:
    """Return how much better the reference is; the same text never is, though cut into other tokens.

    Both texts are as the model sees them: a reference in another spelling is scored as the model's own.
    """
    return 0.0 if ours.text == theirs.text else margin


def _finding(name: str, meaning: str, margins: list[tuple[int, float]], beyond: int, examples: int) -> Finding:
    """Return the finding of these margins, the reference's score less the hypothesis'.

    Args:
        name, meaning, examples: see `finding`.
        margins: of each sentence that was looked at.
        beyond: how many were left out since the search may not write what is as long as their reference.
    """
    flags = [
        Flag(number, margin, f"the reference is better by {margin:.3f}")
        for number, margin in margins
        if margin > _LEAST_MARGIN
    ]
    figures: dict[str, float] = {_BEYOND: beyond} if beyond else {}
    if flags:
        figures["mean margin"] = math.fsum(flag.weight for flag in flags) / len(flags)
    return finding(name, meaning, of=len(margins), flags=flags, examples=examples, figures=figures)
