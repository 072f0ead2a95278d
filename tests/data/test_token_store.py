"""Token stores: exactly what was written is read back, and damage is recognised."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.prepared_corpus import Side
from translator.data.token_store import PairStore, TokenStore, TokenWriter
from translator.errors import StorageError
from translator.subword.block_encoding import FlatRows

SENTENCES = st.lists(st.integers(0, 999), max_size=12)
SOURCES = st.lists(st.lists(st.tuples(SENTENCES, SENTENCES), max_size=8), min_size=1, max_size=4)
ROWS = [[5, 6, 7], [], [65_000, 4], [9]]


def write(folder: Path, side: Side = "en", rows: list[list[int]] = ROWS, vocabulary_size: int = 65_536) -> None:
    with TokenWriter(folder, side, vocabulary_size) as writer:
        for row in rows:
            writer.append(FlatRows.of([row]))


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(st.lists(st.integers(0, 999), max_size=12), max_size=40),
    vocabulary_size=st.sampled_from([1000, 2**16, 2**16 + 1]),
)
def test_every_sentence_is_read_back_as_written(rows: list[list[int]], vocabulary_size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = [*rows, [vocabulary_size - 1]]  # the largest id, which may not fit in 16 bits
        write(Path(folder), "en", rows, vocabulary_size)
        store = TokenStore(Path(folder), "en", len(rows))
        assert [store.flat(np.array([number])).ids.tolist() for number in range(len(rows))] == rows
        assert store.lengths(np.arange(len(rows))).tolist() == [len(row) for row in rows]


@pytest.mark.parametrize("kind", ["ids", "offsets"])
@pytest.mark.parametrize("damage", ["cut", "torn header", "missing", "empty"])
def test_a_damaged_file_is_recognised(tmp_path: Path, kind: str, damage: str) -> None:
    folder = tmp_path / "tokens-1" / "train"
    write(folder)
    file = folder / f"en.{kind}.npy"
    content = file.read_bytes()
    damaged_contents = {"cut": content[:-8], "torn header": content[:20], "empty": b""}
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(damaged_contents[damage])
    with pytest.raises(StorageError, match=r"^the token store .*en is damaged \(.+\); delete the folder .*tokens-1 "):
        TokenStore(folder, "en", len(ROWS))


def pair_store(folder: Path, sources: list[list[tuple[list[int], list[int]]]]) -> PairStore:
    pairs = [pair for source in sources for pair in source]
    write(folder, "en", [source for source, _ in pairs])
    write(folder, "fa", [target for _, target in pairs])
    return PairStore(folder, {f"source-{number}": len(source) for number, source in enumerate(sources)})


@settings(deadline=None, max_examples=50)
@given(sources=SOURCES, data=st.data())
def test_flat_ids_of_pairs_are_those_of_single_pairs_in_the_same_order(
    sources: list[list[tuple[list[int], list[int]]]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pairs = pair_store(Path(folder), sources)
        # Any pairs, in any order, also twice.
        numbers: list[int] = []
        if len(pairs):
            numbers = data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=20))

        flat_sides = pairs.flat(np.array(numbers, np.int64))
        for side, rows in enumerate(flat_sides):
            expected: list[list[int]] = [pairs[number][side].tolist() for number in numbers]
            assert rows.ids.tolist() == list(itertools.chain.from_iterable(expected))
            assert rows.lengths.tolist() == list(map(len, expected))
            assert rows.ids.dtype == np.int32
