"""The fate of every pair of several sources together, against a plain statement of the rules."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import CorpusConfig, FilterConfig, SourceConfig, SplitConfig
from translator.corpus.duplicates import PairKeys, Shelf, SignedTexts
from translator.corpus.selection import SELECTION_RULES, Contender, Fates, count_fates, select_pairs
from translator.corpus.split import SPLITS
from translator.errors import CorpusError

Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=4, max_size=25)


def keys_of(pairs: Pairs) -> PairKeys:
    source, target = (np.array([pair[side] for pair in pairs], dtype=np.uint64) for side in (0, 1))
    return PairKeys(source, target)


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
    sources: Sequence[SourceConfig],
    pairs: Sequence[Pairs],
    settings: CorpusConfig,
    test_set: Pairs | None = None,
    texts: Sequence[Sequence[str]] | None = None,
) -> list[Fates]:
    """Return the fates of the pairs of `sources`; without `texts`, no two pairs are near-duplicates."""
    lists = [*pairs, *([test_set] if test_set is not None else [])]
    members = [*sources, *([source("further")] if test_set is not None else [])]
    contenders = [
        Contender(member, keys_of(own), is_test_set=number >= len(sources))
        for number, (member, own) in enumerate(zip(members, lists, strict=True))
    ]
    with tempfile.TemporaryDirectory() as folder, Shelf(Path(folder)) as shelf:
        shelf.put(SignedTexts.of([text for own in texts or [[""] * len(own) for own in lists] for text in own]))
        return select_pairs(contenders, shelf.near_duplicates, settings)[: len(sources)]


def test_duplicates_are_dropped_before_splitting() -> None:
    sources = [source("a"), source("b", "train")]
    pairs: list[Pairs] = [[(1, 1), (1, 1), (2, 2), (3, 3), (3, 3)], [(1, 1), (4, 4), (4, 5)]]
    fates = selected(sources, pairs, config(sources))
    assert names(fates[0]) == ["train", "duplicate", "validation", "test", "duplicate"]
    assert names(fates[1]) == ["duplicate", "train", "train"]


def test_duplicates_may_stay() -> None:
    sources = [source("a")]
    pairs: Pairs = [(1, 1), (1, 1), (2, 2), (3, 3)]
    fates = selected(sources, [pairs], config(sources, FilterConfig(duplicates=False)))
    assert names(fates[0]) == ["train", "train", "validation", "test"]


LONG = "the quick brown fox jumps over the lazy dog while nobody at all is looking at them"
OTHER = "in a hole in the ground there lived a hobbit, not a nasty, dirty, wet hole filled with worms"


def test_near_duplicates_of_an_earlier_pair_are_dropped() -> None:
    sources = [source("a", "train"), source("b", "train")]
    texts = [[LONG, OTHER], [LONG + "!", "short", LONG + "?"]]
    pairs: list[Pairs] = [[(1, 1), (2, 2)], [(3, 3), (4, 4), (5, 5)]]
    fates = selected(sources, pairs, config(sources), texts=texts)
    assert names(fates[0]) == ["train", "train"]
    assert names(fates[1]) == ["near_duplicate", "train", "near_duplicate"]
    fates = selected(sources, pairs, config(sources, FilterConfig(near_duplicates=None)), texts=texts)
    assert names(fates[1]) == ["train", "train", "train"]


def test_near_duplicates_of_a_test_set_are_kept_out_of_training() -> None:
    """Wherever the test set stands, and although nothing of it is ever dropped itself."""
    sources = [source("a", "train"), source("b", "test")]
    texts = [[LONG, OTHER, LONG[:20]], [LONG + "!", LONG + "?"], [OTHER + "!"]]
    pairs: list[Pairs] = [[(1, 1), (2, 2), (3, 3)], [(4, 4), (5, 5)]]
    fates = selected(sources, pairs, config(sources), [(6, 6)], texts)
    assert names(fates[0]) == ["near_held_out", "near_held_out", "train"]
    assert names(fates[1]) == ["test", "test"]


def test_a_test_set_does_not_hide_near_duplicates_from_each_other() -> None:
    """The pair near the test set may stand in a test split: what is near that pair must not be trained on."""
    first = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    sources = [source("a", "train"), source("b", "train")]
    texts = [[first + " apples"], [first + " apple"], [first + " apples!"]]
    fates = selected(sources, [[(1, 1)], [(2, 2)]], config(sources), [(3, 3)], texts)
    assert names(fates[0]) == ["near_held_out"]
    assert names(fates[1]) == ["near_duplicate"]


def test_a_side_is_kept_a_few_times_only() -> None:
    sources = [source("a", "train")]
    pairs: Pairs = [(1, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 4), (1, 5)]
    fates = selected(sources, [pairs], config(sources, FilterConfig(max_same_source=2, max_same_target=1)))
    assert names(fates[0]) == [
        "train", "train", "same_source", "train", "same_target", "same_target", "same_source",
    ]  # fmt: skip
    assert names(selected(sources, [pairs], config(sources))[0]) == ["train"] * 7


def test_training_pairs_that_share_a_side_with_held_out_ones_are_dropped() -> None:
    sources = [source("a"), source("b", "train")]
    pairs: list[Pairs] = [[(1, 1), (2, 2), (3, 3)], [(2, 9), (9, 3), (3, 2), (8, 8)]]
    fates = selected(sources, pairs, config(sources))
    assert names(fates[0]) == ["train", "validation", "test"]
    assert names(fates[1]) == ["source_held_out", "target_held_out", "source_held_out", "train"]


def test_validation_pairs_that_share_a_side_with_test_are_dropped() -> None:
    sources = [source("a")]
    pairs: Pairs = [(1, 1), (2, 7), (3, 7)]
    fates = selected(sources, [pairs], config(sources))
    assert names(fates[0]) == ["train", "target_held_out", "test"]


def test_a_dropped_validation_pair_frees_its_other_side() -> None:
    sources = [source("a")]
    pairs: Pairs = [(2, 1), (2, 7), (3, 7)]
    fates = selected(sources, [pairs], config(sources))
    assert names(fates[0]) == ["train", "target_held_out", "test"]


def test_further_test_sets_are_kept_out_of_training_and_validation() -> None:
    sources = [source("a")]
    pairs: Pairs = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    fates = selected(sources, [pairs], config(sources), [(1, 0), (0, 4), (5, 5)])
    assert names(fates[0]) == ["source_held_out", "train", "train", "target_held_out", "test"]


def test_named_test_set_stays_whole() -> None:
    sources = [source("a", "train"), source("b", "test")]
    pairs: list[Pairs] = [[(1, 1), (2, 2)], [(1, 1), (1, 1)]]
    fates = selected(sources, pairs, config(sources))
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
    try:
        fates = selected(sources, [pairs for _, pairs in entries], settings_, test_set)
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
    fates = selected(sources, [[(1, 1)], []], config(sources))
    assert fates[1].tolist() == []


def test_too_few_pairs() -> None:
    sources = [source("a")]
    with pytest.raises(CorpusError, match="`a` has 1 pairs after cleaning"):
        selected(sources, [[(1, 1)]], config(sources))
