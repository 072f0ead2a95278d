"""Weights in safetensors files: how many there are, and the mean of several checkpoints."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from translator.errors import CheckpointError
from translator.storage import storage_errors, write_bytes


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file.

    Raises:
        CheckpointError: it is cut off or no such file at all.
        StorageError: it cannot be read.
    """
    try:
        with storage_errors(path, "read"):
            tensors: dict[str, Tensor] = load_file(path)
    except SafetensorError as error:
        raise CheckpointError(f"{path} holds no whole tensors ({error}); remove it") from error
    return tensors


def count_weights(path: Path, left_out: Sequence[str] = ()) -> int:
    """Return how many numbers were trained; a matrix that is there under two names counts once.

    Args:
        path: a safetensors file.
        left_out: parts of the names of tensors that are not trained.

    Raises:
        CheckpointError: the file is not whole.
        StorageError: it cannot be read.
    """
    different: list[Tensor] = []
    for name, tensor in sorted(load_tensors(path).items()):
        if any(part in name for part in left_out):
            continue
        # Two matrices that are equal in every bit after training are one matrix; short vectors may be equal by chance.
        if tensor.dim() < 2 or not any(one.shape == tensor.shape and torch.equal(one, tensor) for one in different):
            different.append(tensor)
    return sum(tensor.numel() for tensor in different)


def average_weights(paths: Sequence[Path], output: Path) -> None:
    """Write the mean of the tensors of several files, computed in float64; whole numbers are the last file's.

    Raises:
        CheckpointError: a file is not whole, or they differ in their tensors.
        StorageError: a file cannot be read or written.
    """
    assert paths
    last = load_tensors(paths[-1])
    sums = {name: torch.zeros_like(tensor, dtype=torch.float64) for name, tensor in last.items()}
    for path in paths:
        tensors = load_tensors(path)
        if {name: tensor.shape for name, tensor in tensors.items()} != {name: one.shape for name, one in last.items()}:
            raise CheckpointError(f"{path} and {paths[-1]} are checkpoints of unlike models")
        for name, tensor in tensors.items():
            sums[name] += tensor
    means = {
        name: (sums[name] / len(paths)).to(tensor.dtype) if tensor.is_floating_point() else tensor
        for name, tensor in last.items()
    }
    write_bytes(output, save(means, metadata={"format": "pt"}))
