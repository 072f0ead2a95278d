"""Token stores: exactly what was written is read back, and damage is recognised."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.data.token_store import DamagedStoreError, PairStore, TokenStore

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
        assert store.lengths.tolist() == [len(row) for row in rows]


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


def test_sides_with_different_sentence_counts_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "tokens-1" / "train"
    write(folder / "a.en", [[1], [2]])
    write(folder / "a.fa", [[1]])
    with pytest.raises(DamagedStoreError, match=r"2 sentences on one side and 1 on the other"):
        PairStore.open(folder, ["a"])
