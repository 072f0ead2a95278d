"""Selection: the fate of each pair that passed the filters, from keys alone: a split, or the rule that drops it."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from translator.config import CorpusConfig
from translator.corpus.selecting.duplicates import Hashes, Keys, Mask, Numbers, beyond_cap, whole_pairs
from translator.corpus.selecting.leaks import drop_leaks
from translator.corpus.selecting.split import TEST, TRAIN, VALIDATION, Fates, assign_splits, fate_of

_MOST_OF_A_SIDE: Final = 10  # training pairs that may share an English side, or a Persian one


def select_pairs(
    config: CorpusConfig,
    fates: Sequence[Fates],
    keys: Sequence[Keys],
    near_duplicates: Callable[[Numbers, float], Numbers],
) -> list[Fates]:
    """Return the fate of each pair of each source.

    Args:
        fates: for each source, those of its pairs after the filters: `TRAIN`, or the rule that drops the pair.
        keys: for each source, those of its pairs (see `pair_keys`).
        near_duplicates: takes numbers of pairs and a threshold; returns, for each of all pairs, the one that it nearly
            repeats, or -1 (see `NearDuplicateIndex.find`). The pairs of all sources are numbered one after another.

    Raises CorpusError: a source has fewer pairs than the configuration holds out.
    """
    # The pairs of all sources, one after another; a pair that is not dropped has the fate TRAIN until step 4. Sources
    # that are held out as a whole, here called test sets, lose nothing to steps 1 to 3; all others are cleaned.
    sizes = [len(source_fates) for source_fates in fates]
    is_cleaned = np.repeat([source.use in ("auto", "train") for source in config.sources], sizes)
    all_keys = np.concatenate(keys)
    all_fates = np.concatenate(fates)
    is_of_test_set = ~is_cleaned & (all_fates == TRAIN)

    # 1. Drop what is repeated in all sources together.
    if config.filters.duplicates:
        _drop_beyond(1, whole_pairs(all_keys), all_fates, is_cleaned, "duplicate")

    # 2. Drop near-duplicates, at first without the test sets. With them, a pair A near a test pair would be dropped for
    # that; a pair B near A would then be compared with the test pair in place of A, and stay.
    threshold = config.filters.near_duplicates
    is_near_test_set = np.zeros(len(all_keys), dtype=np.bool_)
    if threshold is not None:
        # For each pair the number of the one that it nearly repeats, or -1.
        originals = near_duplicates(np.flatnonzero(is_cleaned & (all_fates == TRAIN)), threshold)
        all_fates[originals >= 0] = fate_of("near_duplicate")
        # Look for near-duplicates of test sets too, while each pair is still here; step 5 drops them. The test sets are
        # the first candidates, so that their pairs survive.
        if is_of_test_set.any():
            candidates = [np.flatnonzero(is_of_test_set), np.flatnonzero(is_cleaned & (all_fates == TRAIN))]
            originals = near_duplicates(np.concatenate(candidates), threshold)
            repeats_test_pair = ~is_cleaned[originals]  # without meaning where the original is -1
            is_near_test_set = is_cleaned & (originals >= 0) & repeats_test_pair

    # 3. Drop pairs with a side that ten earlier ones have.
    _drop_beyond(_MOST_OF_A_SIDE, all_keys[:, 0], all_fates, is_cleaned, "same_source")
    _drop_beyond(_MOST_OF_A_SIDE, all_keys[:, 1], all_fates, is_cleaned, "same_target")

    # 4. Split each source. Its fates are a view: what is written to them is in `all_fates`.
    fates_of_sources = np.split(all_fates, np.cumsum(sizes)[:-1])
    for source, source_fates, source_keys in zip(config.sources, fates_of_sources, keys, strict=True):
        is_kept = source_fates == TRAIN
        if is_kept.any():
            english_keys = source_keys[is_kept, 0]
            source_fates[is_kept] = assign_splits(source, config.split, english_keys)

    # 5. Drop leaks, and near-duplicates of test sets. Validation loses its leaks first, so that a pair that it loses
    # keeps nothing out of training.
    drop_leaks(all_fates, all_keys, VALIDATION, held_out=(TEST,))
    drop_leaks(all_fates, all_keys, TRAIN, held_out=(TEST, VALIDATION))
    all_fates[is_near_test_set & np.isin(all_fates, (TRAIN, VALIDATION))] = fate_of("near_held_out")
    return fates_of_sources


def _drop_beyond(cap: int, keys: Hashes, fates: Fates, is_cleaned: Mask, rule: str) -> None:
    """Drop each pair whose key `cap` earlier ones have, among those that are cleaned and not dropped yet; all (N,)."""
    numbers = np.flatnonzero(is_cleaned & (fates == TRAIN))
    fates[numbers[beyond_cap(keys[numbers], cap)]] = fate_of(rule)
