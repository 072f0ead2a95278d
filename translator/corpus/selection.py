"""What becomes of each candidate pair: a split, or the rule that drops it; decided on keys, all sources together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.config import CorpusConfig, SourceConfig
from translator.corpus.duplicates import (
    LEAK_RULES,
    NEAR_HELD_OUT,
    SIDE_LEAK_RULES,
    Mask,
    PairKeys,
    beyond_cap,
    first_occurrences,
    join_keys,
    leaks,
)
from translator.corpus.filters import DUPLICATE, NEAR_DUPLICATE, SAME_SOURCE, SAME_TARGET
from translator.corpus.split import SPLITS, TEST, TRAIN, VALIDATION, assign_splits

Fates = NDArray[np.int8]
"""For each pair, the position of its split in `SPLITS`, or -1 - the position of a rule in `SELECTION_RULES`."""

SELECTION_RULES: Final = (DUPLICATE, NEAR_DUPLICATE, SAME_SOURCE, SAME_TARGET, *LEAK_RULES)


Alike = Callable[[NDArray[np.int64], float], NDArray[np.int64]]
"""From the numbers of pairs and a threshold to the earlier pair that each pair nearly repeats, or -1 (see `Shelf`)."""


@dataclass(frozen=True)
class Contender:
    """What the selection must know of the N pairs of one source."""

    source: SourceConfig
    keys: PairKeys
    is_test_set: bool = False
    """A further test set: none of its pairs is put into a split."""

    @property
    def is_cleaned(self) -> bool:
        """Whether pairs may be dropped."""
        return not self.is_test_set and self.source.use in ("auto", "train")


def fate_of(rule: str) -> int:
    """Return the code of what `rule` drops."""
    return -1 - SELECTION_RULES.index(rule)


def select_pairs(contenders: Sequence[Contender], alike: Alike, config: CorpusConfig) -> list[Fates]:
    """Return the fate of each pair of each source.

    First the sources that may be cleaned, taken together, lose their duplicates, near-duplicates and the pairs beyond
    the caps. Then each source is split. Then a training pair that shares its source or target with a validation or
    test pair or with a further test set is dropped, and so is a validation pair that shares one with a test pair. Last,
    both are dropped where they are near-duplicates of a pair of a named test set.

    Args:
        alike: finds near-duplicates among the pairs of all contenders, numbered one after another.

    Raises:
        CorpusError: a source has fewer pairs than the configuration holds out.
    """
    fates: list[Fates] = [np.full(len(contender.keys.source), TRAIN, dtype=np.int8) for contender in contenders]
    near_test_sets = _drop_repetitions(contenders, fates, alike, config)
    for contender, fate in zip(contenders, fates, strict=True):
        kept = fate >= 0
        if contender.is_test_set:
            fate[kept] = TEST
        elif kept.any():
            fate[kept] = assign_splits(contender.source, config.split, contender.keys.source[kept])
    held_out: list[PairKeys] = []
    for held, known in ((TEST, VALIDATION), (VALIDATION, TRAIN)):
        held_out += [contender.keys[fate == held] for contender, fate in zip(contenders, fates, strict=True)]
        forbidden = join_keys(held_out)
        for contender, fate in zip(contenders, fates, strict=True):
            for rule, leaking in zip(SIDE_LEAK_RULES, leaks(contender.keys, forbidden), strict=True):
                fate[leaking & (fate == known)] = fate_of(rule)
    for fate, near in zip(fates, near_test_sets, strict=True):
        fate[near & ((fate == TRAIN) | (fate == VALIDATION))] = fate_of(NEAR_HELD_OUT)
    return fates


def _drop_repetitions(
    contenders: Sequence[Contender], fates: Sequence[Fates], alike: Alike, config: CorpusConfig
) -> list[Mask]:
    """Mark what repeats an earlier pair of a source that may be cleaned.

    Returns:
        Of each contender, which pairs nearly repeat one of a test set; they are not marked yet.
    """
    filters = config.filters
    starts = np.cumsum([0, *map(len, fates)])
    keys = join_keys([contender.keys for contender in contenders])
    fate = np.full(len(keys.source), TRAIN, dtype=np.int8)
    cleaned = np.repeat([contender.is_cleaned for contender in contenders], np.diff(starts))
    if filters.duplicates:
        numbers = np.flatnonzero(cleaned)
        fate[numbers[~first_occurrences(keys[cleaned])]] = fate_of(DUPLICATE)
    near_test_sets = np.zeros(len(fate), dtype=np.bool_)
    if filters.near_duplicates is not None:
        # By themselves first: a pair that is near a test set would hide another that is near that pair.
        repeated = alike(np.flatnonzero(cleaned & (fate >= 0)), filters.near_duplicates)
        fate[cleaned & (repeated >= 0)] = fate_of(NEAR_DUPLICATE)
        if not cleaned.all():
            in_order = np.concatenate([np.flatnonzero(~cleaned), np.flatnonzero(cleaned & (fate >= 0))])
            repeated = alike(in_order, filters.near_duplicates)
            near_test_sets = cleaned & (repeated >= 0) & ~cleaned[repeated]
    for rule, cap, side in (
        (SAME_SOURCE, filters.max_same_source, keys.source),
        (SAME_TARGET, filters.max_same_target, keys.target),
    ):
        if cap is not None:
            numbers = np.flatnonzero(cleaned & (fate >= 0))
            fate[numbers[beyond_cap(side[numbers], cap)]] = fate_of(rule)
    for own, start, end in zip(fates, starts[:-1], starts[1:], strict=True):
        own[:] = fate[start:end]
    return np.split(near_test_sets, starts[1:-1])


def count_fates(fates: Fates) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many pairs each rule of `SELECTION_RULES` drops and how many each split gets."""
    dropped = {rule: int(np.count_nonzero(fates == -1 - index)) for index, rule in enumerate(SELECTION_RULES)}
    kept: dict[str, int] = {split: int(np.count_nonzero(fates == index)) for index, split in enumerate(SPLITS)}
    return dropped, kept
