"""From lines to pairs: two texts side by side, or the two columns of a table."""

import functools
import itertools
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from translator.corpus.sources.lines import Run
from translator.errors import CorpusError


class Pair(NamedTuple):
    """One line of a parallel corpus, as read."""

    line: int
    """1-based, in its file."""
    source: str
    """English."""
    target: str
    """Persian."""
    defect: str | None = None
    """The rule under which the pair is dropped, because one of its lines could not be read; its texts are empty."""


_new_pair = functools.partial(tuple.__new__, Pair)  # without the checks of `Pair`, in a third of the time


def _pairs(line: int, english: Iterable[str], persian: Iterable[str]) -> list[Pair]:
    return list(map(_new_pair, zip(itertools.count(line), english, persian, itertools.repeat(None), strict=False)))


def pairs_of_sides(english: Iterator[Run], persian: Iterator[Run]) -> Generator[list[Pair], None, bool]:
    """Yield the pairs of two texts, many at a time; return whether both end with the same line."""
    line = 1
    left, right = Run([], {}), Run([], {})
    while True:
        while not left.texts and (run := next(english, None)):
            left = run
        while not right.texts and (run := next(persian, None)):
            right = run
        count = min(len(left.texts), len(right.texts))
        if not count:
            return len(left.texts) == len(right.texts)
        pairs = _pairs(line, left.texts[:count], right.texts[:count])
        if left.defects or right.defects:
            for place, defect in ({**right.defects, **left.defects}).items():
                if place < count:
                    pairs[place] = Pair(line + place, "", "", defect)
        yield pairs
        line += count
        left, right = _rest(left, count), _rest(right, count)


def _rest(run: Run, count: int) -> Run:
    return Run(run.texts[count:], {place - count: defect for place, defect in run.defects.items() if place >= count})


def pairs_of_table(runs: Iterator[Run], file: Path) -> Iterator[list[Pair]]:
    """Yield the pairs of a table of two columns, many at a time.

    Raises:
        CorpusError: a line has not exactly two columns; the pairs before it have been yielded.
    """
    line = 1
    for run in runs:
        rows = [text.split("\t") for text in run.texts]
        if run.defects or any(len(row) != 2 for row in rows):
            yield from _odd_rows(rows, run.defects, line, file)
        else:
            yield _pairs(line, *zip(*rows, strict=True)) if rows else []
        line += len(rows)


def _odd_rows(rows: list[list[str]], defects: dict[int, str], first: int, file: Path) -> Iterator[list[Pair]]:
    pairs: list[Pair] = []
    for place, columns in enumerate(rows):
        line = first + place
        if place in defects:
            pairs.append(Pair(line, "", "", defects[place]))
        elif len(columns) == 2:
            pairs.append(Pair(line, *columns))
        else:
            yield pairs
            count = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
            raise CorpusError(
                f"{file}, line {line}: {count} where two are expected (English, one tab, Persian); mend the line, "
                "or give two files as `source_path` and `target_path`"
            )
    yield pairs
