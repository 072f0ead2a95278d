"""Sides that are swapped, blank or not there."""

import itertools
from collections.abc import Iterator

import pytest

from translator.corpus.sources.pairs import Pair
from translator.corpus.sources.sides import SideNames, check_sides
from translator.errors import CorpusError

NAMES = SideNames("corpus source `x`", "a.en", "a.fa", "swap them")
RIGHT, SWAPPED = ("The garden.", "باغ."), ("باغ.", "The garden.")
NOTHING, ONE_LANGUAGE = ("12", "۱۲"), ("abc", "abc")


def blocks_of(*texts: tuple[str, str], size: int = 7) -> Iterator[list[Pair]]:
    pairs = (Pair(line, *sides) for line, sides in enumerate(texts, start=1))
    while block := list(itertools.islice(pairs, size)):
        yield block


def complaint(*texts: tuple[str, str], size: int = 7) -> str:
    with pytest.raises(CorpusError) as caught:
        list(check_sides(blocks_of(*texts, size=size), NAMES))
    return str(caught.value)


@pytest.mark.parametrize("size", [1, 7, 5000])
@pytest.mark.parametrize(
    "texts",
    [
        [RIGHT],
        [RIGHT] * 3000,
        [ONE_LANGUAGE] * 20,
        [NOTHING] * 20,
        [*[SWAPPED] * 8, *[RIGHT] * 1],
        [*[RIGHT] * 1000, *[SWAPPED] * 5000],
        [*[("", "")] * 1500, RIGHT],
        [("", "الف"), ("b", "")],
    ],
)
def test_what_passes_is_left_as_it_is(texts: list[tuple[str, str]], size: int) -> None:
    blocks = list(blocks_of(*texts, size=size))
    assert list(check_sides(iter(blocks), NAMES)) == blocks


@pytest.mark.parametrize("size", [1, 7, 5000])
@pytest.mark.parametrize(
    ("texts", "counts"),
    [
        ([SWAPPED], "1 of the first 1 pairs"),
        ([*[SWAPPED] * 9, RIGHT], "9 of the first 10 pairs"),
        ([*[SWAPPED] * 999, *[RIGHT] * 5000], "999 of the first 1,000 pairs"),
        ([*[NOTHING] * 500, *[SWAPPED] * 700], "500 of the first 500 pairs"),
    ],
)
def test_swapped(texts: list[tuple[str, str]], counts: str, size: int) -> None:
    message = complaint(*texts, size=size)
    assert message.startswith(
        f"corpus source `x`: the two sides are swapped: {counts} with letters are Persian in a.en"
    )
    assert message.endswith("English in a.fa; swap them")


def test_pairs_with_a_defect_are_not_looked_at() -> None:
    wrong = [Pair(line, "", "", "invalid_utf8") for line in range(1, 1200)]
    with pytest.raises(CorpusError, match="are swapped: 1 of the first 1"):
        list(check_sides(iter([wrong, [Pair(1200, *SWAPPED)]]), NAMES))
    assert list(check_sides(iter([wrong]), NAMES)) == [wrong]


def test_few_pairs_are_held_back() -> None:
    taken = 0

    def blocks(pair: Pair) -> Iterator[list[Pair]]:
        nonlocal taken
        while True:
            taken += 1
            yield [pair] * 10

    next(check_sides(blocks(Pair(1, *RIGHT)), NAMES))
    assert taken == 100
    taken = 0
    next(check_sides(blocks(Pair(1, "x" * 100_000, "y")), NAMES))
    assert taken <= 5
    taken = 0
    next(check_sides(blocks(Pair(1, "", "", "invalid_utf8")), NAMES))
    assert taken <= 5000


@pytest.mark.parametrize("count", [1, 3000])
def test_blank_sides(count: int) -> None:
    assert (
        complaint(*[("x", " \u00a0")] * count) == "corpus source `x`: a.fa is blank on every line; get the corpus again"
    )
    assert "a.en is blank on every line" in complaint(*[("", "y")] * count)
    assert "both sides are blank on every line" in complaint(*[("", "\t")] * count)


def test_no_line() -> None:
    assert complaint() == "corpus source `x`: there is no line in it; check that it is the right file"
