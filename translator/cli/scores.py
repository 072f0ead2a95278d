"""Scores and translations as lines for a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from translator.evaluation import Score, TranslatedPair


def score_table(scores: "Sequence[Score]") -> list[str]:
    """Return a line for each score under a heading, with all that tells two scores of a test set apart."""
    if not scores:
        return []
    rows = [("test set", "metric", "score", "text", "search", "checkpoint", "signature")]
    rows += [
        (one.test_set, one.metric, f"{one.score:.2f}", one.normalization, one.search, one.checkpoint, one.signature)
        for one in scores
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if heading == "score" else cell.ljust(width)
            for heading, cell, width in zip(rows[0], row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def sample_lines(samples: "Sequence[TranslatedPair]") -> list[str]:
    """Return the first three of `samples`, each on three lines."""
    return [
        f"\n  English    {sample.source}\n  reference  {sample.reference}\n  translated {sample.hypothesis}"
        for sample in samples[:3]
    ]
