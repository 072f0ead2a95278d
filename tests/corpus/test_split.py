"""Which pairs of a source are held out, and the fate of every pair, against a plain statement of the rules."""

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from translator.config import CorpusConfig, FilterConfig, SourceConfig, SplitConfig
from translator.corpus.selecting.duplicates import Hashes, mix
from translator.corpus.selecting.near_duplicates import NearDuplicateIndex, signatures
from translator.corpus.selecting.selection import select_pairs
from translator.corpus.selecting.split import SPLITS, assign_splits, rule_of
from translator.errors import CorpusError

Pairs = list[tuple[int, int]]
SOURCE = SourceConfig(name="mizan", path="mizan.zip")
LONG = "the quick brown fox jumps over the lazy dog while nobody at all is looking at them"
OTHER = "in a hole in the ground there lived a hobbit, not a nasty, dirty, wet hole filled with worms"


def keys(count: int) -> Hashes:
    return mix(np.arange(count, dtype=np.uint64), 99)


@settings(deadline=None)
@given(st.sampled_from(["block", "hash"]), st.none() | st.integers(1, 20), st.integers(0, 30), st.integers(0, 30))
def test_every_method_holds_out_as_many_as_asked(
    method: str, block_size: int | None, validation: int, test: int
) -> None:
    values = {"method": method, "block_size": block_size, "validation": validation, "test": test}
    codes = assign_splits(SOURCE, SplitConfig.model_validate(values), keys(80))
    assert np.bincount(codes, minlength=3).tolist() == [80 - validation - test, validation, test]


@pytest.mark.parametrize(("count", "held_out"), [(9, 0), (10, 1), (99, 1), (100, 2), (50_000, 1000), (60_000, 1000)])
def test_auto_holds_out_a_share_of_the_pairs_up_to_a_maximum(count: int, held_out: int) -> None:
    codes = assign_splits(SOURCE, SplitConfig(), keys(count))
    assert np.bincount(codes, minlength=3).tolist() == [count - 2 * held_out, held_out, held_out]


def test_drawn_blocks_are_whole_and_others_for_each_source() -> None:
    splits = set()
    for name in ("mizan", "tatoeba", "opus"):
        split = SplitConfig(validation=20, test=20, block_size=10)
        codes = assign_splits(SourceConfig(name=name, path="x.zip"), split, keys(200))
        assert all(len(set(block.tolist())) == 1 for block in codes.reshape(20, 10))
        splits.add(tuple(codes.tolist()))
    assert len(splits) == 3


def test_hash_split_does_not_depend_on_the_order_of_lines() -> None:
    split = SplitConfig(method="hash", validation=10, test=10)
    order = np.random.default_rng(1).permutation(100)
    assert (
        assign_splits(SOURCE, split, keys(100)[order]).tolist()
        == assign_splits(SOURCE, split, keys(100))[order].tolist()
    )


def test_holding_out_more_pairs_than_a_source_has_is_refused() -> None:
    message = r"`mizan` has 10 pairs after .* 6 for validation and 5 for testing; lower corpus.split.* `use: train`"
    with pytest.raises(CorpusError, match=message):
        assign_splits(SOURCE, SplitConfig(validation=6, test=5), keys(10))


# --- the fate of every pair ---


def selected(
    uses: Sequence[str],
    pairs: Sequence[Pairs],
    test_set: Pairs | None = None,
    texts: Sequence[Sequence[str]] = (),
    near_duplicates: float | None = 0.9,
    **split: object,
) -> list[list[str]]:
    """Return the split of each pair of each source, or the rule that drops it.

    Args:
        uses: of the sources.
        pairs: numbers of the sides of the pairs of each source; equal numbers are equal texts.
        test_set: an extra test set.
        texts: what near-duplicates are looked for in; without them, no two pairs are near-duplicates.
        near_duplicates: the threshold.
        split: settings other than one pair for validation and one for testing.
    """
    config = CorpusConfig(
        sources=tuple(
            SourceConfig.model_validate({"name": f"s{number}", "path": "x", "use": use})
            for number, use in enumerate(uses)
        ),
        filters=FilterConfig(near_duplicates=near_duplicates),
        split=SplitConfig.model_validate({"validation": 1, "test": 1, **split}),
    )
    pair_lists = [*pairs, *([] if test_set is None else [test_set])]
    whole = list(itertools.chain(*(texts or ([""] * len(pair_list) for pair_list in pair_lists))))
    keys = [np.array(pair_list, dtype=np.uint64).reshape(-1, 2) for pair_list in pair_lists]
    with tempfile.TemporaryDirectory() as folder, NearDuplicateIndex(Path(folder)) as index:
        index.add(whole, signatures(whole))
        fates = select_pairs(config, keys, index.find)[: len(pairs)]
    return [[SPLITS[fate] if fate >= 0 else rule_of(fate) for fate in source.tolist()] for source in fates]


def test_duplicates_are_dropped_before_the_last_pairs_are_held_out() -> None:
    pairs: list[Pairs] = [[(1, 1), (1, 1), (2, 2), (3, 3), (3, 3)], [(1, 1), (4, 4), (4, 5), (5, 4)]]
    assert selected(["auto", "train"], pairs) == [
        ["train", "duplicate", "validation", "test", "duplicate"],
        ["duplicate", "train", "train", "train"],
    ]


def test_near_duplicates_of_an_earlier_pair_are_dropped_unless_the_filter_is_off() -> None:
    texts = [[LONG, OTHER], [LONG + "!", "short", LONG + "?"]]
    pairs: list[Pairs] = [[(1, 1), (2, 2)], [(3, 3), (4, 4), (5, 5)]]
    expected = ["near_duplicate", "train", "near_duplicate"]
    assert selected(["train", "train"], pairs, texts=texts) == [["train", "train"], expected]
    assert selected(["train", "train"], pairs, texts=texts, near_duplicates=None)[1] == ["train"] * 3


def test_near_duplicates_of_a_test_set_are_kept_out_of_training() -> None:
    """This holds for a `use: test` source and for an extra test set; no pair of either is dropped itself."""
    texts = [[LONG, OTHER, LONG[:20]], [LONG + "!", LONG + "?"], [OTHER + "!"]]
    pairs: list[Pairs] = [[(1, 1), (2, 2), (3, 3)], [(4, 4), (5, 5)]]
    fates = selected(["train", "test"], pairs, [(6, 6)], texts)
    assert fates == [["near_held_out", "near_held_out", "train"], ["test", "test"]]


def test_near_duplicates_are_found_even_if_both_resemble_a_test_set() -> None:
    """A pair near the test set may be in a test split, so training must not use near-duplicates of that pair."""
    first = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    texts = [[first + " apples"], [first + " apple"], [first + " apples!"]]
    fates = selected(["train", "train"], [[(1, 1)], [(2, 2)]], [(3, 3)], texts)
    assert fates == [["near_held_out"], ["near_duplicate"]]


def test_pairs_with_a_side_that_ten_pairs_have_are_dropped() -> None:
    english: Pairs = [(1, number) for number in range(100, 112)]
    persian: Pairs = [(number, 1) for number in range(200, 212)]
    (fates,) = selected(["train"], [english + persian + [(1, 300), (2, 300)]])
    expected = ["train"] * 10 + ["same_source"] * 2 + ["train"] * 10 + ["same_target"] * 2 + ["same_source", "train"]
    assert fates == expected


def test_pairs_that_share_a_side_with_held_out_ones_are_dropped() -> None:
    pairs: list[Pairs] = [[(1, 1), (2, 2), (3, 3)], [(2, 9), (9, 3), (3, 2), (8, 8)]]
    leaking = ["source_held_out", "target_held_out", "source_held_out", "train"]
    assert selected(["auto", "train"], pairs) == [["train", "validation", "test"], leaking]
    # A dropped validation pair frees its other side.
    assert selected(["auto"], [[(2, 1), (2, 7), (3, 7)]]) == [["train", "target_held_out", "test"]]
    # An extra test set forbids its sides too.
    fates = selected(["auto"], [[(number, number) for number in range(1, 6)]], [(1, 0), (0, 4), (5, 5)])
    assert fates == [["source_held_out", "train", "train", "target_held_out", "test"]]


PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=4, max_size=25)
SOURCES = st.lists(st.tuples(st.sampled_from(["auto", "train", "validation", "test"]), PAIRS), min_size=1, max_size=4)


@settings(deadline=None)
@given(
    SOURCES, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=3), st.sampled_from(["block", "hash"])
)
def test_no_side_stands_in_two_splits_and_no_training_pair_twice(
    sources: list[tuple[str, Pairs]], test_set: Pairs, method: str
) -> None:
    try:
        fates = selected([use for use, _ in sources], [pairs for _, pairs in sources], test_set, method=method)
    except CorpusError:  # duplicates have left a source with fewer pairs than are held out
        reject()
    sides: dict[str, set[tuple[int, int]]] = {split: set() for split in (*SPLITS, "extra")}
    cleaned: Pairs = []
    for (use, pairs), source_fates in zip(sources, fates, strict=True):
        for pair, fate in zip(pairs, source_fates, strict=True):
            if fate in SPLITS:
                sides[fate].update(enumerate(pair))
                cleaned += [pair] if use in ("auto", "train") else []
    for pair in test_set:
        sides["extra"].update(enumerate(pair))
    for seen, hidden in itertools.combinations((*SPLITS, "extra"), 2):
        assert (seen, hidden) == ("test", "extra") or not sides[seen] & sides[hidden]
    assert len(cleaned) == len(set(cleaned))
