"""Texts set aside in a folder, with their signatures, so that near-duplicates are found with little memory."""

import contextlib
import os
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from translator.corpus.duplicates.minhash import BANDS, signatures
from translator.corpus.duplicates.near import Numbers, near_duplicates
from translator.storage import storage_errors


@dataclass(frozen=True)
class SignedTexts:
    """Texts with their signatures; any process may make them."""

    texts: Sequence[str]
    bands: NDArray[np.uint64]
    """(N, BANDS)."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> "SignedTexts":
        """Sign `texts`."""
        return cls(texts, signatures(texts))


class Shelf:
    """Folded pairs, numbered from 0 in the order in which they are put here; 8 bytes of memory each."""

    def __init__(self, folder: Path) -> None:
        """Take an empty folder for the shelf's two files, which stay open until the shelf is left.

        Raises:
            StorageError: the folder cannot be written.
        """
        self._folder = folder
        self._ends = array("q", [0])
        self._files = contextlib.ExitStack()
        with storage_errors(folder):
            self._texts = self._files.enter_context((folder / "texts").open("w+b"))
            self._bands = self._files.enter_context((folder / "bands").open("w+b"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with storage_errors(self._folder):  # on a full disk, closing fails as writing did
            self._files.close()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def put(self, more: SignedTexts) -> None:
        """Add some texts; best a few thousand at a time.

        Raises:
            StorageError: the disk is full.
        """
        encoded = [text.encode() for text in more.texts]
        with storage_errors(self._folder):
            for file, content in ((self._texts, b"".join(encoded)), (self._bands, more.bands.tobytes())):
                file.seek(0, os.SEEK_END)  # reading has moved it
                file.write(content)
        for text in encoded:
            self._ends.append(self._ends[-1] + len(text))

    def text(self, number: int) -> str:
        """Return one of the texts."""
        start, end = self._ends[number], self._ends[number + 1]
        with storage_errors(self._folder, "read"):
            self._texts.seek(start)
            return self._texts.read(end - start).decode()

    def near_duplicates(self, candidates: Numbers, threshold: float) -> Numbers:
        """Return what `near_duplicates` finds among the texts with these numbers: shape (number of texts,).

        Raises:
            StorageError: the disk is full.
        """
        count = len(self)
        if not count:
            return np.empty(0, dtype=np.int64)
        with storage_errors(self._folder):
            self._texts.flush()
            self._bands.flush()
        bands = np.memmap(self._bands, dtype=np.uint64, mode="r", shape=(count, BANDS))
        return near_duplicates(bands, candidates, threshold, self.text)
