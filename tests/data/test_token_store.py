"""Token stores: exactly what was written is read back, and damage is recognised."""

import itertools
import tempfile
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.data.token_store import PairStore, TokenWriter
from translator.errors import StorageError
from translator.subword.block_encoding import FlatRows

Pairs = list[tuple[list[int], list[int]]]
SENTENCES = st.lists(st.integers(0, 999), max_size=12)


def written(folder: Path, sources: list[Pairs], vocabulary_size: int = 65_536) -> dict[str, int]:
    """Write all pairs of some sources to `folder`, and return the number of pairs of each."""
    for side, name in enumerate(("en", "fa")):
        with TokenWriter(folder, name, vocabulary_size) as writer:  # type: ignore[arg-type]
            for pair in itertools.chain.from_iterable(sources):
                writer.append(FlatRows.of([pair[side]]))
    return {f"source-{number}": len(source) for number, source in enumerate(sources)}


@settings(max_examples=50)
@given(
    sources=st.lists(st.lists(st.tuples(SENTENCES, SENTENCES), max_size=8), min_size=1, max_size=4),
    vocabulary_size=st.sampled_from([1000, 2**16, 2**16 + 1]),
    data=st.data(),
)
def test_pairs_in_any_order_are_read_back_as_written(
    sources: list[Pairs], vocabulary_size: int, data: st.DataObject
) -> None:
    sources.append([([vocabulary_size - 1], [])])  # the largest id, which may not fit in 16 bits
    pairs = list(itertools.chain.from_iterable(sources))
    numbers = np.array([*data.draw(st.lists(st.integers(0, len(pairs) - 1), max_size=20)), len(pairs) - 1])
    with tempfile.TemporaryDirectory() as folder:
        store = PairStore(Path(folder), written(Path(folder), sources, vocabulary_size))
        for side, (rows, lengths) in enumerate(zip(store.flat(numbers), store.lengths(numbers), strict=True)):
            expected = [pairs[number][side] for number in numbers]
            assert rows.ids.tolist() == list(itertools.chain.from_iterable(expected))
            assert rows.ids.dtype == np.int32
            assert rows.lengths.tolist() == (lengths - 1).tolist() == list(map(len, expected))
        assert [len(numbers) for numbers in store.usable_by_source(100)] == list(map(len, sources))


def test_a_store_that_is_pickled_keeps_its_direction(tmp_path: Path) -> None:
    store = PairStore(tmp_path, written(tmp_path, [[([5], [6])]]), ("fa", "en"))
    source, target = ForkingPickler.loads(ForkingPickler.dumps(store)).flat(np.array([0]))
    assert (source.ids.tolist(), target.ids.tolist()) == ([6], [5])


@pytest.mark.parametrize("kind", ["ids", "offsets"])
@pytest.mark.parametrize("damage", ["cut", "torn header", "missing", "empty"])
def test_a_damaged_file_is_recognised(tmp_path: Path, kind: str, damage: str) -> None:
    folder = tmp_path / "tokens-1" / "train"
    counts = written(folder, [[([5, 6, 7], [9]), ([], [65_000, 4])]])
    file = folder / f"en.{kind}.npy"
    content = file.read_bytes()
    damaged_contents = {"cut": content[:-8], "torn header": content[:20], "empty": b""}
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(damaged_contents[damage])
    with pytest.raises(StorageError, match=r"^the token store .*en is damaged \(.+\); delete the folder .*tokens-1 "):
        PairStore(folder, counts)
