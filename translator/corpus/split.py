"""The fate of each pair that passed the filters, from keys alone: a split, or the rule that drops it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from translator.config import CorpusConfig, FilterConfig, SourceConfig, SplitConfig
from translator.corpus.duplicates import Hashes, Keys, Mask, Numbers, beyond_cap, mix, whole_pairs
from translator.errors import CorpusError

Split = Literal["train", "validation", "test"]
SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")
TRAIN, VALIDATION, TEST = range(3)
SELECTION_MEANINGS: Final[Mapping[str, str]] = {
    "duplicate": "The same pair was seen before.",
    "near_duplicate": "A nearly identical pair was seen before.",
    "same_source": "The English side already occurs in `max_same_source` pairs.",
    "same_target": "The Persian side already occurs in `max_same_target` pairs.",
    "source_held_out": "The English side is in a test set or in validation.",
    "target_held_out": "The Persian side is in a test set or in validation.",
    "near_held_out": "The pair is a near-duplicate of a pair of a named test set.",
}
"""The rules that drop a pair because of other pairs, in the order in which they apply."""
SELECTION_RULES: Final = tuple(SELECTION_MEANINGS)
Fates = NDArray[np.int8]  # (N,) position of the split in `SPLITS`, or -1 - position of the rule in `SELECTION_RULES`
FindNearDuplicates = Callable[[Numbers, float], Numbers]
"""Takes pair numbers and a threshold; returns, per pair, the one it nearly repeats, or -1 (`NearDuplicateIndex`)."""


def fate_of(rule: str) -> int:
    """Return the code of a pair that `rule` drops."""
    return -1 - SELECTION_RULES.index(rule)


def count_fates(fates: Fates) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many pairs each rule of `SELECTION_RULES` drops and how many each split gets."""
    dropped = {rule: int(np.count_nonzero(fates == fate_of(rule))) for rule in SELECTION_RULES}
    kept: dict[str, int] = {split: int(np.count_nonzero(fates == code)) for code, split in enumerate(SPLITS)}
    return dropped, kept


def select_pairs(config: CorpusConfig, keys: Sequence[Keys], near_duplicates: FindNearDuplicates) -> list[Fates]:
    """Return the fate of each pair of each source.

    1. The sources with `use: auto` or `train`, taken together, lose their duplicates, their near-duplicates and the
       pairs beyond the caps.
    2. Each source is split.
    3. A training pair that shares its source or target with a validation or test pair or with a further test set is
       dropped; so is a validation pair that shares one with a test pair.
    4. Training and validation pairs that are near-duplicates of a pair of a named test set are dropped.

    Args:
        keys: of the pairs of each of `config.sources`, then of further test sets, from which nothing is dropped.
        near_duplicates: finds near-duplicates among all pairs, numbered one after another.

    Raises CorpusError: a source has fewer pairs than the configuration holds out.
    """
    sizes = [len(own) for own in keys]
    further = len(keys) - len(config.sources)
    whole = [source.use not in ("auto", "train") for source in config.sources] + [True] * further
    cleaned = ~np.repeat(whole, sizes)
    together = np.concatenate(keys)
    fate, near_test_sets = _drop_repetitions(together, cleaned, near_duplicates, config.filters)
    fates = np.split(fate, np.cumsum(sizes)[:-1])  # views
    for number, (own, own_keys) in enumerate(zip(fates, keys, strict=True)):
        kept = own >= 0
        if number >= len(config.sources):
            own[kept] = TEST
        elif kept.any():
            own[kept] = assign_splits(config.sources[number], config.split, own_keys[kept, 0])
    for held_out, known in (((TEST,), VALIDATION), ((TEST, VALIDATION), TRAIN)):
        forbidden = together[np.isin(fate, held_out)]
        leaking = [np.isin(together[:, side], forbidden[:, side]) & (fate == known) for side in (0, 1)]
        fate[leaking[1]] = fate_of("target_held_out")
        fate[leaking[0]] = fate_of("source_held_out")  # also for a pair whose sides both leak
    fate[near_test_sets & ((fate == TRAIN) | (fate == VALIDATION))] = fate_of("near_held_out")
    return fates


def _drop_repetitions(
    keys: Keys, cleaned: Mask, near_duplicates: FindNearDuplicates, filters: FilterConfig
) -> tuple[Fates, Mask]:
    fate = np.full(len(keys), TRAIN, dtype=np.int8)
    near_test_sets = np.zeros(len(fate), dtype=np.bool_)
    if filters.duplicates:
        numbers = np.flatnonzero(cleaned)
        fate[numbers[beyond_cap(whole_pairs(keys[cleaned]), 1)]] = fate_of("duplicate")
    if filters.near_duplicates is not None:
        # First without the test sets: a pair near a test set would hide another pair near itself.
        repeated = near_duplicates(np.flatnonzero(cleaned & (fate >= 0)), filters.near_duplicates)
        fate[cleaned & (repeated >= 0)] = fate_of("near_duplicate")
        if not cleaned.all():
            test_sets_first = np.concatenate([np.flatnonzero(~cleaned), np.flatnonzero(cleaned & (fate >= 0))])
            repeated = near_duplicates(test_sets_first, filters.near_duplicates)
            near_test_sets = cleaned & (repeated >= 0) & ~cleaned[repeated]
    caps = (("same_source", filters.max_same_source), ("same_target", filters.max_same_target))
    for side, (rule, cap) in enumerate(caps):
        if cap is not None:
            numbers = np.flatnonzero(cleaned & (fate >= 0))
            fate[numbers[beyond_cap(keys[numbers, side], cap)]] = fate_of(rule)
    return fate, near_test_sets


def held_out_size(setting: int | Literal["auto"], count: int) -> int:
    """Return the number of pairs to hold out of `count`; `auto`: 2%, from 1 to 1,000, but 0 if `count` is below 10."""
    if setting != "auto":
        return setting
    return 0 if count < 10 else min(max(count // 50, 1), 1000)


def assign_splits(source: SourceConfig, config: SplitConfig, source_keys: Hashes) -> Fates:
    """Return the split of each kept pair of `source`, in order, given the keys (N,) of its English sides.

    `block`: the last `validation` + `test` pairs, or whole blocks drawn by seed until a split is full (the last
    block is cut). `hash`: the pairs with the smallest mixed source keys, whatever the line order. Equal sources
    on both sides of a border are dropped later. A CorpusError says that the source has too few pairs.
    """
    count = len(source_keys)
    codes: Fates = np.full(count, TRAIN, dtype=np.int8)
    if source.use != "auto":
        return np.full_like(codes, SPLITS.index(source.use))
    validation, test = held_out_size(config.validation, count), held_out_size(config.test, count)
    if validation + test > count:
        raise CorpusError(
            f"corpus source `{source.name}` has {count:,} pairs after cleaning, but corpus.split holds out "
            f"{validation:,} for validation and {test:,} for testing; lower corpus.split.validation and "
            "corpus.split.test, or give the source `use: train`"
        )

    def draw(block: int) -> bytes:
        return hashlib.blake2b(f"{config.seed} {source.name} {block}".encode(), digest_size=8).digest()

    order = np.arange(count, dtype=np.int64)[::-1]  # in the order of holding out: test, then validation
    if config.method == "hash":
        order = np.argsort(mix(source_keys, config.seed), kind="stable")
    elif config.block_size is not None:
        blocks = np.split(order[::-1], range(config.block_size, count, config.block_size))
        order = np.concatenate([blocks[block] for block in sorted(range(len(blocks)), key=draw)])
    codes[order[:test]] = TEST
    codes[order[test : test + validation]] = VALIDATION
    return codes
