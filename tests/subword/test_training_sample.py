"""The sample that models are trained on: bounded, without replacement, even, and the same everywhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from subword.sentences import make_corpus

from translator.corpus.prepare import PreparedCorpus
from translator.errors import StorageError
from translator.subword.training_sample import draw, draw_lines


class TwoSources:
    """A corpus of numbered lines: 600 in `a`, 400 in `b`."""

    counts = {"a": 600, "b": 400}  # noqa: RUF012

    def names(self, split: str) -> list[str]:
        return list(self.counts)

    def count(self, split: str, name: str) -> int:
        return self.counts[name]

    def lines(self, split: str, name: str, side: str) -> Iterator[str]:
        return (f"{name}{number} {side}" for number in range(self.counts[name]))


TWO = cast(PreparedCorpus, TwoSources())


@given(total=st.integers(0, 200), limit=st.integers(0, 250), seed=st.integers(0, 2**32 - 1))
def test_as_many_are_drawn_as_there_are_or_may_be(total: int, limit: int, seed: int) -> None:
    chosen = draw(total, limit, seed, "en")
    assert len(chosen) == total and chosen.sum() == min(total, limit)


def test_the_draw_is_the_same_on_each_machine() -> None:
    assert np.flatnonzero(draw(1000, 6, 1, "en")).tolist() == [61, 93, 323, 458, 622, 828]
    assert np.flatnonzero(draw(1000, 6, 1, "fa")).tolist() == [15, 285, 326, 617, 651, 656]


def test_each_line_is_drawn_as_often() -> None:
    counts = np.sum([draw(50, 10, seed, "en") for seed in range(2000)], axis=0)
    # 400 each, with a deviation of 18; the bounds are five of those away.
    assert counts.min() > 310 and counts.max() < 490


def test_lines_come_in_order_from_all_sources() -> None:
    lines = list(draw_lines(TWO, "train", "fa", 100, 1))
    assert len(set(lines)) == 100
    assert lines == sorted(lines, key=lambda line: (line[0], int(line.split()[0][1:])))
    assert 40 <= sum(line.startswith("a") for line in lines) <= 80
    assert lines == list(draw_lines(TWO, "train", "fa", 100, 1))
    assert lines != list(draw_lines(TWO, "train", "fa", 100, 2))


def test_a_limit_above_the_corpus_takes_all_of_it() -> None:
    everything = [line for name in "ab" for line in TWO.lines("train", name, "en")]
    assert list(draw_lines(TWO, "train", "en", 1000, 1)) == everything
    assert list(draw_lines(TWO, "train", "en", 0, 1)) == []


def test_damage_behind_the_last_line_drawn_is_found(tmp_path: Path) -> None:
    corpus: Any = make_corpus(tmp_path)
    path = corpus.directory / "train" / "pairs.en"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StorageError, match=r"pairs\.en is damaged"):
        list(draw_lines(corpus, "train", "en", 1, 1))
