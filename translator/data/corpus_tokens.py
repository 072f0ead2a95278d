"""The token stores of a prepared corpus: its text as ids, encoded once by several processes, then reused."""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, Literal

from tqdm import tqdm

from translator.corpus.normalizer import Normalizer
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.data.token_store import FORMAT, DamagedStoreError, PairStore, TokenWriter
from translator.errors import StorageError
from translator.run.logging import LOGGER, progress_bar
from translator.run.prepared_folder import DIGITS_IN_NAME, prepared_folder
from translator.run.storage import sha256_of_json
from translator.run.work_folders import new_folder
from translator.run.workers import map_in_order
from translator.subword import SubwordPair
from translator.subword.block_encoding import BlockEncoder, EncodedBlock, PairBlock
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
    *,
    verify: bool = True,
) -> tuple[dict[StoredSplit, PairStore], Path, str]:
    """Return the encoded training and validation text, their folder and its fingerprint (16 hex digits).

    Stores are in `<prepared_directory>/tokens-<fingerprint>` as `<split>/<source name>.en` and `.fa`. They are written
    if missing, and rewritten with a warning if damaged.

    Args:
        subword: the models that encode it.
        normalizer: normalizes the validation text, which is stored as read.
        prepared_directory: where the folder is made.
        processes: number of processes that encode; it does not affect the stores.
        verify: whether to check the content of existing stores; otherwise only the sizes of their files are checked.

    Raises StorageError: the folder is not writable, written data is unreadable, or the prepared text is damaged.
    """
    fingerprint = _fingerprint(corpus, subword, normalizer)
    folder = prepared_folder(prepared_directory, "tokens", fingerprint)

    # 1. Use the stores of an earlier preparation.
    if folder.exists():
        try:
            return _open_splits(corpus, folder, verify), folder, fingerprint
        except DamagedStoreError as damage:
            LOGGER.warning(f"{damage}; recreating {folder} from the prepared text")

    # 2. Or write them.
    with new_folder(folder) as unfinished_folder:
        _write_stores(corpus, subword, normalizer, unfinished_folder, processes)
    try:
        return _open_splits(corpus, folder, verify=True), folder, fingerprint
    except DamagedStoreError as damage:
        raise StorageError(f"{damage} directly after writing; check the disk") from damage


def _fingerprint(corpus: PreparedCorpus, subword: SubwordPair, normalizer: Normalizer) -> str:
    """Return the fingerprint of everything that determines the ids."""
    origin = {
        "format": FORMAT,
        "corpus": corpus.fingerprint,
        "subword": subword.sha256,
        "normalization": normalizer.config.model_dump(mode="json"),
        "normalizer": normalizer.rules.sha256,
        "sides": corpus.sides,
        "placeholders": PLACEHOLDERS_VERSION if subword.source.placeholders else None,
    }
    return sha256_of_json(origin)[:DIGITS_IN_NAME]


def _open_splits(corpus: PreparedCorpus, folder: Path, verify: bool) -> dict[StoredSplit, PairStore]:
    stores: dict[StoredSplit, PairStore] = {}
    for split in STORED_SPLITS:
        stores[split] = PairStore.open(folder / split, corpus.names(split), corpus.sides, verify=verify)
    return stores


def _write_stores(
    corpus: PreparedCorpus, subword: SubwordPair, normalizer: Normalizer, folder: Path, processes: int
) -> None:
    """Write a store for each side of each source and split to `<folder>/<split>`."""
    source_side, target_side = corpus.sides
    encoder = partial(
        BlockEncoder,
        subword.source,
        subword.target,
        normalizer.config,
        normalizer.languages,
        normalizer.rules,
        threads=1 if processes > 1 else ALL_CORES,
    )
    with contextlib.closing(map_in_order(encoder, _blocks(corpus), processes)) as encoded_blocks:
        for split in STORED_SPLITS:
            for name in corpus.names(split):
                pairs = corpus.count(split, name)
                source_writer = TokenWriter(folder / split / f"{name}.{source_side}", subword.source.vocabulary_size)
                target_writer = TokenWriter(folder / split / f"{name}.{target_side}", subword.target.vocabulary_size)
                bar: tqdm[object] = progress_bar(description=f"encoding {split} {name}", total=pairs, unit="pairs")
                with source_writer, target_writer, bar:
                    _write_source(encoded_blocks, pairs, source_writer, target_writer, bar)


def _write_source(
    encoded_blocks: Iterator[EncodedBlock],
    pairs: int,
    source_writer: TokenWriter,
    target_writer: TokenWriter,
    bar: "tqdm[object]",
) -> None:
    """Write the next `pairs` pairs of `encoded_blocks`, those of one source; a block never has pairs of two."""
    encoded_pairs = 0
    while encoded_pairs < pairs:
        block = next(encoded_blocks, None)
        assert block is not None, "every source has as many pairs as the corpus says"
        source_writer.append(block.source)
        target_writer.append(block.target)
        encoded_pairs += len(block.source.lengths)
        bar.update(len(block.source.lengths))


def _blocks(corpus: PreparedCorpus) -> Iterator[PairBlock]:
    """Yield the text of all stored splits and their sources, in this order."""
    source_side, target_side = corpus.sides
    for split in STORED_SPLITS:
        for name in corpus.names(split):
            source_blocks = corpus.blocks(split, name, source_side, _BLOCK_PAIRS)
            target_blocks = corpus.blocks(split, name, target_side, _BLOCK_PAIRS)
            for source, target in zip(source_blocks, target_blocks, strict=True):
                yield PairBlock(source=source, target=target, is_normalized=split == "train")
