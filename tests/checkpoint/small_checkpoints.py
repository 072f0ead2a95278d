"""Checkpoints of a model of a few weights, and ways to damage them."""

from pathlib import Path

import torch
from torch import Tensor

from translator.checkpoint.files import save_checkpoint
from translator.checkpoint.state import CheckpointState
from translator.config import ModelConfig
from translator.model import Transformer

SMALL = ModelConfig(d_model=8, heads=2, encoder_layers=1, decoder_layers=1, feed_forward=16, max_positions=32)
HARMS = ("truncate", "flip", "remove", "empty")


def small_model(tied: str = "target", seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(SMALL.model_copy(update={"tied_embeddings": tied}), 11, 11)


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
    training = {"optimizer.0.exp_avg": torch.arange(5.0)}
    save_checkpoint(folder, small_state(step, tied, score), saved.state_dict(), training, average)
    return saved


def damage(folder: Path, step: int, harm: str = "flip", name: str = "model.safetensors") -> None:
    file = folder / f"step-{step:06d}" / name
    content = file.read_bytes()
    if harm == "remove":
        file.unlink()
    elif harm == "flip":
        middle = 2 if name == "state.json" else len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 0x40]) + content[middle + 1 :])
    else:
        file.write_bytes(b"" if harm == "empty" else content[: len(content) // 2])


def named(folder: Path, link: str) -> str:
    return (folder / link).resolve().name
