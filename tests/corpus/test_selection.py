"""The fate of every pair of several sources together, against a plain statement of the rules."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import CorpusConfig, FilterConfig, SourceConfig, SplitConfig
from translator.corpus.overlap import PairKeys
from translator.corpus.selection import SELECTION_RULES, count_fates, select_pairs
from translator.corpus.split import SPLITS
from translator.errors import CorpusError

Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=4, max_size=25)


def keys_of(pairs: Pairs) -> PairKeys:
    source, target = (np.array([pair[side] for pair in pairs], dtype=np.uint64) for side in (0, 1))
    return PairKeys(source, target)


def source(name: str, use: str = "auto") -> SourceConfig:
    return SourceConfig.model_validate({"name": name, "path": name, "use": use})


def config(sources: list[SourceConfig], duplicates: bool = True, **split: object) -> CorpusConfig:
    return CorpusConfig(
        sources=tuple(sources),
        filters=FilterConfig(duplicates=duplicates),
        split=SplitConfig.model_validate({"validation": 1, "test": 1, **split}),
    )


def names(fates: np.ndarray) -> list[str]:
    return [SPLITS[fate] if fate >= 0 else SELECTION_RULES[-1 - fate] for fate in fates.tolist()]


NO_TEST_SETS = keys_of([])


def test_duplicates_are_dropped_before_splitting() -> None:
    sources = [source("a"), source("b", "train")]
    pairs: list[Pairs] = [[(1, 1), (1, 1), (2, 2), (3, 3), (3, 3)], [(1, 1), (4, 4), (4, 5)]]
    fates = select_pairs(list(zip(sources, map(keys_of, pairs), strict=True)), config(sources), NO_TEST_SETS)
    assert names(fates[0]) == ["train", "duplicate", "validation", "test", "duplicate"]
    assert names(fates[1]) == ["duplicate", "train", "train"]


def test_duplicates_may_stay() -> None:
    sources = [source("a")]
    pairs: Pairs = [(1, 1), (1, 1), (2, 2), (3, 3)]
    fates = select_pairs([(sources[0], keys_of(pairs))], config(sources, duplicates=False), NO_TEST_SETS)
    assert names(fates[0]) == ["train", "train", "validation", "test"]


def test_training_pairs_that_share_a_side_with_held_out_ones_are_dropped() -> None:
    sources = [source("a"), source("b", "train")]
    pairs: list[Pairs] = [[(1, 1), (2, 2), (3, 3)], [(2, 9), (9, 3), (3, 2), (8, 8)]]
    fates = select_pairs(list(zip(sources, map(keys_of, pairs), strict=True)), config(sources), NO_TEST_SETS)
    assert names(fates[0]) == ["train", "validation", "test"]
    assert names(fates[1]) == ["source_held_out", "target_held_out", "source_held_out", "train"]


def test_validation_pairs_that_share_a_side_with_test_are_dropped() -> None:
    sources = [source("a")]
    pairs: Pairs = [(1, 1), (2, 7), (3, 7)]
    fates = select_pairs([(sources[0], keys_of(pairs))], config(sources), NO_TEST_SETS)
    assert names(fates[0]) == ["train", "target_held_out", "test"]


def test_a_dropped_validation_pair_frees_its_other_side() -> None:
    sources = [source("a")]
    pairs: Pairs = [(2, 1), (2, 7), (3, 7)]
    fates = select_pairs([(sources[0], keys_of(pairs))], config(sources), NO_TEST_SETS)
    assert names(fates[0]) == ["train", "target_held_out", "test"]


def test_further_test_sets_are_kept_out_of_training_and_validation() -> None:
    sources = [source("a")]
    pairs: Pairs = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    fates = select_pairs([(sources[0], keys_of(pairs))], config(sources), keys_of([(1, 0), (0, 4), (5, 5)]))
    assert names(fates[0]) == ["source_held_out", "train", "train", "target_held_out", "test"]


def test_named_test_set_stays_whole() -> None:
    sources = [source("a", "train"), source("b", "test")]
    pairs: list[Pairs] = [[(1, 1), (2, 2)], [(1, 1), (1, 1)]]
    fates = select_pairs(list(zip(sources, map(keys_of, pairs), strict=True)), config(sources), NO_TEST_SETS)
    assert names(fates[0]) == ["source_held_out", "train"]
    assert names(fates[1]) == ["test", "test"]


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.tuples(st.sampled_from(["auto", "train", "validation", "test"]), PAIRS), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=3),
    st.sampled_from(["block", "hash"]),
    st.one_of(st.none(), st.integers(1, 3)),
)
def test_no_side_stands_in_two_splits(
    entries: list[tuple[str, Pairs]], test_set: Pairs, method: str, block_size: int | None
) -> None:
    sources = [source(f"s{index}", use) for index, (use, _) in enumerate(entries)]
    settings_ = config(sources, method=method, block_size=block_size)
    chosen = [(item, keys_of(pairs)) for item, (_, pairs) in zip(sources, entries, strict=True)]
    try:
        fates = select_pairs(chosen, settings_, keys_of(test_set))
    except CorpusError:  # duplicates have left a source with fewer pairs than are held out
        return
    sides: dict[str, list[set[int]]] = {split: [set(), set()] for split in SPLITS}
    sides["further"] = [{pair[side] for pair in test_set} for side in (0, 1)]
    kept: Counter[tuple[int, int]] = Counter()
    for (use, pairs), fate in zip(entries, fates, strict=True):
        for pair, name in zip(pairs, names(fate), strict=True):
            if name in SPLITS:
                sides[name][0].add(pair[0])
                sides[name][1].add(pair[1])
                kept[pair] += use in ("auto", "train")
        assert sum(map(sum, (counts.values() for counts in count_fates(fate)))) == len(pairs)
    for known, hidden in (("train", "validation"), ("train", "test"), ("validation", "test")):
        for side in (0, 1):
            assert not sides[known][side] & sides[hidden][side]
            assert not sides[known][side] & sides["further"][side]
    assert all(count <= 1 for count in kept.values())


def test_a_source_with_nothing_left_is_no_error_here() -> None:
    """The one who reports knows the counts of all rules, and tells the person."""
    sources = [source("a", "train"), source("b")]
    fates = select_pairs([(sources[0], keys_of([(1, 1)])), (sources[1], keys_of([]))], config(sources), NO_TEST_SETS)
    assert fates[1].tolist() == []


def test_too_few_pairs() -> None:
    sources = [source("a")]
    with pytest.raises(CorpusError, match="`a` has 1 pairs after cleaning"):
        select_pairs([(sources[0], keys_of([(1, 1)]))], config(sources), NO_TEST_SETS)
