"""What becomes of each candidate pair: a split, or the rule that drops it; decided on keys, all sources together."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.config import CorpusConfig, SourceConfig
from translator.corpus.filters import DUPLICATE
from translator.corpus.overlap import LEAK_RULES, PairKeys, first_occurrences, join_keys, leaks
from translator.corpus.split import SPLITS, TEST, TRAIN, VALIDATION, assign_splits

Fates = NDArray[np.int8]
"""For each pair, the position of its split in `SPLITS`, or -1 - the position of a rule in `SELECTION_RULES`."""

SELECTION_RULES: Final = (DUPLICATE, *LEAK_RULES)


def select_pairs(
    sources: Sequence[tuple[SourceConfig, PairKeys]], config: CorpusConfig, test_sets: PairKeys
) -> list[Fates]:
    """Return the fate of each pair of each source.

    First, a pair that an earlier one repeats is a duplicate (not in a source that is named as validation or test set).
    Then each source is split. Then a training pair that shares its source or target with a validation or test pair or
    with `test_sets` is dropped, and so is a validation pair that shares one with a test pair or with `test_sets`.

    Raises:
        CorpusError: a source has fewer pairs than the configuration holds out.
    """
    fates: list[Fates] = [np.full(len(keys.source), TRAIN, dtype=np.int8) for _, keys in sources]
    if config.filters.duplicates:
        cleaned = [index for index, (source, _) in enumerate(sources) if source.use in ("auto", "train")]
        first = first_occurrences(join_keys([sources[index][1] for index in cleaned]))
        start = 0
        for index in cleaned:
            end = start + len(fates[index])
            fates[index][~first[start:end]] = -1 - SELECTION_RULES.index(DUPLICATE)
            start = end
    for (source, keys), fate in zip(sources, fates, strict=True):
        kept = fate >= 0
        if kept.any():
            fate[kept] = assign_splits(source, config.split, keys.source[kept])
    held_out = [test_sets]
    for held, known in ((TEST, VALIDATION), (VALIDATION, TRAIN)):
        held_out += [keys[fate == held] for (_, keys), fate in zip(sources, fates, strict=True)]
        forbidden = join_keys(held_out)
        for (_, keys), fate in zip(sources, fates, strict=True):
            for rule, leaking in zip(LEAK_RULES, leaks(keys, forbidden), strict=True):
                fate[leaking & (fate == known)] = -1 - SELECTION_RULES.index(rule)
    return fates


def count_fates(fates: Fates) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many pairs each rule of `SELECTION_RULES` drops and how many each split gets."""
    dropped = {rule: int(np.count_nonzero(fates == -1 - index)) for index, rule in enumerate(SELECTION_RULES)}
    kept: dict[str, int] = {split: int(np.count_nonzero(fates == index)) for index, split in enumerate(SPLITS)}
    return dropped, kept
