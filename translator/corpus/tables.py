"""Pairs from the rows of a table with tabs between its columns: English, Persian, and columns that are ignored."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Final

from translator.corpus.lines import Pair, Unreadable, blank_pairs

BAD_ROW: Final = "bad_row"  # the rule that drops a row, or a unit of a TMX, without the right form
_ROWS_FOR_WIDTH: Final = 1000


def pairs_of_table(lines: Iterable[str], label: str, note: Callable[[str], None]) -> Iterator[Pair]:
    """Yield the pairs of a table, without the blank rows at its end.

    The table has as many columns as most of its first 1,000 rows, at least two; all after the second are ignored. A row
    with another number of columns gives a pair with the defect `BAD_ROW`.

    Args:
        lines: the rows.
        label: name of the table in notes.
        note: is called with a message if columns are ignored.
    """
    rows = iter(lines)
    first_rows = list(islice(rows, _ROWS_FOR_WIDTH))
    tabs = _most_frequent_tabs(first_rows)
    if tabs > 1:
        ignored = "the third column" if tabs == 2 else f"columns 3 to {tabs + 1}"
        note(f"{label}: {ignored} of the table, after English and Persian, is not read")
    blank_rows = 0  # held back, because they may be the end
    for line, row in enumerate(chain(first_rows, rows), start=1):
        if not row or row.isspace():
            blank_rows += 1
            continue
        if blank_rows:
            yield from blank_pairs(line - blank_rows, line)
            blank_rows = 0
        columns = row.split("\t")
        if len(columns) == tabs + 1:
            yield Pair(line, columns[0], columns[1])
        elif isinstance(row, Unreadable):
            yield Pair(line, "", "", str(row))
        else:
            yield Pair(line, row, "", BAD_ROW)


def _most_frequent_tabs(rows: Iterable[str]) -> int:
    """Return the number of tabs that most `rows` have, at least one; of equally frequent numbers the smallest."""
    counts = Counter(row.count("\t") for row in rows if "\t" in row)
    if not counts:
        return 1
    return min(counts, key=lambda tabs: (-counts[tabs], tabs))
