"""Checkpoints: saved whole or not at all, verified when loaded, never unpickled.

checkpoints/step-000123/model.safetensors       weights
                        optimizer.safetensors   optimizer moments and random number generators
                        state.json              everything else, with the SHA-256 of the two files above
checkpoints/last -> step-000123                 the newest
checkpoints/best -> step-000100                 the best by the validation score
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from translator.config import ModelConfig
from translator.corpus.normalize import NORMALIZER_VERSION
from translator.errors import CheckpointError
from translator.model import Transformer
from translator.storage import new_folder, replace_link, storage_errors, write_json

MODEL_FILE = "model.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
STATE_FILE = "state.json"
FORMAT = 1
_STEP_NAME = re.compile(r"step-([0-9]{6,12})")


@dataclass(frozen=True)
class CheckpointState:
    """What a checkpoint holds besides tensors: enough to go on training, or to know what the weights need."""

    step: int
    model: dict[str, Any]
    """The model section of the configuration."""
    source_vocabulary: int
    target_vocabulary: int
    subword: dict[str, str]
    """SHA-256 of each subword model by file name."""
    data: str = ""
    """Fingerprint of the prepared data."""
    normalizer_version: int = NORMALIZER_VERSION
    normalization: dict[str, Any] = field(default_factory=dict)
    """The section of the configuration: which rules of the normalizer the text went through."""
    position: dict[str, int] = field(default_factory=dict)
    """Where the data go on."""
    progress: dict[str, Any] = field(default_factory=dict)
    """Best score, patience, tokens and seconds so far."""
    random: dict[str, Any] = field(default_factory=dict)
    """Generators of Python and NumPy; those of torch are tensors."""


class LoadedCheckpoint(NamedTuple):
    """A checkpoint read back whole."""

    state: CheckpointState
    model: dict[str, Tensor]
    training: dict[str, Tensor]
    """Optimizer moments and random number generators."""


def step_folder(folder: Path, step: int) -> Path:
    """Return the folder of the checkpoint at `step`."""
    return folder / f"step-{step:06d}"


def steps_saved(folder: Path) -> list[int]:
    """Return the steps that have a checkpoint in `folder`, ascending."""
    found = (_STEP_NAME.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(int(match[1]) for match in found if match)


def save_checkpoint(
    folder: Path, state: CheckpointState, model: Mapping[str, Tensor], training: Mapping[str, Tensor]
) -> Path:
    """Write one checkpoint into `folder` and point the link `last` at it.

    Raises:
        StorageError: the disk is full or the folder cannot be written; checkpoints already there are untouched.
    """
    path = step_folder(folder, state.step)
    with new_folder(path) as beside:
        digests = {}
        for name, tensors in ((MODEL_FILE, model), (OPTIMIZER_FILE, training)):
            try:
                save_file({key: tensor.detach().contiguous().cpu() for key, tensor in tensors.items()}, beside / name)
            except SafetensorError as error:  # it wraps the system's own error into text
                raise OSError(_error_number(str(error)), str(error)) from error
            digests[name] = _sha256(beside / name)
        body = {"format": FORMAT, "sha256": digests, "state": asdict(state)}
        write_json(beside / STATE_FILE, body | {"own_sha256": _sha256_of_json(body)})
    replace_link(folder / "last", path.name)
    return path


def _error_number(text: str) -> int:
    number = re.search(r"os error (\d+)", text)
    return int(number[1]) if number else 0


def mark_best(folder: Path, step: int) -> None:
    """Point the link `best` at the checkpoint of `step`."""
    replace_link(folder / "best", step_folder(folder, step).name)


def remove_old_checkpoints(folder: Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints and the one that `best` points at."""
    best = (folder / "best").resolve()
    for step in steps_saved(folder)[:-keep]:
        path = step_folder(folder, step)
        if path.resolve() != best:
            with storage_errors(path, "delete"):
                # Renamed first: a kill in the middle of the deletion leaves no folder that looks whole.
                doomed = path.rename(folder / f".{path.name}.old")
                shutil.rmtree(doomed)
    for left_over in folder.glob(".step-*"):
        shutil.rmtree(left_over, ignore_errors=True)


def find_checkpoint(folder: Path, name: str) -> Path:
    """Return the folder that `name` stands for: `best`, `last`, a step number or `step-000123`.

    `best` falls back to `last` in a run that never validated.

    Raises:
        CheckpointError: there is no such checkpoint; the message lists those that there are.
    """
    wanted = f"step-{int(name):06d}" if re.fullmatch(r"[0-9]{1,12}", name) else name
    if wanted in ("best", "last") or _STEP_NAME.fullmatch(wanted):  # a name, never a path
        candidates = [wanted, "last"] if wanted == "best" and not os.path.lexists(folder / "best") else [wanted]
        for candidate in candidates:
            if (folder / candidate).is_dir():
                return (folder / candidate).resolve()
    steps = steps_saved(folder)
    if wanted in ("best", "last") and steps:
        return step_folder(folder, steps[-1])
    there = ", ".join(str(step) for step in steps) or "none"
    raise CheckpointError(f"no checkpoint `{name}` in {folder}; steps saved: {there} (also `best` and `last`)")


def load_checkpoint(path: Path, *, with_training: bool = True) -> LoadedCheckpoint:
    """Read the checkpoint in `path` and verify it against its own checksums.

    Args:
        path: a checkpoint folder.
        with_training: also read the optimizer's tensors; without them `training` is empty.

    Raises:
        CheckpointError: a file is missing, truncated or changed.
    """
    advice = f"delete {path} to go on from the checkpoint before it, or restore it from a copy"
    try:
        content = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))
        if content.pop("own_sha256") != _sha256_of_json(content):
            raise ValueError("checksum differs")
        digests = content["sha256"]
        known = {item.name for item in fields(CheckpointState)}
        state = CheckpointState(**{key: value for key, value in content["state"].items() if key in known})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"damaged checkpoint: cannot read {path / STATE_FILE} ({error}); {advice}") from error
    if content.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} has checkpoint format {content.get('format')}, this version of translator reads {FORMAT}; "
            "use the version that wrote it (see run.json)"
        )
    tensors: dict[str, dict[str, Tensor]] = {OPTIMIZER_FILE: {}}
    for name in (MODEL_FILE, OPTIMIZER_FILE) if with_training else (MODEL_FILE,):
        file = path / name
        if not file.is_file():
            raise CheckpointError(f"damaged checkpoint: {file} is missing; {advice}")
        if _sha256(file) != digests.get(name):
            raise CheckpointError(f"damaged checkpoint: {file} is not what was written (checksum differs); {advice}")
        try:
            tensors[name] = load_file(file)
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"damaged checkpoint: cannot read {file} ({error}); {advice}") from error
    return LoadedCheckpoint(state, tensors[MODEL_FILE], tensors[OPTIMIZER_FILE])


def load_model(folder: Path, name: str, device: torch.device) -> tuple[Transformer, CheckpointState]:
    """Build the model of the checkpoint `name` (see `find_checkpoint`) in `folder`, in evaluation mode on `device`.

    Raises:
        CheckpointError: there is no such checkpoint, it is damaged, or another normalizer prepared its text.
    """
    path = find_checkpoint(folder, name)
    loaded = load_checkpoint(path, with_training=False)
    state = loaded.state
    check_normalizer(state, path)
    model = Transformer(ModelConfig(**state.model), state.source_vocabulary, state.target_vocabulary)
    restore_weights(model, loaded.model, path)
    return model.to(device).eval(), state


def check_normalizer(state: CheckpointState, path: Path) -> None:
    """Refuse a checkpoint whose text went through another version of the normalizer than the one at hand.

    Raises:
        CheckpointError: the versions differ.
    """
    if state.normalizer_version != NORMALIZER_VERSION:
        raise CheckpointError(
            f"{path} was trained on text of normalizer version {state.normalizer_version}, this version of translator "
            f"has {NORMALIZER_VERSION}; use the version that wrote it (see run.json) or train again"
        )


def restore_weights(model: Transformer, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy saved weights into `model`.

    Raises:
        CheckpointError: names or shapes differ; the message lists them.
    """
    problems = []
    own = model.state_dict()
    for key in sorted(own.keys() | tensors.keys()):
        if key not in tensors:
            problems.append(f"{key} is missing")
        elif key not in own:
            problems.append(f"{key} is not a weight of this model")
        elif own[key].shape != tensors[key].shape:
            problems.append(f"{key} is {tuple(tensors[key].shape)}, expected {tuple(own[key].shape)}")
    if problems:
        listed = "; ".join(problems[:8]) + ("; ..." if len(problems) > 8 else "")
        raise CheckpointError(f"the weights in {path} do not fit the model: {listed}")
    model.load_state_dict(dict(tensors))


def _sha256_of_json(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
