"""The token stores of a prepared corpus: its text as ids, encoded once by several processes, then reused."""

import contextlib
import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, Literal

from tqdm import tqdm

from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.data.token_store import FORMAT, PairStore, TokenWriter
from translator.run.files import DIGITS_IN_NAME, new_folder, prepared_folder, sha256_of_json
from translator.run.logging import progress_bar
from translator.run.workers import map_in_order
from translator.subword import SubwordPair
from translator.subword.block_encoding import BlockEncoder
from translator.subword.model import ALL_CORES
from translator.subword.placeholders import PLACEHOLDERS_VERSION

StoredSplit = Literal["train", "validation"]
STORED_SPLITS: Final[tuple[StoredSplit, ...]] = ("train", "validation")
"""The splits with stored ids; the test split is translated from its text."""

_BLOCK_PAIRS: Final = 4096  # encoded at once by one process; a few thousand are as fast as more


def open_tokens(
    corpus: PreparedCorpus,
    subword: SubwordPair,
    normalizer: Normalizer,
    prepared_directory: Path,
    processes: int = 1,
) -> tuple[dict[StoredSplit, PairStore], str]:
    """Return the encoded training and validation text, and the fingerprint (16 hex digits) of their folder.

    Stores are in `<prepared_directory>/tokens-<fingerprint>/<split>`, and are written if they are missing.

    Args:
        corpus: the prepared text.
        subword: the models that encode it.
        normalizer: normalizes the validation text, which the corpus has as it was read.
        prepared_directory: where the folder is made.
        processes: number of processes that encode; it does not affect the stores.

    Raises StorageError: the folder is not writable, or a store or the prepared text is damaged.
    """
    fingerprint = _fingerprint(corpus, subword, normalizer)
    folder = prepared_folder(prepared_directory, "tokens", fingerprint)
    if not folder.exists():
        with new_folder(folder) as unfinished_folder:
            _write_stores(corpus, subword, normalizer, unfinished_folder, processes)
    stores = {split: PairStore(folder / split, _pair_counts(corpus, split), corpus.sides) for split in STORED_SPLITS}
    return stores, fingerprint


def _fingerprint(corpus: PreparedCorpus, subword: SubwordPair, normalizer: Normalizer) -> str:
    """Return the fingerprint of everything that determines the ids."""
    origin = {
        "format": FORMAT,
        "corpus": corpus.report.fingerprint,
        "subword": subword.sha256,
        "normalization": normalizer.config.model_dump(mode="json"),
        "normalizer": normalizer.rules.sha256,
        "sides": corpus.sides,
        "placeholders": PLACEHOLDERS_VERSION if subword.source.placeholders else None,
    }
    return sha256_of_json(origin)[:DIGITS_IN_NAME]


def _pair_counts(corpus: PreparedCorpus, split: StoredSplit) -> dict[str, int]:
    """Return the number of pairs of each source with text in `split`."""
    return {name: corpus.count(split, name) for name in corpus.names(split)}


def _write_stores(
    corpus: PreparedCorpus, subword: SubwordPair, normalizer: Normalizer, folder: Path, processes: int
) -> None:
    """Write each stored split to `<folder>/<split>`."""
    # Each process calls `make_encoder` to make its own function that encodes a block.
    source_side, target_side = corpus.sides
    make_encoder = partial(
        BlockEncoder,
        subword.source,
        subword.target,
        normalizer.config,
        normalizer.languages,
        normalizer.rules,
        threads=1 if processes > 1 else ALL_CORES,
    )

    # The blocks of all splits, one split after the other, are one sequence, so that the processes start only once. No
    # block has pairs of two splits, so each split takes blocks until it has all its pairs.
    with contextlib.closing(map_in_order(make_encoder, _blocks(corpus), processes)) as encoded_blocks:
        for split in STORED_SPLITS:
            source_writer = TokenWriter(folder / split, source_side, subword.source.vocabulary_size)
            target_writer = TokenWriter(folder / split, target_side, subword.target.vocabulary_size)
            pair_count = sum(_pair_counts(corpus, split).values())
            bar: tqdm[object] = progress_bar(description=f"encoding {split}", total=pair_count, unit="pairs")
            with source_writer, target_writer, bar:
                encoded_pairs = 0
                while encoded_pairs < pair_count:
                    sources, targets = next(encoded_blocks)
                    source_writer.append(sources)
                    target_writer.append(targets)
                    encoded_pairs += len(sources.lengths)
                    bar.update(len(sources.lengths))


def _blocks(corpus: PreparedCorpus) -> Iterator[tuple[list[tuple[str, str]], bool]]:
    """Yield the pairs of all stored splits and their sources, in this order, and whether they are normalized."""
    for split in STORED_SPLITS:
        for name in corpus.names(split):
            pairs = corpus.pairs(split, name)
            while block := list(itertools.islice(pairs, _BLOCK_PAIRS)):
                yield block, split == "train"
