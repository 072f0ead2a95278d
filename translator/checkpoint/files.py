"""The tensors of a checkpoint: written atomically, verified on reading, never unpickled."""

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from translator.checkpoint.state import (
    AVERAGE_FILE,
    FORMAT,
    LAST,
    MODEL_FILE,
    OPTIMIZER_FILE,
    STATE_FILE,
    CheckpointState,
    DamagedCheckpointError,
    PinnedCheckpoint,
    TensorFile,
    other_checkpoints,
    read_checkpoint,
)
from translator.core.transformer import Transformer
from translator.errors import CheckpointError
from translator.run.files import new_folder, replace_link, sha256_of_file, write_json
from translator.run.records import sign


class LoadedCheckpoint(NamedTuple):
    """The content of a checkpoint."""

    state: CheckpointState
    model: dict[str, Tensor]  # the raw weights, not averaged
    moments: dict[str, Tensor]  # of the optimizers
    average: dict[str, Tensor]  # moving average of the weights; empty in a run without one


def save_checkpoint(
    folder: Path,
    state: CheckpointState,
    model: Mapping[str, Tensor],
    moments: Mapping[str, Tensor],
    average: Mapping[str, Tensor] | None = None,
) -> Path:
    """Write one checkpoint into `folder` and point `last` to it; a StorageError leaves older checkpoints intact.

    Args:
        folder: the checkpoints of a run.
        state: names the checkpoint, and goes into state.json.
        model: the weights.
        moments: those of the optimizers, by `moments_of`.
        average: the moving average of the weights, in a run with one.
    """
    files = {MODEL_FILE: model, OPTIMIZER_FILE: moments}
    if average:
        files[AVERAGE_FILE] = average
    path = write_checkpoint(folder / state.name, state, files)
    replace_link(folder / LAST, path.name)
    return path


def write_checkpoint(path: Path, state: CheckpointState, files: Mapping[str, Mapping[str, Tensor]]) -> Path:
    """Write the checkpoint folder `path`, replacing an older one, and return it; errors as `save_checkpoint`."""
    with new_folder(path) as beside:
        digests: dict[str, str] = {}
        sizes: dict[str, int] = {}
        for name, tensors in files.items():
            file = beside / name
            _write_tensors(file, tensors)
            file.chmod(beside.stat().st_mode & 0o666)  # safetensors sets 0600; a new folder obeys the umask
            digests[name] = sha256_of_file(file)
            sizes[name] = file.stat().st_size
        description = {"format": FORMAT, "sha256": digests, "bytes": sizes, "state": state.to_json()}
        write_json(beside / STATE_FILE, sign(description))
    return path


def _write_tensors(file: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors, copied to the CPU, as safetensors; raise OSError if the disk fails."""
    on_cpu = {key: tensor.detach().contiguous().cpu() for key, tensor in tensors.items()}
    try:
        save_file(on_cpu, file)
    except SafetensorError as error:  # gives the system's error number only in its text
        number = re.search(r"os error (\d+)", str(error))
        raise OSError(int(number[1]) if number else 0, str(error)) from error


def load_checkpoint(path: Path) -> LoadedCheckpoint:
    """Return the checkpoint in `path`; raise CheckpointError if it is damaged or its format is unsupported."""
    checkpoint = read_checkpoint(path)
    tensors = [_read_tensors(path, name, checkpoint.sha256) for name in (MODEL_FILE, OPTIMIZER_FILE, AVERAGE_FILE)]
    return LoadedCheckpoint(checkpoint.state, *tensors)


def load_weights(path: Path) -> tuple[CheckpointState, dict[str, Tensor]]:
    """Return state and weights for translation: the moving average, if there is one.

    Raises CheckpointError: the checkpoint is damaged, or a weight is not finite.
    """
    checkpoint = read_checkpoint(path)
    return checkpoint.state, _read_weights(path, checkpoint.sha256)


def load_model(checkpoint: PinnedCheckpoint, device: torch.device) -> Transformer:
    """Return the model of a checkpoint (see `pin_checkpoint`), in evaluation mode on `device`.

    Raises CheckpointError: the checkpoint is damaged, has been deleted, or has a weight that is not finite.
    """
    path, state = checkpoint.path, checkpoint.state
    try:
        weights = _read_weights(path, checkpoint.sha256)
    except DamagedCheckpointError as error:
        if not path.exists():
            raise CheckpointError(
                f"{path} was deleted before its weights were read, perhaps by a training that is still running; run "
                "the same command again"
            ) from error
        raise CheckpointError(f"{error}; other {other_checkpoints(path.parent, path)}") from error
    model = Transformer(state.model.settings, state.source_vocabulary, state.target_vocabulary)
    restore_weights(model, weights, path)
    return model.to(device).eval()


def restore_weights(model: Transformer, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy saved weights into `model`; raise CheckpointError, with the differences, if names or shapes differ."""
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        listed = textwrap.shorten(str(error), 600, placeholder=" ...")
        raise CheckpointError(f"the weights in {path} do not fit the model: {listed}") from error


def _read_weights(path: Path, digests: Mapping[TensorFile, str]) -> dict[str, Tensor]:
    """Return the verified weights for translation: the moving average, if there is one."""
    name: TensorFile = AVERAGE_FILE if AVERAGE_FILE in digests else MODEL_FILE
    weights = _read_tensors(path, name, digests)
    if not are_finite(weights.values()):
        raise CheckpointError(
            f"a weight in {path / name} is not a finite number (NaN or infinity): its training has diverged; use an "
            f"earlier checkpoint ({other_checkpoints(path.parent, path)})"
        )
    return weights


def are_finite(tensors: Iterable[Tensor]) -> bool:
    """Return whether no tensor has NaN or infinity."""
    # `aminmax` propagates NaN, and needs no mask as large as the weights.
    bounds: list[Tensor] = []
    for tensor in tensors:
        bounds += torch.aminmax(tensor.detach())
    return not bounds or bool(torch.isfinite(torch.stack(bounds)).all())


def _read_tensors(path: Path, name: TensorFile, digests: Mapping[TensorFile, str]) -> dict[str, Tensor]:
    """Return the tensors of one file; empty if the checkpoint does not include it.

    Raises DamagedCheckpointError: the file is unreadable, or has the wrong checksum.
    """
    if name not in digests:
        return {}
    file = path / name
    try:
        if sha256_of_file(file) != digests[name]:
            raise DamagedCheckpointError(f"{file} does not match its checksum", path)
        return load_file(file)
    except OSError as error:
        raise DamagedCheckpointError(f"cannot read {file} ({error.strerror})", path) from error
    except SafetensorError as error:  # with the right checksum, if another program wrote file and checksum
        raise DamagedCheckpointError(f"cannot read {file} ({error})", path) from error
