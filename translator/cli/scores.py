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


def slice_table(slices: "Sequence[Sequence[Slice]]", systems: Sequence[str]) -> list[str]:
    """Return a line for each part of the test sets under a heading, with the system where there are several.

    Args:
        slices: the parts of each set.
        systems: what has translated each set.
    """
    parts = [(system, one) for system, of_set in zip(systems, slices, strict=True) for one in of_set]
    if not parts:
        return []
    several = len(set(systems)) > 1
    metrics = list(dict.fromkeys(metric for _, one in parts for metric in one.scores))
    header = (*(["system"] if several else []), "test set", "by", "part", "search", "checkpoint", "sentences", *metrics)
    rows = [
        (
            *([system] if several else []),
            *(one.test_set, one.kind, one.part, one.search, one.checkpoint, f"{one.sentences:,}"),
            *(f"{one.scores[metric]:.2f}" if metric in one.scores else "" for metric in metrics),
        )
        for system, one in parts
    ]
    return text_table(header, rows, text_columns=5 + several).split("\n")


def sample_lines(samples: "Sequence[TranslatedPair]") -> list[str]:
    """Return the first three of `samples`, each on three lines."""
    return [
        f"\n  English    {excerpt(sample.source, _SHOWN)}\n  reference  {excerpt(sample.reference, _SHOWN)}"
        f"\n  translated {excerpt(sample.hypothesis, _SHOWN)}"
        for sample in samples[:3]
    ]
