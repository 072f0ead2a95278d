"""What becomes of a pair, and which pairs of a source are held out for validation and testing."""

import hashlib
from collections.abc import Mapping
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from translator.config import SourceConfig, SplitConfig
from translator.corpus.selecting.duplicates import Hashes, Numbers, scrambled
from translator.corpus.selecting.filters import FILTER_MEANINGS
from translator.errors import CorpusError

Split = Literal["train", "validation", "test"]
SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")
TRAIN, VALIDATION, TEST = range(3)
_SEED: Final = 1  # of what is held out; not `run.seed`, so that runs share one test set
_READING: Final = {
    "invalid_utf8": "The line has bytes that are not UTF-8.",
    "line_too_long": "The line is longer than 1 MiB.",
    "bad_row": "The row has other columns than the table or lacks a text, or the unit of the TMX is not XML.",
    "missing_language": "The unit of the TMX has no English, or no Persian.",
    "fuzzy_message": "The message has no finished translation: it is marked fuzzy.",
    "untranslated_message": "The message has no translation.",
    "obsolete_message": "The program has the message no more.",
    "low_score": "The score is below `min_score` of the source.",
}
READING_RULES: Final = tuple(_READING)
"""The rules that drop a line while it is read."""
_SELECTION: Final = {
    "duplicate": "The same pair was seen before.",
    "near_duplicate": "A nearly identical pair was seen before.",
    "same_source": "The English side already occurs in 10 pairs.",
    "same_target": "The Persian side already occurs in 10 pairs.",
    "source_held_out": "The English side is in a test set or in validation.",
    "target_held_out": "The Persian side is in a test set or in validation.",
    "near_held_out": "The pair is a near-duplicate of a pair of a named test set.",
}
MEANINGS: Final[Mapping[str, str]] = {**_READING, **FILTER_MEANINGS, **_SELECTION}
"""What each rule means, for people, in the order of the rules; a pair counts under the first rule that drops it."""
FATES: Final = (*SPLITS, *MEANINGS)
"""What becomes of a pair: a split, or the rule that drops it."""
Fates = NDArray[np.int8]  # (N,) a position in `FATES` for each pair


def fate_of(rule: str) -> int:
    """Return the code of a pair that `rule` drops."""
    return FATES.index(rule)


def held_out_size(setting: int | Literal["auto"], count: int) -> int:
    """Return the number of pairs to hold out of `count`; `auto`: 2%, from 1 to 1,000, but 0 if `count` is below 10."""
    if setting != "auto":
        return setting
    return 0 if count < 10 else min(max(count // 50, 1), 1000)


def assign_splits(source: SourceConfig, config: SplitConfig, source_keys: Hashes) -> Fates:
    """Return the split of each kept pair of `source`, in order, given the keys (N,) of its English sides.

    A source with a `use` other than `auto` belongs to that split. Of others, `config.method` tells what is held out:

    - `block` without `block_size`: the last pairs;
    - `block` with `block_size`: whole blocks, drawn by seed, until a split is full (its last block is cut);
    - `hash`: the pairs with the smallest mixed keys, whatever the order of the lines.

    Pairs of two splits with equal English sides are dropped later.

    Raises CorpusError: the source has too few pairs.
    """
    # 1. A source for one split.
    count = len(source_keys)
    fates: Fates = np.full(count, TRAIN, dtype=np.int8)
    if source.use != "auto":
        return np.full_like(fates, SPLITS.index(source.use))

    # 2. The number of pairs to hold out.
    validation, test = held_out_size(config.validation, count), held_out_size(config.test, count)
    if validation + test > count:
        raise CorpusError(
            f"corpus source `{source.name}` has {count:,} pairs after cleaning, but corpus.split holds out "
            f"{validation:,} for validation and {test:,} for testing; lower corpus.split.validation and "
            "corpus.split.test, or give the source `use: train`"
        )

    # 3. The pairs in the order of holding out: test, then validation; the others are for training.
    if config.method == "hash":
        order = np.argsort(scrambled(source_keys, _SEED), kind="stable")
    elif config.block_size is not None:
        order = _drawn_blocks(count, config.block_size, f"{_SEED} {source.name}")
    else:
        order = np.arange(count, dtype=np.int64)[::-1]  # from the end of the source
    fates[order[:test]] = TEST
    fates[order[test : test + validation]] = VALIDATION
    return fates


def _drawn_blocks(count: int, block_size: int, seed: str) -> Numbers:
    """Return the numbers below `count`, in blocks of neighbours, the blocks in an order drawn by `seed`."""

    def draw(block: int) -> bytes:
        return hashlib.blake2b(f"{seed} {block}".encode(), digest_size=8).digest()

    blocks = np.split(np.arange(count, dtype=np.int64), range(block_size, count, block_size))
    shuffled_numbers = sorted(range(len(blocks)), key=draw)
    return np.concatenate([blocks[number] for number in shuffled_numbers])
