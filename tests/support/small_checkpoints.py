"""Checkpoints of a model of a few weights, and ways to damage them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from translator.checkpoint.files import save_checkpoint
from translator.checkpoint.state import STATE_FILE, CheckpointState
from translator.config import ModelConfig
from translator.core.transformer import Transformer
from translator.run.files import write_json
from translator.run.records import sign

SMALL = ModelConfig(d_model=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=16, max_positions=32)
MISSING = object()
HARMS = ("truncate", "flip", "remove", "empty")


def small_model(tied: str = "target", seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(SMALL.model_copy(update={"tied_embeddings": tied}).settings, 11, 11)


def small_state(step: int, tied: str = "target", score: float | None = None) -> CheckpointState:
    return CheckpointState(
        step=step,
        model=SMALL.model_copy(update={"tied_embeddings": tied}),
        source_vocabulary=11,
        target_vocabulary=11,
        subword={},
        progress={"step": step},
        score=score,
    )


def save(
    folder: Path,
    step: int,
    *,
    tied: str = "target",
    score: float | None = None,
    average: dict[str, Tensor] | None = None,
) -> Transformer:
    saved = small_model(tied, seed=step)
    moments = {"optimizer.0.exp_avg": torch.arange(5.0)}
    save_checkpoint(folder, small_state(step, tied, score), saved.state_dict(), moments, average)
    return saved


def put(values: Any, keys: tuple[Any, ...], value: object) -> None:
    """Set the value at `keys`, or delete it if `value` is MISSING."""
    for key in keys[:-1]:
        values = values[key]
    if value is MISSING:
        del values[keys[-1]]
    else:
        values[keys[-1]] = value


def change_state(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the values in state.json of the checkpoint in `path`, as another version writes it."""
    values = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))
    del values["own_sha256"]
    change(values)
    write_json(path / STATE_FILE, sign(values))


def damage(folder: Path, step: int, harm: str = "flip", name: str = "model.safetensors") -> None:
    file = folder / f"step-{step:06d}" / name
    content = file.read_bytes()
    if harm == "remove":
        file.unlink()
    elif harm == "flip":
        place = 2 if name == "state.json" else -1  # in a tensor, of which only the checksum knows
        damaged_content = bytearray(content)
        damaged_content[place] ^= 0x40
        file.write_bytes(damaged_content)
    elif harm == "empty":
        file.write_bytes(b"")
    else:
        file.write_bytes(content[: len(content) // 2])


def named(folder: Path, link: str) -> str:
    return (folder / link).resolve().name
