"""Which pairs of a source are held out, and the fate of every pair, against a plain statement of the rules."""

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from translator.config import CorpusConfig, FilterConfig, SourceConfig, SplitConfig
from translator.corpus.selecting.duplicates import Hashes, Keys, mix
from translator.corpus.selecting.near_duplicates import NearDuplicateIndex, signatures
from translator.corpus.selecting.split import (
    SELECTION_RULES,
    SPLITS,
    Fates,
    assign_splits,
    count_fates,
    held_out_size,
    select_pairs,
)
from translator.errors import CorpusError

SOURCE = SourceConfig(name="mizan", path="mizan.zip")


def keys(count: int) -> Hashes:
    return mix(np.arange(count, dtype=np.uint64), 99)


@settings(deadline=None)
@given(
    st.sampled_from(["block", "hash"]),
    st.one_of(st.none(), st.integers(1, 20)),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(60, 100),
)
def test_every_method_holds_out_as_many_as_asked(
    method: str, block_size: int | None, validation: int, test: int, count: int
) -> None:
    config = SplitConfig.model_validate(
        {"method": method, "block_size": block_size, "validation": validation, "test": test}
    )
    codes = assign_splits(SOURCE, config, keys(count))
    assert np.bincount(codes, minlength=3).tolist() == [count - validation - test, validation, test]


def test_drawn_blocks_are_whole_and_others_for_each_source() -> None:
    splits = []
    for name in ("mizan", "tatoeba", "opus"):
        config = SplitConfig(validation=20, test=20, block_size=10)
        codes = assign_splits(SourceConfig(name=name, path="x.zip"), config, keys(200))
        for block in codes.reshape(20, 10):
            assert len(set(block.tolist())) == 1
        splits.append(tuple(codes.tolist()))
    assert len(set(splits)) == 3


def test_hash_split_does_not_depend_on_the_order_of_lines() -> None:
    config = SplitConfig(method="hash", validation=10, test=10)
    order = np.random.default_rng(1).permutation(100)
    codes = assign_splits(SOURCE, config, keys(100))
    assert assign_splits(SOURCE, config, keys(100)[order]).tolist() == codes[order].tolist()


@pytest.mark.parametrize(
    ("count", "held_out"), [(0, 0), (9, 0), (10, 1), (99, 1), (100, 2), (3000, 60), (50_000, 1000), (10**7, 1000)]
)
def test_auto_holds_out_a_share_of_the_pairs_up_to_a_maximum(count: int, held_out: int) -> None:
    assert held_out_size("auto", count) == held_out
    assert held_out_size(7, count) == 7
    if count < 5000:
        codes = assign_splits(SOURCE, SplitConfig(), keys(count))
        assert np.bincount(codes, minlength=3).tolist() == [count - 2 * held_out, held_out, held_out]


def test_holding_out_more_pairs_than_a_source_has_is_refused() -> None:
    message = r"`mizan` has 10 pairs after .* 6 for validation and 5 for testing; lower corpus.split.* `use: train`"
    with pytest.raises(CorpusError, match=message):
        assign_splits(SOURCE, SplitConfig(validation=6, test=5), keys(10))


Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=4, max_size=25)


def keys_of(pairs: Pairs) -> Keys:
    return np.array(pairs, dtype=np.uint64).reshape(-1, 2)


def source(name: str, use: str = "auto") -> SourceConfig:
    return SourceConfig.model_validate({"name": name, "path": name, "use": use})


def config(sources: list[SourceConfig], filters: FilterConfig | None = None, **split: object) -> CorpusConfig:
    return CorpusConfig(
        sources=tuple(sources),
        filters=filters or FilterConfig(),
        split=SplitConfig.model_validate({"validation": 1, "test": 1, **split}),
    )


def names(fates: np.ndarray) -> list[str]:
    return [SPLITS[fate] if fate >= 0 else SELECTION_RULES[-1 - fate] for fate in fates.tolist()]


def selected(
    pairs: Sequence[Pairs],
    settings: CorpusConfig,
    test_set: Pairs | None = None,
    texts: Sequence[Sequence[str]] | None = None,
) -> list[Fates]:
    """Return the fates of the pairs of the sources; without `texts`, no two pairs are near-duplicates."""
    pair_lists = list(pairs)
    if test_set is not None:
        pair_lists.append(test_set)
    if texts is None:
        texts = [[""] * len(pair_list) for pair_list in pair_lists]
    whole = list(itertools.chain.from_iterable(texts))
    keys = [keys_of(pair_list) for pair_list in pair_lists]
    with tempfile.TemporaryDirectory() as folder, NearDuplicateIndex(Path(folder)) as index:
        index.add(whole, signatures(whole))
        return select_pairs(settings, keys, index.find)[: len(pairs)]


A, A_TRAIN, B_TRAIN = source("a"), source("a", "train"), source("b", "train")


def test_duplicates_are_dropped_before_the_last_pairs_are_held_out() -> None:
    pairs: list[Pairs] = [[(1, 1), (1, 1), (2, 2), (3, 3), (3, 3)], [(1, 1), (4, 4), (4, 5), (5, 4)]]
    fates = selected(pairs, config([A, B_TRAIN]))
    assert names(fates[0]) == ["train", "duplicate", "validation", "test", "duplicate"]
    assert names(fates[1]) == ["duplicate", "train", "train", "train"]


LONG = "the quick brown fox jumps over the lazy dog while nobody at all is looking at them"
OTHER = "in a hole in the ground there lived a hobbit, not a nasty, dirty, wet hole filled with worms"


RESEMBLING = [[LONG, OTHER], [LONG + "!", "short", LONG + "?"]]
UNLIKE_PAIRS: list[Pairs] = [[(1, 1), (2, 2)], [(3, 3), (4, 4), (5, 5)]]


def test_near_duplicates_of_an_earlier_pair_are_dropped() -> None:
    fates = selected(UNLIKE_PAIRS, config([A_TRAIN, B_TRAIN]), texts=RESEMBLING)
    assert names(fates[0]) == ["train", "train"]
    assert names(fates[1]) == ["near_duplicate", "train", "near_duplicate"]


def test_near_duplicates_are_kept_on_request() -> None:
    settings = config([A_TRAIN, B_TRAIN], FilterConfig(near_duplicates=None))
    fates = selected(UNLIKE_PAIRS, settings, texts=RESEMBLING)
    assert names(fates[1]) == ["train", "train", "train"]


def test_near_duplicates_of_a_test_set_are_kept_out_of_training() -> None:
    """This holds for a `use: test` source and for an extra test set; no pair of either is dropped itself."""
    texts = [[LONG, OTHER, LONG[:20]], [LONG + "!", LONG + "?"], [OTHER + "!"]]
    pairs: list[Pairs] = [[(1, 1), (2, 2), (3, 3)], [(4, 4), (5, 5)]]
    fates = selected(pairs, config([A_TRAIN, source("b", "test")]), [(6, 6)], texts)
    assert names(fates[0]) == ["near_held_out", "near_held_out", "train"]
    assert names(fates[1]) == ["test", "test"]


def test_near_duplicates_are_found_even_if_both_resemble_a_test_set() -> None:
    """A pair near the test set may be in a test split, so training must not use near-duplicates of that pair."""
    first = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    texts = [[first + " apples"], [first + " apple"], [first + " apples!"]]
    fates = selected([[(1, 1)], [(2, 2)]], config([A_TRAIN, B_TRAIN]), [(3, 3)], texts)
    assert [names(source_fates) for source_fates in fates] == [["near_held_out"], ["near_duplicate"]]


def test_pairs_with_a_side_that_ten_pairs_have_are_dropped() -> None:
    english: Pairs = [(1, number) for number in range(100, 112)]
    persian: Pairs = [(number, 1) for number in range(200, 212)]
    fates = selected([english + persian + [(1, 300), (2, 300)]], config([A_TRAIN]))
    expected = ["train"] * 10 + ["same_source"] * 2 + ["train"] * 10 + ["same_target"] * 2 + ["same_source", "train"]
    assert names(fates[0]) == expected


def test_pairs_that_share_a_side_with_held_out_ones_are_dropped() -> None:
    first: Pairs = [(1, 1), (2, 2), (3, 3)]
    second: Pairs = [(2, 9), (9, 3), (3, 2), (8, 8)]
    fates = selected([first, second], config([A, B_TRAIN]))
    assert names(fates[0]) == ["train", "validation", "test"]
    assert names(fates[1]) == ["source_held_out", "target_held_out", "source_held_out", "train"]


def test_a_dropped_validation_pair_frees_its_other_side() -> None:
    fates = selected([[(2, 1), (2, 7), (3, 7)]], config([A]))
    assert names(fates[0]) == ["train", "target_held_out", "test"]


def test_pairs_that_share_a_side_with_an_extra_test_set_are_dropped() -> None:
    pairs = [(number, number) for number in range(1, 6)]
    fates = selected([pairs], config([A]), test_set=[(1, 0), (0, 4), (5, 5)])
    assert names(fates[0]) == ["source_held_out", "train", "train", "target_held_out", "test"]


def fates_of(entries: list[tuple[str, Pairs]], test_set: Pairs, method: str, block_size: int | None) -> list[Fates]:
    """Return the fates of the pairs of sources, each of which comes with its use."""
    sources = [source(f"s{index}", use) for index, (use, _) in enumerate(entries)]
    settings = config(sources, method=method, block_size=block_size)
    try:
        return selected([pairs for _, pairs in entries], settings, test_set)
    except CorpusError:  # duplicates have left a source with fewer pairs than are held out
        reject()


USES = st.sampled_from(["auto", "train", "validation", "test"])
FewSources = Callable[[list[tuple[str, Pairs]], Pairs, str, int | None], None]


def some_sources(test: FewSources) -> FewSources:
    """Run a test with a few sources that share sides with each other and with an extra test set."""
    with_sources = given(
        entries=st.lists(st.tuples(USES, PAIRS), min_size=1, max_size=4),
        test_set=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=3),
        method=st.sampled_from(["block", "hash"]),
        block_size=st.one_of(st.none(), st.integers(1, 3)),
    )
    wrapped: FewSources = settings(deadline=None, max_examples=70)(with_sources(test))
    return wrapped


@some_sources
def test_no_side_stands_in_two_splits(
    entries: list[tuple[str, Pairs]], test_set: Pairs, method: str, block_size: int | None
) -> None:
    fates = fates_of(entries, test_set, method, block_size)
    sources: dict[str, set[int]] = {split: set() for split in SPLITS}
    targets: dict[str, set[int]] = {split: set() for split in SPLITS}
    for (_, pairs), source_fates in zip(entries, fates, strict=True):
        for (source_side, target_side), name in zip(pairs, names(source_fates), strict=True):
            if name in SPLITS:
                sources[name].add(source_side)
                targets[name].add(target_side)
    extra_sources = {source_side for source_side, _ in test_set}
    extra_targets = {target_side for _, target_side in test_set}
    for seen, hidden in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not sources[seen] & sources[hidden]
        assert not targets[seen] & targets[hidden]
        assert not sources[seen] & extra_sources
        assert not targets[seen] & extra_targets


@some_sources
def test_no_pair_of_training_sources_is_kept_twice(
    entries: list[tuple[str, Pairs]], test_set: Pairs, method: str, block_size: int | None
) -> None:
    fates = fates_of(entries, test_set, method, block_size)
    pair_counts: Counter[tuple[int, int]] = Counter()
    for (use, pairs), source_fates in zip(entries, fates, strict=True):
        if use not in ("auto", "train"):
            continue
        for pair, fate in zip(pairs, source_fates, strict=True):
            if fate >= 0:
                pair_counts[pair] += 1
    assert set(pair_counts.values()) <= {1}


@some_sources
def test_every_pair_is_counted_once(
    entries: list[tuple[str, Pairs]], test_set: Pairs, method: str, block_size: int | None
) -> None:
    fates = fates_of(entries, test_set, method, block_size)
    for (_, pairs), source_fates in zip(entries, fates, strict=True):
        dropped, in_split = count_fates(source_fates)
        assert sum(dropped.values()) + sum(in_split.values()) == len(pairs)
