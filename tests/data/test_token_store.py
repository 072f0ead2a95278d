"""Token stores: what is written is read, nothing else, and damage is recognised."""

import json
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.data.pair_store import PairStore, SampledPairs
from translator.data.token_store import DamagedStoreError, TokenStore

ROWS = [[5, 6, 7], [], [65_000, 4], [9]]


def write(prefix: Path, rows: list[list[int]] | None = None, vocabulary_size: int = 65_536) -> TokenStore:
    """Write a store and open it."""
    TokenStore.write(prefix, ROWS if rows is None else rows, vocabulary_size)
    return TokenStore.open(prefix)


@settings(deadline=None, max_examples=50)
@given(
    rows=st.lists(st.lists(st.integers(0, 999), max_size=12), max_size=40),
    vocabulary_size=st.sampled_from([1000, 2**16, 2**16 + 1]),
)
def test_every_sentence_comes_back(rows: list[list[int]], vocabulary_size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = write(Path(folder) / "train" / "a.b.en", rows, vocabulary_size)
        assert [store[number].tolist() for number in range(len(store))] == rows
        assert store.lengths.tolist() == [len(row) for row in rows]


def test_ids_are_as_narrow_as_the_vocabulary_allows(tmp_path: Path) -> None:
    narrow = write(tmp_path / "train" / "narrow", [[65_535]], 65_536)
    wide = write(tmp_path / "train" / "wide", [[65_536]], 65_537)
    assert (tmp_path / "train" / "narrow.ids").stat().st_size == 2
    assert (tmp_path / "train" / "wide.ids").stat().st_size == 4
    assert narrow[0].tolist() == [65_535] and wide[0].tolist() == [65_536]
    assert narrow[0].dtype == wide[0].dtype == np.int32


def test_more_rows_than_a_chunk_holds_are_streamed(tmp_path: Path) -> None:
    def rows() -> Iterator[list[int]]:
        for number in range(40_000):
            yield [number % 1000] * (number % 3)

    assert TokenStore.write(tmp_path / "train" / "long", rows(), 1000) == 40_000
    store = TokenStore.open(tmp_path / "train" / "long")
    assert len(store) == 40_000
    assert store[16_384].tolist() == [384] * (16_384 % 3) and store[39_998].tolist() == [998] * (39_998 % 3)


def test_ids_stay_on_the_disk(tmp_path: Path) -> None:
    store = write(tmp_path / "train" / "a")
    assert isinstance(store._ids, np.memmap) and isinstance(store._offsets, np.memmap)


def test_a_number_outside_the_store_is_an_index_error(tmp_path: Path) -> None:
    store = write(tmp_path / "train" / "a")
    for number in (-1, 4):
        with pytest.raises(IndexError, match=f"sentence {number} of 4"):
            store[number]


@pytest.mark.parametrize("kind", ["ids", "offsets", "json"])
@pytest.mark.parametrize("damage", ["cut", "longer", "missing", "empty", "one bit"])
def test_a_damaged_file_is_recognised(tmp_path: Path, kind: str, damage: str) -> None:
    write(tmp_path / "tokens-1" / "train" / "a.en")
    file = tmp_path / "tokens-1" / "train" / f"a.en.{kind}"
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        flipped = bytes([content[0] ^ 1]) + content[1:]
        damaged = {"cut": content[:-8], "longer": content + b"\0" * 8, "empty": b"", "one bit": flipped}
        file.write_bytes(damaged[damage])
    with pytest.raises(DamagedStoreError, match=r"^the token store .*a\.en is damaged \(.+\)$"):
        TokenStore.open(tmp_path / "tokens-1" / "train" / "a.en")


def test_offsets_that_do_not_fit_are_recognised(tmp_path: Path) -> None:
    write(tmp_path / "tokens-1" / "train" / "a.en")
    offsets = np.array([0, 9, 3, 5, 6], "<i8")
    offsets.tofile(tmp_path / "tokens-1" / "train" / "a.en.offsets")
    record = tmp_path / "tokens-1" / "train" / "a.en.json"
    values = json.loads(record.read_text("utf-8"))
    values["crc32"]["offsets"] = zlib.crc32(offsets.tobytes())
    record.write_text(json.dumps(values), "utf-8")
    with pytest.raises(DamagedStoreError, match="the offsets do not fit the ids"):
        TokenStore.open(tmp_path / "tokens-1" / "train" / "a.en")


def test_pairs_of_several_sources_stand_in_one_row(tmp_path: Path) -> None:
    folder = tmp_path / "tokens-1" / "train"
    write(folder / "a.en", [[1], [2, 2]])
    write(folder / "a.fa", [[10], [20]])
    write(folder / "none.en", [])
    write(folder / "none.fa", [])
    write(folder / "b.en", [[3]])
    write(folder / "b.fa", [[30, 30]])
    pairs = PairStore.open(folder, ["a", "none", "b"])
    assert len(pairs) == 3
    assert [[side.tolist() for side in pairs[number]] for number in range(3)] == [
        [[1], [10]],
        [[2, 2], [20]],
        [[3], [30, 30]],
    ]
    assert [pairs.part(number) for number in range(3)] == [0, 0, 2]
    assert pairs.source_lengths.tolist() == [2, 3, 2] and pairs.target_lengths.tolist() == [2, 2, 3]
    with pytest.raises(IndexError, match="pair 3 of 3"):
        pairs[3]


def test_no_source_at_all_is_an_empty_row(tmp_path: Path) -> None:
    pairs = PairStore.open(tmp_path, [])
    assert len(pairs) == 0 and len(pairs.source_lengths) == 0


def test_sides_of_different_length_are_recognised(tmp_path: Path) -> None:
    folder = tmp_path / "tokens-1" / "train"
    write(folder / "a.en", [[1], [2]])
    write(folder / "a.fa", [[1]])
    with pytest.raises(DamagedStoreError, match=r"2 English and 1 Persian sentences"):
        PairStore.open(folder, ["a"])


def test_a_pair_that_sampling_made_over_long_keeps_its_plain_ids(tmp_path: Path) -> None:
    for folder, rows in (
        ("plain", [[[1], [2], [3, 3]], [[4], [5], [6]]]),
        ("sampled", [[[7], [8, 8, 8], [9]], [[10]] * 3]),
    ):
        for side, ids in zip(("en", "fa"), rows, strict=True):
            write(tmp_path / folder / f"a.{side}", ids)
    plain, sampled = (PairStore.open(tmp_path / folder, ["a"]) for folder in ("plain", "sampled"))
    pairs = SampledPairs(plain, sampled, limit=3)
    assert [[side.tolist() for side in pairs[number]] for number in range(3)] == [[[7], [10]], [[2], [5]], [[9], [10]]]
    assert pairs.source_lengths.tolist() == [2, 2, 2] and pairs.target_lengths.tolist() == [2, 2, 2]
