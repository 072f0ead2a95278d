"""Which checkpoint of a contestant translates the test text, and under which length penalty: validation text says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.quality_contestant import Contestant, emptied
from bench.quality_text import read_lines
from translator.config import MetricName
from translator.corpus.test_set import HeldOutSet
from translator.errors import RunError
from translator.evaluation import compute_scores

FIRST_PENALTY: Final = 1.0
"""Under which checkpoints are compared; among the penalties that are tried, the nearest to it."""
_METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf")


def choose(contestant: Contestant, candidates: Sequence[str]) -> dict[str, Any]:
    """Return the checkpoint that is best by the mean of BLEU and chrF over the sources, and then the length penalty.

    chrF alone rewards length: it takes penalties under which some hypotheses run on, which only BLEU minds.

    Args:
        contestant: has its text, its length penalties, and a folder for what is tried.
        candidates: names of checkpoints, at least one.

    Returns:
        `checkpoint` and `length_penalty`, and as `tried` a dictionary for each translation: both, with their scores.

    Raises:
        RunError: a translation fails, or has not a line for each sentence.
        Interrupted: it was stopped.
    """
    folder = emptied(contestant.folder / "choice")
    sets = contestant.text.sets("choice")
    tried: list[dict[str, Any]] = []

    def judge(checkpoint: str, penalty: float) -> float:
        output = folder / f"{checkpoint}.{penalty:g}.txt"
        contestant.translate(checkpoint, penalty, "choice", output)
        parts = by_set(output, sets)
        means: dict[str, float] = dict.fromkeys(_METRICS, 0.0)
        for part, one in zip(parts, sets, strict=True):
            for score in compute_scores(part, one.references, metrics=_METRICS):
                if score.metric in means:
                    means[score.metric] += score.score / len(sets)
        tried.append({"checkpoint": checkpoint, "length_penalty": penalty, **means})
        return sum(means.values()) / len(means)

    first = min(contestant.length_penalties, key=lambda penalty: abs(penalty - FIRST_PENALTY))
    by_checkpoint = {checkpoint: judge(checkpoint, first) for checkpoint in candidates}
    best = max(by_checkpoint, key=lambda checkpoint: by_checkpoint[checkpoint])
    by_penalty = {first: by_checkpoint[best]}
    by_penalty |= {penalty: judge(best, penalty) for penalty in contestant.length_penalties if penalty != first}
    penalty = max(by_penalty, key=lambda penalty: by_penalty[penalty])
    return {"checkpoint": best, "length_penalty": penalty, "tried": tried}


def by_set(path: Path, sets: Sequence[HeldOutSet]) -> list[list[str]]:
    """Return the translations in a file of all `sets` together, those of each set for itself.

    Raises:
        RunError: there is not one line for each sentence.
        StorageError: the file cannot be read.
    """
    lines = read_lines(path)
    expected = sum(len(one.sources) for one in sets)
    if len(lines) != expected:
        raise RunError(
            f"{path} has {len(lines):,} lines for {expected:,} sentences; delete it and run the contest again"
        )
    found, start = [], 0
    for one in sets:
        found.append(lines[start : start + len(one.sources)])
        start += len(one.sources)
    return found
