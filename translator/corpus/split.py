"""Which pairs of a source are held out: by block, by hash of the source text, or all of them, as the source says."""

import hashlib
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from translator.config import SourceConfig, SplitConfig
from translator.corpus.duplicates import Keys, mix
from translator.errors import CorpusError

Split = Literal["train", "validation", "test"]
SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")
TRAIN: Final = 0
VALIDATION: Final = 1
TEST: Final = 2

SplitCodes = NDArray[np.int8]
"""For each pair, the position of its split in `SPLITS`."""


def assign_splits(source: SourceConfig, config: SplitConfig, source_keys: Keys) -> SplitCodes:
    """Return the split of each kept pair of `source`, in order.

    `block`: the last `validation` + `test` pairs, or whole blocks drawn by seed until a split is full (the last
    block is cut). `hash`: the pairs whose mixed source keys are smallest, so that the choice does not hang on the
    order of the lines; of equal sources that a border parts, those on the wrong side are dropped as leaks later.

    Args:
        source_keys: keys of the folded English sides of the kept pairs.

    Raises:
        CorpusError: the source has fewer pairs than `config` holds out.
    """
    count = len(source_keys)
    codes: SplitCodes = np.full(count, TRAIN, dtype=np.int8)
    if source.use != "auto":
        codes[:] = SPLITS.index(source.use)
        return codes
    if config.validation + config.test > count:
        raise CorpusError(
            f"corpus source `{source.name}` has {count:,} pairs after cleaning, but corpus.split holds out "
            f"{config.validation:,} for validation and {config.test:,} for testing; lower corpus.split.validation and "
            "corpus.split.test, or give the source `use: train`"
        )
    order = _order(source, config, source_keys)
    codes[order[: config.test]] = TEST
    codes[order[config.test : config.test + config.validation]] = VALIDATION
    return codes


def _order(source: SourceConfig, config: SplitConfig, source_keys: Keys) -> NDArray[np.int64]:
    """Return the positions of all pairs, those to hold out first: test, then validation."""
    count = len(source_keys)
    if config.method == "hash":
        return np.argsort(mix(source_keys, config.seed), kind="stable")
    positions = np.arange(count, dtype=np.int64)
    if config.block_size is None:
        return positions[::-1]
    blocks = range(-(-count // config.block_size))
    drawn = sorted(blocks, key=lambda block: _block_hash(config.seed, source.name, block))
    return np.concatenate(
        [np.empty(0, dtype=np.int64)]
        + [positions[block * config.block_size : (block + 1) * config.block_size] for block in drawn]
    )


def _block_hash(seed: int, name: str, block: int) -> bytes:
    return hashlib.blake2b(f"{seed} {name} {block}".encode(), digest_size=8).digest()
