"""Lines side by side, however many of them come at a time."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.corpus.sources.lines import Run
from translator.corpus.sources.pairs import Pair, pairs_of_sides, pairs_of_table
from translator.errors import CorpusError

SIZES = st.lists(st.integers(0, 5), max_size=8)


def runs_of(name: str, count: int, sizes: list[int], wrong: set[int]) -> Iterator[Run]:
    """Yield lines 1 to `count` in runs of the given sizes; those in `wrong` are defects."""
    line = 1
    for size in [*sizes, count]:
        numbers = range(line, min(line + size, count + 1))
        texts = ["" if number in wrong else f"{name}{number}" for number in numbers]
        yield Run(texts, {place: name for place, number in enumerate(numbers) if number in wrong})
        line += size


@given(SIZES, SIZES, st.integers(0, 9), st.integers(0, 9), st.sets(st.integers(1, 9)), st.sets(st.integers(1, 9)))
def test_sides(
    left: list[int], right: list[int], english: int, persian: int, wrong_english: set[int], wrong_persian: set[int]
) -> None:
    blocks = pairs_of_sides(runs_of("e", english, left, wrong_english), runs_of("p", persian, right, wrong_persian))
    pairs: list[Pair] = []
    equal: bool | None = None
    while equal is None:
        try:
            pairs += next(blocks)
        except StopIteration as stop:
            equal = stop.value
    assert equal is (english == persian)
    assert pairs == [
        Pair(line, "", "", "e" if line in wrong_english else "p")
        if line in wrong_english | wrong_persian
        else Pair(line, f"e{line}", f"p{line}")
        for line in range(1, min(english, persian) + 1)
    ]
    assert all(type(pair) is Pair for pair in pairs)


def test_table() -> None:
    runs = [Run(["a\tb", "\t"], {}), Run([], {}), Run(["", "c\td"], {0: "invalid_utf8"}), Run(["e\tf"], {})]
    pairs = [pair for block in pairs_of_table(iter(runs), Path("text.tsv")) for pair in block]
    assert pairs == [
        Pair(1, "a", "b"), Pair(2, "", ""), Pair(3, "", "", "invalid_utf8"), Pair(4, "c", "d"), Pair(5, "e", "f")
    ]  # fmt: skip


@pytest.mark.parametrize(("line", "count"), [("no tab", "1 column "), ("a\tb\tc", "3 columns "), ("", "1 column ")])
def test_table_with_wrong_columns(line: str, count: str) -> None:
    blocks = pairs_of_table(iter([Run(["a\tb"], {}), Run(["c\td", line], {})]), Path("text.tsv"))
    assert next(blocks) == [Pair(1, "a", "b")]
    assert next(blocks) == [Pair(2, "c", "d")]
    with pytest.raises(CorpusError, match=f"text.tsv, line 3: {count}.*source_path"):
        next(blocks)
