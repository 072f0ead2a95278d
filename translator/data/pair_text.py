"""The prepared text of training pairs by number: memory-mapped files, and the place of each line in them.

A folder of stored tokens has, for each prepared text NAME.SIDE of the training split:

NAME.SIDE.lines.npy   (N + 1,) int64: where each line begins in bytes, and finally the size of the text
"""

import functools
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from translator.core.batch import Numbers
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.run.files import storage_errors

_NEWLINE: Final = 10


def write_line_starts(corpus: PreparedCorpus, folder: Path) -> None:
    """Write the places of the lines of all training text to `folder`; raise StorageError if the disk is full."""
    for name in corpus.names("train"):
        for side in corpus.sides:
            text_file = corpus.directory / "train" / f"{name}.{side}"
            with storage_errors(text_file, "read"):
                ends = np.flatnonzero(np.memmap(text_file, np.uint8, mode="r") == _NEWLINE) + 1
            with storage_errors(folder):
                np.save(folder / f"{text_file.name}.lines.npy", np.concatenate(([0], ends)).astype("<i8"))


class PairText:
    """Both sides of each training pair as text; opens its files when it is first asked for a pair."""

    def __init__(self, corpus: PreparedCorpus, folder: Path) -> None:
        """Take a prepared corpus, and the folder that `write_line_starts` was given."""
        self._arguments = (corpus, folder)
        counts = [corpus.count("train", name) for name in corpus.names("train")]
        self._starts = np.cumsum([0, *counts])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the place of the files, which another process opens itself."""
        return PairText, self._arguments

    def __getitem__(self, number: int) -> tuple[str, str]:
        """Return source and target of pair `number`, from 0; raise StorageError if a file cannot be read."""
        source = int(np.searchsorted(self._starts, number, side="right")) - 1
        line = number - int(self._starts[source])
        source_file, target_file = self._files[source]
        return _line(*source_file, line), _line(*target_file, line)

    @functools.cached_property
    def _files(self) -> list[list[tuple[NDArray[np.uint8], Numbers]]]:
        """The bytes of each text and the starts of its lines, by source and side."""
        corpus, folder = self._arguments
        files = []
        for name in corpus.names("train"):
            sides = []
            for side in corpus.sides:
                text_file = corpus.directory / "train" / f"{name}.{side}"
                with storage_errors(text_file, "read"):
                    content = np.memmap(text_file, np.uint8, mode="r").view(np.ndarray)  # a memmap is slow to slice
                    starts = np.load(folder / f"{text_file.name}.lines.npy", mmap_mode="r").view(np.ndarray)
                sides.append((content, starts))
            files.append(sides)
        return files


def _line(content: NDArray[np.uint8], starts: Numbers, number: int) -> str:
    """Return line `number` of a text, without its newline."""
    start, end = starts[number : number + 2]
    return content[start : end - 1].tobytes().decode("utf-8")
