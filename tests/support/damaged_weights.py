"""Weights of a run that are replaced so that every checksum of its checkpoint fits, as after a bad training."""

import hashlib
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file


def replace_weights(run: Path, value: float, *, all_weights: bool = False) -> None:
    """Put `value` for the first number of one tensor of the best checkpoint of `run`, or for all its weights."""
    checkpoint = (run / "checkpoints" / "best").resolve()
    for file in checkpoint.glob("*.safetensors"):
        old_hash = _sha256(file)
        tensors = {name: np.array(tensor) for name, tensor in load_file(file).items()}
        if file.name == "optimizer.safetensors":
            continue
        name = max(tensors, key=lambda key: tensors[key].size)
        if all_weights:
            tensors[name][...] = value
        else:
            tensors[name].flat[0] = value
        save_file(tensors, file)
        _replace_hash(checkpoint / "state.json", old_hash, _sha256(file))


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _replace_hash(file: Path, old_hash: str, new_hash: str) -> None:
    """Replace the hash of a tensor file in a JSON file, which may hold a hash of its own values as `own_sha256`."""
    values = json.loads(file.read_text(encoding="utf-8").replace(old_hash, new_hash))
    if values.pop("own_sha256", None) is not None:
        values["own_sha256"] = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
