"""Selection: the fate of each pair that passed the filters, from keys alone: a split, or the rule that drops it."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from translator.config import CorpusConfig, FilterConfig
from translator.corpus.selecting.duplicates import Keys, Mask, beyond_cap, whole_pairs
from translator.corpus.selecting.leaks import FindNearDuplicates, drop_leaks, near_test_sets
from translator.corpus.selecting.split import TEST, TRAIN, VALIDATION, Fates, assign_splits, fate_of

_MOST_OF_A_SIDE: Final = 10  # training pairs that may share an English side, or a Persian one


def select_pairs(config: CorpusConfig, keys: Sequence[Keys], near_duplicates: FindNearDuplicates) -> list[Fates]:
    """Return the fate of each pair of each source.

    1. The sources with `use: auto` or `train`, taken together, lose their duplicates, their near-duplicates and the
       pairs with a side that ten earlier ones have.
    2. Each source is split.
    3. A training pair that shares its source or target with a validation or test pair or with an extra test set is
       dropped; so is a validation pair that shares one with a test pair.
    4. Training and validation pairs that are near-duplicates of a pair of a named test set are dropped.

    Args:
        keys: those of each source in `config.sources`, then of each extra test set, which keeps all pairs.
        near_duplicates: finds near-duplicates among all pairs, numbered one after another.

    Raises CorpusError: a source has fewer pairs than the configuration holds out.
    """
    # 1. Repetitions among all pairs, except those of test sets, which lose nothing.
    sizes = [len(source_keys) for source_keys in keys]
    is_cleaned_source = [source.use in ("auto", "train") for source in config.sources]
    is_cleaned_source += [False] * (len(keys) - len(config.sources))
    is_cleaned = np.repeat(is_cleaned_source, sizes)
    all_keys = np.concatenate(keys)
    all_fates = np.full(len(all_keys), TRAIN, dtype=np.int8)
    _drop_repetitions(all_fates, all_keys, is_cleaned, near_duplicates, config.filters)

    # Near-duplicates of test sets are dropped last, but looked for now, among all different pairs.
    is_near_test_set = np.zeros(len(all_keys), dtype=np.bool_)
    if config.filters.near_duplicates is not None and not is_cleaned.all():
        is_kept = is_cleaned & (all_fates >= 0)
        is_near_test_set = near_test_sets(is_kept, ~is_cleaned, near_duplicates, config.filters.near_duplicates)
    _drop_frequent_sides(all_fates, all_keys, is_cleaned)

    # 2. The splits of each source.
    fates = np.split(all_fates, np.cumsum(sizes)[:-1])  # views: what is written to them is in `all_fates`
    for number, (source_fates, source_keys) in enumerate(zip(fates, keys, strict=True)):
        is_kept = source_fates >= 0
        if number >= len(config.sources):
            source_fates[is_kept] = TEST
        elif is_kept.any():
            english_keys = source_keys[is_kept, 0]
            source_fates[is_kept] = assign_splits(config.sources[number], config.split, english_keys)

    # 3. Leaks. Validation first: a pair that it loses forbids nothing to training.
    drop_leaks(all_fates, all_keys, split=VALIDATION, held_out=(TEST,))
    drop_leaks(all_fates, all_keys, split=TRAIN, held_out=(TEST, VALIDATION))

    # 4. Near-duplicates of test sets.
    is_trained_on = (all_fates == TRAIN) | (all_fates == VALIDATION)
    all_fates[is_near_test_set & is_trained_on] = fate_of("near_held_out")
    return fates


def _drop_repetitions(
    fates: Fates, keys: Keys, is_cleaned: Mask, near_duplicates: FindNearDuplicates, filters: FilterConfig
) -> None:
    """Drop duplicates and near-duplicates.

    Args:
        fates: (N,) changed in place.
        keys: (N, 2)
        is_cleaned: (N,) False for the pairs of test sets, which stay.
        near_duplicates: as for `select_pairs`.
        filters: the limits.
    """
    # 1. Exact duplicates.
    if filters.duplicates:
        numbers = np.flatnonzero(is_cleaned)
        is_repeated = beyond_cap(whole_pairs(keys[is_cleaned]), 1)
        fates[numbers[is_repeated]] = fate_of("duplicate")

    # 2. Near-duplicates, without the test sets: a pair near a test set would hide another pair near itself.
    if filters.near_duplicates is not None:
        numbers = np.flatnonzero(is_cleaned & (fates >= 0))
        originals = near_duplicates(numbers, filters.near_duplicates)
        fates[is_cleaned & (originals >= 0)] = fate_of("near_duplicate")


def _drop_frequent_sides(fates: Fates, keys: Keys, is_cleaned: Mask) -> None:
    """Drop pairs with a side that ten earlier ones have; see `_drop_repetitions`."""
    for side, rule in enumerate(("same_source", "same_target")):
        numbers = np.flatnonzero(is_cleaned & (fates >= 0))
        is_beyond = beyond_cap(keys[numbers, side], _MOST_OF_A_SIDE)
        fates[numbers[is_beyond]] = fate_of(rule)
