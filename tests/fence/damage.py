"""Damage to the files of a run, and other values in them under checksums that are right."""

import hashlib
import json
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file, save

from tests.fence.files import read_json


def flip_last_bit(file: Path) -> None:
    """Damage a file as a disk may do it."""
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def rewrite(file: Path, **changes: Any) -> None:
    """Change values in a JSON file of a run."""
    values = {**read_json(file), **changes}
    del values["own_sha256"]
    values["own_sha256"] = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def replace_weights(checkpoint: Path, content: bytes) -> None:
    """Replace the file of the weights of a checkpoint."""
    (checkpoint / "model.safetensors").write_bytes(content)
    state = read_json(checkpoint / "state.json")
    state["sha256"]["model.safetensors"] = hashlib.sha256(content).hexdigest()
    state["bytes"]["model.safetensors"] = len(content)
    rewrite(checkpoint / "state.json", sha256=state["sha256"], bytes=state["bytes"])


def let_diverge(run: Path, value: float, *, all_weights: bool = False) -> None:
    """Put `value` for the first number of the largest matrix of the best checkpoint, or for all its numbers."""
    checkpoint = (run / "checkpoints" / "best").resolve()
    tensors = load_file(checkpoint / "model.safetensors")
    largest = max(tensors, key=lambda name: tensors[name].size)
    weights = tensors[largest].copy()
    weights.flat[: weights.size if all_weights else 1] = value
    replace_weights(checkpoint, save({**tensors, largest: weights}))
