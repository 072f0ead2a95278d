"""The files of a checkpoint: written whole or not at all, verified when read, never unpickled."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from translator.checkpoint.names import LAST
from translator.checkpoint.space import check_space
from translator.checkpoint.state import CheckpointState, DamagedCheckpointError, LoadedCheckpoint
from translator.errors import CheckpointError
from translator.storage import new_folder, replace_link, write_json

MODEL_FILE = "model.safetensors"
AVERAGE_FILE = "ema.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
STATE_FILE = "state.json"
FORMAT = 1


def save_checkpoint(
    folder: Path,
    state: CheckpointState,
    model: Mapping[str, Tensor],
    training: Mapping[str, Tensor],
    average: Mapping[str, Tensor] | None = None,
) -> Path:
    """Write one checkpoint into `folder` and point the link `last` at it.

    Raises:
        StorageError: the disk is full or the folder cannot be written; checkpoints already there are untouched.
    """
    tensors = {MODEL_FILE: model, OPTIMIZER_FILE: training} | ({AVERAGE_FILE: average} if average else {})
    path = write_checkpoint(folder / state.name, state, tensors)
    replace_link(folder / LAST, path.name)
    return path


def write_checkpoint(path: Path, state: CheckpointState, files: Mapping[str, Mapping[str, Tensor]]) -> Path:
    """Write the checkpoint folder `path`, in place of an older one: the tensors of each file, then their checksums.

    Raises:
        StorageError: the disk is full or the folder cannot be written; what was there is untouched.
    """
    check_space(path, [tensor for tensors in files.values() for tensor in tensors.values()])
    with new_folder(path) as beside:
        digests, sizes = {}, {}
        for name, tensors in files.items():
            held = {key: tensor.detach().contiguous().cpu() for key, tensor in tensors.items()}
            try:
                save_file(held, beside / name)
            except SafetensorError as error:  # it wraps the system's own error into text
                raise OSError(_error_number(str(error)), str(error)) from error
            (beside / name).chmod(0o644)  # safetensors gives 0600; others may read a run folder too
            digests[name] = _sha256_of_tensors(beside / name, held)
            sizes[name] = (beside / name).stat().st_size
        body = {"format": FORMAT, "sha256": digests, "bytes": sizes, "state": asdict(state)}
        write_json(beside / STATE_FILE, body | {"own_sha256": _sha256_of_json(body)})
    return path


def read_state(path: Path) -> CheckpointState:
    """Read what the checkpoint in `path` says of itself, without its tensors; their files are there in full length.

    Raises:
        CheckpointError: it is damaged, as far as can be told without reading the tensors, or of another format.
    """
    content = _read_description(path)
    for name, size in content.get("bytes", {}).items():
        if not (path / name).is_file():
            raise DamagedCheckpointError(f"{path / name} is missing", _advice(path))
        if (path / name).stat().st_size != size:
            raise DamagedCheckpointError(f"{path / name} is not what was written (length differs)", _advice(path))
    return CheckpointState.from_json(content["state"])


def verify_checkpoint(path: Path) -> None:
    """Compare every file of the checkpoint in `path` with its checksum, keeping nothing in memory.

    Raises:
        CheckpointError: a file is missing, truncated or changed, or the checkpoint is of another format.
    """
    listed = _read_description(path)["sha256"]
    for name in listed:
        _verify_file(path, name, listed)


def load_checkpoint(path: Path, *, with_training: bool = True) -> LoadedCheckpoint:
    """Read the checkpoint in `path` and verify it against its own checksums.

    Args:
        path: a checkpoint folder.
        with_training: also read what only training needs; without it `training` and `average` are empty.

    Raises:
        CheckpointError: a file is missing, truncated or changed, or the checkpoint is of another format.
    """
    content = _read_description(path)
    listed = content["sha256"]
    wanted = [MODEL_FILE, *(name for name in (OPTIMIZER_FILE, AVERAGE_FILE) if with_training and name in listed)]
    tensors = {name: _read_tensors(path, name, listed) for name in wanted}
    state = CheckpointState.from_json(content["state"])
    return LoadedCheckpoint(state, tensors[MODEL_FILE], tensors.get(OPTIMIZER_FILE, {}), tensors.get(AVERAGE_FILE, {}))


def load_weights(path: Path) -> tuple[CheckpointState, dict[str, Tensor]]:
    """Read the weights to translate with: the moving average where the checkpoint in `path` has one.

    Raises:
        CheckpointError: a file is missing, truncated or changed, or the checkpoint is of another format.
    """
    content = _read_description(path)
    listed = content["sha256"]
    name = AVERAGE_FILE if AVERAGE_FILE in listed else MODEL_FILE
    return CheckpointState.from_json(content["state"]), _read_tensors(path, name, listed)


def _read_description(path: Path) -> dict[str, Any]:
    """Read state.json and verify it against its own checksum."""
    file = path / STATE_FILE
    try:
        text = file.read_text(encoding="utf-8")
        content: dict[str, Any] = json.loads(text)
        if json.dumps(content, ensure_ascii=False, indent=2) + "\n" != text:
            raise ValueError("it is not as it was written")
        if content.pop("own_sha256") != _sha256_of_json(content):
            raise ValueError("checksum differs")
        if content["format"] != FORMAT:
            raise CheckpointError(
                f"{path} has checkpoint format {content['format']}, this version of translator reads {FORMAT}; "
                "use the version that wrote it (see run.json)"
            )
        CheckpointState.from_json(content["state"])
        content["sha256"].keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCheckpointError(f"cannot read {file} ({error})", _advice(path)) from error
    return content


def _read_tensors(path: Path, name: str, digests: Mapping[str, str]) -> dict[str, Tensor]:
    """Read one file of tensors and verify it."""
    file = path / name
    _verify_file(path, name, digests)
    try:
        return load_file(file)
    except (SafetensorError, OSError) as error:
        raise DamagedCheckpointError(f"cannot read {file} ({error})", _advice(path)) from error


def _verify_file(path: Path, name: str, digests: Mapping[str, str]) -> None:
    """Compare one file with its checksum."""
    file = path / name
    if not file.is_file():
        raise DamagedCheckpointError(f"{file} is missing", _advice(path))
    try:
        with file.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise DamagedCheckpointError(f"cannot read {file} ({error})", _advice(path)) from error
    if digest != digests.get(name):
        raise DamagedCheckpointError(f"{file} is not what was written (checksum differs)", _advice(path))


def _advice(path: Path) -> str:
    return f"delete {path} to do without it, or restore it from a copy"


def _sha256_of_tensors(file: Path, tensors: Mapping[str, Tensor]) -> str:
    """Return the SHA-256 that `file` has if it holds `tensors` as they are in memory.

    Only the header is read back. Reading all back would bless what a failing disk made of the tensors; this way such
    damage shows when the checkpoint is loaded.
    """
    digest = hashlib.sha256()
    with file.open("rb") as handle:
        length = handle.read(8)
        header = handle.read(int.from_bytes(length, "little"))
    digest.update(length + header)
    layout = {name: entry["data_offsets"] for name, entry in json.loads(header).items() if name != "__metadata__"}
    assert layout.keys() == tensors.keys(), "the library wrote other tensors than it was given"
    for name in sorted(layout, key=lambda name: tuple(layout[name])):
        if tensors[name].numel():
            digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _error_number(text: str) -> int:
    number = re.search(r"os error (\d+)", text)
    return int(number[1]) if number else 0


def _sha256_of_json(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
