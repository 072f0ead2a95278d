"""Where two sides come apart."""

import random
import statistics
from pathlib import Path

import pytest

from translator.config import SourceConfig
from translator.corpus.sources import read_pairs
from translator.corpus.sources.alignment import first_shifted_line, traits_of
from translator.corpus.sources.lines import Run

DATA = Path("../shared/data")


def guess(shorter: list[str], longer: list[str]) -> int:
    return first_shifted_line(traits_of([Run(shorter, {})]), traits_of([Run(longer, {})]))


def test_traits() -> None:
    traits = traits_of([Run(["ab?", "In 1984, 3!"], {}), Run(["", "۳ در ۱۹۸۴؟!"], {})])
    assert list(traits.lengths) == [3, 11, 0, 11]
    assert traits.numbers[1] == traits.numbers[3] != 0
    assert traits.numbers[0] == traits.numbers[2] == 0
    assert list(traits.marks) == [1, 2, 0, 3]


def words(seed: int, count: int) -> list[int]:
    chooser = random.Random(seed)
    return [chooser.randint(1, 60) for _ in range(count)]


@pytest.mark.parametrize("surplus", [1, 3, 16, 17, 500])
@pytest.mark.parametrize("place", [0, 1, 250, 499, 500])
def test_lines_that_are_missing_together(surplus: int, place: int) -> None:
    lengths = words(surplus, 500 + surplus)
    longer = ["x" * (2 * length) for length in lengths]
    shorter = ["y" * (3 * length) for length in lengths[:place] + lengths[place + surplus :]]
    assert abs(guess(shorter, longer) - place) <= 3


def test_lines_that_are_missing_here_and_there() -> None:
    lengths = words(1, 600)
    missing = {100, 300, 301, 550}
    shorter = ["y" * length for line, length in enumerate(lengths) if line not in missing]
    assert abs(guess(shorter, ["x" * length for length in lengths]) - 100) <= 1


def test_numbers_and_marks_tell_what_lengths_do_not() -> None:
    longer = [f"line {number:03}" for number in range(200)]
    shorter = [f"سطر {number:03}" for number in range(200) if number != 77]
    assert guess(shorter, longer) == 77
    marks = "".join(random.Random(2).choices(".?!", k=200))
    shorter = [f"سطر{mark}".replace("?", "؟") for mark in marks[:120] + marks[121:]]
    assert abs(guess(shorter, [f"line{mark}" for mark in marks]) - 120) <= 2


@pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not in ../shared/data")
@pytest.mark.parametrize(("name", "missing"), [("mizan.zip", 1), ("tatoeba.zip", 3), ("docs.tsv.gz", 1)])
def test_real_corpora(name: str, missing: int) -> None:
    pairs = list(read_pairs(SourceConfig(name="real", path=str(DATA / name), max_pairs=5000)))
    distances = []
    for seed in range(10):
        lines = random.Random(seed).sample(range(len(pairs)), missing)
        shorter = [pair.target for pair in pairs if pair.line - 1 not in lines]
        distances.append(abs(guess(shorter, [pair.source for pair in pairs]) - min(lines)))
    assert statistics.median(distances) <= 3
