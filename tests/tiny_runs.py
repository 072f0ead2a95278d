"""Training a tiny run, and looking at what came of it."""

from pathlib import Path

import torch

from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.config import Config
from translator.run.folder import RunFolder
from translator.run.signals import StopRequest
from translator.training.trainer import TrainingOutcome, train_run


def run(config: Config) -> TrainingOutcome:
    return train_run(config, StopRequest())


def final(config: Config) -> dict[str, torch.Tensor]:
    return load_checkpoint(find_checkpoint(RunFolder(Path(config.run.directory)).checkpoints_folder, "last")).model


def assert_same_bits(ours: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert ours.keys() == expected.keys()
    for key, tensor in expected.items():
        assert torch.equal(ours[key], tensor), key
