"""Whether the disk has room for a checkpoint, asked before anything is written."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from translator.errors import StorageError
from translator.storage import storage_errors

_FOR_THE_REST = 131_072
"""Bytes for state.json (mostly the generators of Python and NumPy) and for files that end inside a disk block."""
_FOR_A_NAME = 256
"""Bytes for name, type, shape and place of one tensor."""


def check_space(path: Path, tensors: Sequence[Tensor]) -> None:
    """Make sure that a checkpoint with `tensors` has room at `path`, beside all that is there already.

    Raises:
        StorageError: the disk has less room than the checkpoint needs, or the folder cannot be made.
    """
    needed = _FOR_THE_REST + sum(tensor.numel() * tensor.element_size() + _FOR_A_NAME for tensor in tensors)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        disk = shutil.disk_usage(path.parent)
    if disk.total and disk.free < needed:  # a file system in memory without a limit has a total of 0
        raise StorageError(
            f"cannot write {path}: the disk is too full; the checkpoint needs {_megabytes(needed)} and "
            f"{_megabytes(disk.free)} are free. Older checkpoints are untouched; free some space there, or lower "
            "training.keep_checkpoints, and run the same command again"
        )


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.2f} MB"
