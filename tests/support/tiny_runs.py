"""Training a tiny run, and looking at what came of it."""

from pathlib import Path

import torch

from tests.support.tiny_recipe import write_recipe
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.config import Config, parse_config
from translator.run.folder import RunFolder
from translator.run.signals import StopRequest
from translator.training.run_training import TrainingOutcome, train_run

NO_HELD_OUT = "corpus.split={validation: 0, test: 0}"
"""Leaves a run nothing to validate on and nothing to score, which takes longer than its training."""


def tiny_config(folder: Path, *overrides: str) -> Config:
    """Return the tiny recipe with its corpus in `folder`, for fixtures that several tests share."""
    return parse_config(write_recipe(folder).read_text(encoding="utf-8"), "tiny.yaml", overrides)


def run(config: Config) -> TrainingOutcome:
    return train_run(config, StopRequest())


def final(config: Config) -> dict[str, torch.Tensor]:
    return load_checkpoint(find_checkpoint(RunFolder(Path(config.run.directory)).checkpoints_folder, "last")).model


def assert_same_bits(ours: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert ours.keys() == expected.keys()
    for key, tensor in expected.items():
        assert torch.equal(ours[key], tensor), key
