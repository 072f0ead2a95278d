"""Scores and translations as lines for a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from translator.text_table import excerpt, text_table

if TYPE_CHECKING:
    from translator.evaluation import Score, TranslatedPair
    from translator.evaluation.slices import Slice

_SHOWN: Final = 500
"""Characters of a sentence."""


def score_table(scores: "Sequence[Score]") -> list[str]:
    """Return the scores of one system under a heading, those of one metric on unlike text side by side.

    Below them stands the signature of each metric: two scores are comparable only where these are the same.
    """
    if not scores:
        return []
    texts = list(dict.fromkeys(one.normalization for one in scores))
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for one in scores:
        cells = rows.setdefault((one.test_set, one.metric, one.search, one.checkpoint), {})
        cells[one.normalization] = f"{one.shown} ({one.shown_interval})" if one.interval else one.shown
    header = ("test set", "metric", "search", "checkpoint", *texts)
    lines = [(*key, *(cells.get(text, "") for text in texts)) for key, cells in rows.items()]
    table = text_table(header, lines, text_columns=4)
    interval = ["in brackets: 95% interval of bootstrap resamples"] if any(one.interval for one in scores) else []
    signatures = dict.fromkeys(f"{one.metric}: {one.signature}" for one in scores)
    return [*table.split("\n"), *interval, *signatures]


def slice_table(slices: "Sequence[Slice]") -> list[str]:
    """Return a line for each part of the test sets under a heading."""
    if not slices:
        return []
    metrics = list(dict.fromkeys(metric for one in slices for metric in one.scores))
    header = ("test set", "by", "part", "search", "checkpoint", "sentences", *metrics)
    rows = [
        (
            *(one.test_set, one.kind, one.part, one.search, one.checkpoint, f"{one.sentences:,}"),
            *(f"{one.scores[metric]:.2f}" if metric in one.scores else "" for metric in metrics),
        )
        for one in slices
    ]
    return text_table(header, rows, text_columns=5).split("\n")


def sample_lines(samples: "Sequence[TranslatedPair]") -> list[str]:
    """Return the first three of `samples`, each on three lines."""
    return [
        f"\n  English    {excerpt(sample.source, _SHOWN)}\n  reference  {excerpt(sample.reference, _SHOWN)}"
        f"\n  translated {excerpt(sample.hypothesis, _SHOWN)}"
        for sample in samples[:3]
    ]
