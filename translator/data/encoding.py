"""From prepared text to token stores, kept under a fingerprint of all that made them."""

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

from translator.config import NormalizationConfig
from translator.corpus.normalize import NORMALIZER_VERSION, Normalizer
from translator.corpus.prepare import PreparedCorpus
from translator.data.pair_store import PairStore
from translator.data.token_store import DamagedStoreError, TokenStore
from translator.errors import StorageError
from translator.prepared import DIGITS_IN_NAME, fingerprint_of, prepared_folder
from translator.progress import progress_bar
from translator.storage import new_folder
from translator.subword import SubwordModel, SubwordPair

STORED_SPLITS: Final = ("train", "validation")
"""The splits whose ids are needed; the test split is translated from its text."""
StoredSplit = Literal["train", "validation"]

_LOGGER: Final = logging.getLogger("translator")
_FORMAT: Final = 2
_LINES_AT_ONCE: Final = 2048
"""SentencePiece divides them among its threads; measured, larger blocks are slower: they leave the cache."""


def open_tokens(
    corpus: PreparedCorpus, subword: SubwordPair, normalization: NormalizationConfig, prepared_directory: Path
) -> tuple[dict[StoredSplit, PairStore], Path, str]:
    """Encode the training and validation text, or find what was encoded before from the same text and models.

    Stores that were found damaged are made anew, with a warning.

    Returns:
        The pairs of each split, the folder `<prepared_directory>/tokens-<fingerprint>` with `<split>/<source name>.en`
        and `.fa` stores, and the fingerprint (16 hex digits).

    Raises:
        StorageError: the folder cannot be written, what is written there does not last, or the prepared text is
            damaged.
    """
    made_from = {
        "format": _FORMAT,
        "corpus": corpus.fingerprint,
        "subword": subword.sha256,
        "normalization": normalization.model_dump(mode="json"),
        "normalizer": NORMALIZER_VERSION,
    }
    fingerprint = fingerprint_of(made_from)[:DIGITS_IN_NAME]
    folder = prepared_folder(prepared_directory, "tokens", fingerprint)
    if folder.exists():
        try:
            return _open(corpus, folder), folder, fingerprint
        except DamagedStoreError as damage:
            _LOGGER.warning(f"{damage}; all of {folder} is made anew from the prepared text")
    _write(corpus, subword, Normalizer(normalization), folder)
    try:
        return _open(corpus, folder), folder, fingerprint
    except DamagedStoreError as damage:
        raise StorageError(f"{damage}, and it has just been written; check the disk") from damage


def _open(corpus: PreparedCorpus, folder: Path) -> dict[StoredSplit, PairStore]:
    """Open the stores of each split in `folder`."""
    return {split: PairStore.open(folder / split, corpus.names(split)) for split in STORED_SPLITS}


def _write(corpus: PreparedCorpus, subword: SubwordPair, normalizer: Normalizer, folder: Path) -> None:
    """Encode all that is stored; training text is normalized already, validation text is kept as read until now."""
    sides: tuple[tuple[Literal["en", "fa"], SubwordModel, Callable[[str], str]], ...]
    sides = (("en", subword.source, normalizer.source), ("fa", subword.target, normalizer.target))
    with new_folder(folder) as beside:
        for split in STORED_SPLITS:
            for name in corpus.names(split):
                for side, model, normalize in sides:
                    lines: Iterable[str] = progress_bar(
                        corpus.lines(split, name, side),
                        description=f"Encoding {split} {name}.{side}",
                        total=corpus.count(split, name),
                        unit=" lines",
                    )
                    if split == "validation":
                        lines = map(normalize, lines)
                    prefix = beside / split / f"{name}.{side}"
                    TokenStore.write(prefix, _encoded(lines, model), model.vocabulary_size)


def _encoded(lines: Iterable[str], model: SubwordModel) -> Iterator[list[int]]:
    """Yield the ids of each line, encoding many at a time."""
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, _LINES_AT_ONCE)):
        yield from model.encode(chunk)
