"""What the limit on length leaves of each source, in numbers and as a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from translator.data.pair_store import PairStore
from translator.text_table import text_table


@dataclass(frozen=True)
class LengthReport:
    """Tokens of one source of one split, and its pairs that are over-long."""

    split: str
    """`train` or `validation`."""
    name: str
    """Of the source."""
    pairs: int
    """All pairs, the over-long ones counted."""
    over_long: int
    """Pairs left out because a side has more than `batching.max_length` tokens."""
    longest: int
    """Tokens of the longest side, special token counted."""
    source_tokens: int
    """Tokens of the pairs that are used, EOS counted."""
    target_tokens: int
    """Tokens of the pairs that are used, SOS or EOS counted once."""


def measure_lengths(split: str, store: PairStore, limit: int) -> Iterator[LengthReport]:
    """Yield the report of each source in `store`; pairs with a side of more than `limit` tokens are over-long."""
    for name, start, end in zip(store.names, store.starts[:-1], store.starts[1:], strict=True):
        source, target = store.source_lengths[start:end], store.target_lengths[start:end]
        longer = np.maximum(source, target)
        fits = longer <= limit
        yield LengthReport(
            split,
            name,
            pairs=len(fits),
            over_long=int((~fits).sum()),
            longest=int(longer.max(initial=0)),
            source_tokens=int(source[fits].sum()),
            target_tokens=int(target[fits].sum()),
        )


def format_lengths(reports: Sequence[LengthReport], limit: int) -> str:
    """Return the reports as a table for a person."""
    header = ("split", "source", "pairs", f"over {limit} tokens", "longest", "English tokens", "Persian tokens")
    rows = [
        (
            report.split,
            report.name,
            f"{report.pairs:,}",
            f"{report.over_long:,}",
            f"{report.longest:,}",
            f"{report.source_tokens:,}",
            f"{report.target_tokens:,}",
        )
        for report in reports
    ]
    return text_table(header, rows, text_columns=2)
