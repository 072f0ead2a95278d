"""Which pairs of one source are held out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import SourceConfig, SplitConfig
from translator.corpus.duplicates import Keys, mix
from translator.corpus.split import TEST, TRAIN, VALIDATION, assign_splits
from translator.errors import CorpusError

SOURCE = SourceConfig(name="mizan", path="mizan.zip")


def keys(count: int) -> Keys:
    return mix(np.arange(count, dtype=np.uint64), 99)


def test_block_takes_the_end_in_order() -> None:
    codes = assign_splits(SOURCE, SplitConfig(validation=2, test=3), keys(10))
    assert codes.tolist() == [TRAIN] * 5 + [VALIDATION] * 2 + [TEST] * 3


@settings(deadline=None)
@given(
    st.sampled_from(["block", "hash"]),
    st.one_of(st.none(), st.integers(1, 20)),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(60, 100),
    st.integers(0, 2**63),
)
def test_every_method_holds_out_as_many_as_asked(
    method: str, block_size: int | None, validation: int, test: int, count: int, seed: int
) -> None:
    config = SplitConfig.model_validate(
        {"method": method, "block_size": block_size, "validation": validation, "test": test, "seed": seed}
    )
    codes = assign_splits(SOURCE, config, keys(count))
    assert np.bincount(codes, minlength=3).tolist() == [count - validation - test, validation, test]


def test_seeded_blocks_are_whole_and_depend_on_the_seed() -> None:
    splits = []
    for seed in range(4):
        codes = assign_splits(SOURCE, SplitConfig(validation=20, test=20, block_size=10, seed=seed), keys(200))
        assert all(len(set(block.tolist())) == 1 for block in codes.reshape(20, 10))
        splits.append(tuple(codes.tolist()))
    assert len(set(splits)) == 4


def test_hash_split_does_not_hang_on_the_order_of_lines() -> None:
    config = SplitConfig(method="hash", validation=10, test=10)
    order = np.random.default_rng(1).permutation(100)
    codes = assign_splits(SOURCE, config, keys(100))
    assert assign_splits(SOURCE, config, keys(100)[order]).tolist() == codes[order].tolist()


def test_hash_split_is_little_changed_by_more_text() -> None:
    config = SplitConfig(method="hash", validation=0, test=50)
    before = set(np.flatnonzero(assign_splits(SOURCE, config, keys(1000)) == TEST).tolist())
    after = set(np.flatnonzero(assign_splits(SOURCE, config, keys(1100)) == TEST).tolist())
    assert len(before & after) >= 40


def test_hash_split_depends_on_the_seed() -> None:
    splits = {
        tuple(assign_splits(SOURCE, SplitConfig(method="hash", validation=5, test=5, seed=seed), keys(100)).tolist())
        for seed in range(4)
    }
    assert len(splits) == 4


@pytest.mark.parametrize(("use", "code"), [("train", TRAIN), ("validation", VALIDATION), ("test", TEST)])
def test_named_source_goes_whole(use: str, code: int) -> None:
    source = SourceConfig.model_validate({"name": "mizan", "path": "mizan.zip", "use": use})
    assert assign_splits(source, SplitConfig(), keys(5)).tolist() == [code] * 5


def test_holding_out_more_than_there_is() -> None:
    with pytest.raises(CorpusError) as caught:
        assign_splits(SOURCE, SplitConfig(validation=6, test=5), keys(10))
    message = str(caught.value)
    assert "`mizan` has 10 pairs after cleaning" in message
    assert "6 for validation and 5 for testing" in message
    assert "lower corpus.split.validation" in message
    assert "`use: train`" in message
