"""Token stores: exactly what was written is read back, and damage is recognised."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.data.token_store import DamagedStoreError, PairStore, TokenStore

SENTENCES = st.lists(st.integers(0, 999), max_size=12)
SOURCES = st.lists(st.lists(st.tuples(SENTENCES, SENTENCES), max_size=8), min_size=1, max_size=4)
ROWS = [[5, 6, 7], [], [65_000, 4], [9]]


def write(prefix: Path, rows: list[list[int]] | None = None, vocabulary_size: int = 65_536) -> TokenStore:
    TokenStore.write(prefix, ROWS if rows is None else rows, vocabulary_size)
    return TokenStore.open(prefix)


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(st.lists(st.integers(0, 999), max_size=12), max_size=40),
    vocabulary_size=st.sampled_from([1000, 2**16, 2**16 + 1]),
)
def test_every_sentence_is_read_back_as_written(rows: list[list[int]], vocabulary_size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = [*rows, [vocabulary_size - 1]]  # the largest id, which may not fit in 16 bits
        store = write(Path(folder) / "train" / "a.b.en", rows, vocabulary_size)
        assert [store[number].tolist() for number in range(len(store))] == rows
        assert store.lengths(np.arange(len(rows))).tolist() == [len(row) for row in rows]


@pytest.mark.parametrize("kind", ["ids", "offsets", "json"])
@pytest.mark.parametrize("damage", ["cut", "longer", "missing", "empty", "one bit"])
def test_a_damaged_file_is_recognised(tmp_path: Path, kind: str, damage: str) -> None:
    write(tmp_path / "tokens-1" / "train" / "a.en")
    file = tmp_path / "tokens-1" / "train" / f"a.en.{kind}"
    content = file.read_bytes()
    damaged_contents = {
        "cut": content[:-8],
        "longer": content + b"\0" * 8,
        "empty": b"",
        "one bit": bytes([content[0] ^ 1]) + content[1:],
    }
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(damaged_contents[damage])
    with pytest.raises(DamagedStoreError, match=r"^the token store .*a\.en is damaged \(.+\)$"):
        TokenStore.open(tmp_path / "tokens-1" / "train" / "a.en")


def test_sides_with_different_sentence_counts_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "tokens-1" / "train"
    write(folder / "a.en", [[1], [2]])
    write(folder / "a.fa", [[1]])
    with pytest.raises(DamagedStoreError, match=r"2 sentences on one side and 1 on the other"):
        PairStore.open(folder, ["a"])


def pair_store(folder: Path, sources: list[list[tuple[list[int], list[int]]]]) -> PairStore:
    names = [f"source-{number}" for number in range(len(sources))]
    for name, pairs in zip(names, sources, strict=True):
        write(folder / f"{name}.en", [source for source, _ in pairs])
        write(folder / f"{name}.fa", [target for _, target in pairs])
    return PairStore.open(folder, names)


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
        for side, flat_ids in enumerate(flat_sides):
            expected: list[int] = []
            for number in numbers:
                expected += pairs[number][side].tolist()
            assert flat_ids.tolist() == expected
            assert flat_ids.dtype == np.int32


@pytest.mark.parametrize("number", [-1, 3])
def test_flat_ids_of_a_missing_pair_are_refused(tmp_path: Path, number: int) -> None:
    pairs = pair_store(tmp_path, [[([1], [2]), ([3], [4])], [([5], [6])]])
    with pytest.raises(IndexError):
        pairs.flat(np.array([0, number]))
