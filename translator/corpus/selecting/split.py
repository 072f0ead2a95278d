"""The fate of each pair that passed the filters, from keys alone: a split, or the rule that drops it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from translator.config import CorpusConfig, FilterConfig, SourceConfig, SplitConfig
from translator.corpus.selecting.duplicates import Hashes, Keys, Mask, Numbers, beyond_cap, mix, whole_pairs
from translator.errors import CorpusError

Split = Literal["train", "validation", "test"]
SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")
TRAIN, VALIDATION, TEST = range(3)
_MOST_OF_A_SIDE: Final = 10  # training pairs that may share an English side, or a Persian one
_SEED: Final = 1  # of what is held out; not `run.seed`, so that runs share one test set
SELECTION_MEANINGS: Final[Mapping[str, str]] = {
    "duplicate": "The same pair was seen before.",
    "near_duplicate": "A nearly identical pair was seen before.",
    "same_source": "The English side already occurs in 10 pairs.",
    "same_target": "The Persian side already occurs in 10 pairs.",
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


def rule_of(fate: int) -> str:
    """Return the rule that drops a pair with this code."""
    return SELECTION_RULES[-1 - fate]


def count_fates(fates: Fates) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many pairs each rule of `SELECTION_RULES` drops and how many each split gets."""
    dropped: dict[str, int] = {}
    for rule in SELECTION_RULES:
        dropped[rule] = int(np.count_nonzero(fates == fate_of(rule)))
    in_split: dict[str, int] = {}
    for code, split in enumerate(SPLITS):
        in_split[split] = int(np.count_nonzero(fates == code))
    return dropped, in_split


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
    all_fates, is_near_test_set = _drop_repetitions(all_keys, is_cleaned, near_duplicates, config.filters)

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
    _drop_leaks(all_fates, all_keys, split=VALIDATION, held_out=(TEST,))
    _drop_leaks(all_fates, all_keys, split=TRAIN, held_out=(TEST, VALIDATION))

    # 4. Near-duplicates of test sets.
    is_trained_on = (all_fates == TRAIN) | (all_fates == VALIDATION)
    all_fates[is_near_test_set & is_trained_on] = fate_of("near_held_out")
    return fates


def _drop_leaks(fates: Fates, keys: Keys, *, split: int, held_out: Sequence[int]) -> None:
    """Drop the pairs of `split` that share a side with a pair of the splits `held_out`.

    Args:
        fates: (N,) changed in place.
        keys: (N, 2)
        split: a position in `SPLITS`.
        held_out: positions in `SPLITS`.
    """
    is_in_split = fates == split
    forbidden = keys[np.isin(fates, held_out)]
    has_forbidden_source = np.isin(keys[:, 0], forbidden[:, 0])
    has_forbidden_target = np.isin(keys[:, 1], forbidden[:, 1])
    fates[is_in_split & has_forbidden_target] = fate_of("target_held_out")
    fates[is_in_split & has_forbidden_source] = fate_of("source_held_out")  # also for a pair whose sides both leak


class _Repetitions(NamedTuple):
    """What is repeated among N pairs."""

    fates: Fates  # (N,) of the cleaned pairs that a rule drops; TRAIN for all others
    is_near_test_set: Mask  # (N,)


def _drop_repetitions(
    keys: Keys, is_cleaned: Mask, near_duplicates: FindNearDuplicates, filters: FilterConfig
) -> _Repetitions:
    """Return which pairs the rules on duplicates, near-duplicates and caps drop.

    Args:
        keys: (N, 2)
        is_cleaned: (N,) False for the pairs of test sets, which stay.
        near_duplicates: as for `select_pairs`.
        filters: the limits.
    """
    fates = np.full(len(keys), TRAIN, dtype=np.int8)
    is_near_test_set = np.zeros(len(keys), dtype=np.bool_)

    # 1. Exact duplicates.
    if filters.duplicates:
        numbers = np.flatnonzero(is_cleaned)
        is_repeated = beyond_cap(whole_pairs(keys[is_cleaned]), 1)
        fates[numbers[is_repeated]] = fate_of("duplicate")

    # 2. Near-duplicates. First without the test sets: a pair near a test set would hide another pair near itself.
    if filters.near_duplicates is not None:
        numbers = np.flatnonzero(is_cleaned & (fates >= 0))
        originals = near_duplicates(numbers, filters.near_duplicates)
        fates[is_cleaned & (originals >= 0)] = fate_of("near_duplicate")
    if filters.near_duplicates is not None and not is_cleaned.all():
        test_sets = np.flatnonzero(~is_cleaned)
        numbers = np.flatnonzero(is_cleaned & (fates >= 0))
        originals = near_duplicates(np.concatenate([test_sets, numbers]), filters.near_duplicates)
        is_near_test_set = is_cleaned & (originals >= 0) & ~is_cleaned[originals]

    # 3. Pairs whose side occurs too often.
    for side, rule in enumerate(("same_source", "same_target")):
        numbers = np.flatnonzero(is_cleaned & (fates >= 0))
        is_beyond = beyond_cap(keys[numbers, side], _MOST_OF_A_SIDE)
        fates[numbers[is_beyond]] = fate_of(rule)
    return _Repetitions(fates=fates, is_near_test_set=is_near_test_set)


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

    # The pairs in the order of holding out: test, then validation.
    if config.method == "hash":
        order = np.argsort(mix(source_keys, _SEED), kind="stable")
    elif config.block_size is not None:
        order = _drawn_blocks(count, config.block_size, f"{_SEED} {source.name}")
    else:
        order = np.arange(count, dtype=np.int64)[::-1]
    codes[order[:test]] = TEST
    codes[order[test : test + validation]] = VALIDATION
    return codes


def _drawn_blocks(count: int, block_size: int, seed: str) -> Numbers:
    """Return the numbers below `count`, in blocks of neighbours, the blocks in an order drawn by `seed`."""

    def draw(block: int) -> bytes:
        return hashlib.blake2b(f"{seed} {block}".encode(), digest_size=8).digest()

    blocks = np.split(np.arange(count, dtype=np.int64), range(block_size, count, block_size))
    shuffled_numbers = sorted(range(len(blocks)), key=draw)
    return np.concatenate([blocks[number] for number in shuffled_numbers])
