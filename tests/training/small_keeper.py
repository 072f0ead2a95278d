"""A keeper around a model of a few weights, without a corpus: what it saves, and a step that changes everything."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from translator.config import Config, parse_config
from translator.data import DataPosition
from translator.model import Transformer
from translator.run_folder import RunFolder
from translator.training.keeper import Keeper
from translator.training.moving_average import MovingAverage
from translator.training.optimizer import ModelOptimizer
from translator.training.progress import TrainingProgress
from translator.training.randomness import seed_everything

RECIPE = """
run: {{directory: "{folder}"}}
corpus: {{sources: [{{name: none, path: "{folder}/none.tsv"}}]}}
batching: {{max_length: 32}}
model: {{d_model: 8, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 16, max_positions: 32}}
training: {{best_metric: chrf, keep_checkpoints: 2, keep_best: 1}}
"""


class SmallRun:
    """A run whose steps are noise; each is a function of the generators and of all that a checkpoint holds."""

    def __init__(self, folder: Path, *overrides: str, ema: bool = True, **options: Any) -> None:
        self.config: Config = parse_config(RECIPE.format(folder=folder), "recipe", overrides)
        self.folder = RunFolder(folder).checkpoints_folder
        seed_everything(3)
        self.model = Transformer(self.config.model, 11, 11)
        self.optimizer = ModelOptimizer(self.model, self.config.training)
        self.average = MovingAverage(self.model, 0.9) if ema else None
        vocabulary = SimpleNamespace(vocabulary_size=11)
        data: Any = SimpleNamespace(
            subword=SimpleNamespace(source=vocabulary, target=vocabulary, sha256={"a": "b"}),
            fingerprint=f"tokens sampled with {self.config.subword.sampling}",
            token_fingerprint="tokens",
        )
        self.data = data
        self.keeper = Keeper(
            self.config, RunFolder(folder), data, self.model, self.optimizer, average=self.average, **options
        )
        self.progress = TrainingProgress()
        self.position = DataPosition()

    def step(self, chrf: float | None = None) -> None:
        """Take one step, and validate after it if there is a score to be had."""
        for weight in self.model.parameters():
            weight.grad = torch.randn(weight.shape) * (random.random() + float(np.random.rand()))
        self.optimizer.update(1e-3, torch.tensor(1.0), torch.tensor(True), None)
        if self.average is not None:
            self.average.update()
        self.progress.step += 1
        self.position = DataPosition(0, self.progress.step)
        if chrf is not None:
            self.progress.note_validation({"loss": 1.0, "chrf": chrf}, "chrf")

    def save(self) -> None:
        self.keeper.save(self.progress, self.position)

    def restore(self) -> bool:
        found = self.keeper.restore()
        if found is not None:
            self.progress, self.position = found
        return found is not None

    def tensors(self) -> dict[str, Tensor]:
        """Return copies of all that later steps depend on."""
        average = {} if self.average is None else {f"ema.{k}": v for k, v in self.average.weights().items()}
        everything = {**self.model.state_dict(), **self.optimizer.tensors(), **average}
        return {key: value.clone() for key, value in everything.items()}
