"""The state of a training without a corpus: a model of a few weights, and steps of noise that change all of it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from translator.config import Config, parse_config
from translator.core.optimizer import ModelOptimizer
from translator.core.transformer import Transformer
from translator.corpus.normalizer.normalizer import Normalizer
from translator.data import DataPosition
from translator.run.folder import RunFolder
from translator.training.checkpointing import TrainingState

RECIPE = """
run: {{directory: "{folder}"}}
corpus: {{sources: [{{name: none, path: "{folder}/none.tsv"}}]}}
batching: {{max_length: 32}}
model: {{d_model: 8, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 16, max_positions: 32}}
training: {{best_metric: chrf, keep_checkpoints: 2, keep_best: 1, ema_decay: 0.9}}
"""
NO_AVERAGE = "training.ema_decay=null"


class SmallRun:
    """A run whose steps are noise; each is a function of its number and of all that a checkpoint holds."""

    def __init__(self, folder: Path, *overrides: str, writes: bool = True) -> None:
        self.config: Config = parse_config(RECIPE.format(folder=folder), "recipe", overrides)
        self.folder = RunFolder(folder).checkpoints_folder
        torch.manual_seed(3)
        self.model = Transformer(self.config.model.settings, 11, 11)
        optimizer = ModelOptimizer(self.model, self.config.training.optimizer_settings)
        vocabulary = SimpleNamespace(vocabulary_size=11)
        data: Any = SimpleNamespace(
            subword=SimpleNamespace(source=vocabulary, target=vocabulary, sha256={"a": "b"}),
            fingerprint=f"tokens with {self.config.training.augmentation.typos} typos",
            token_fingerprint="tokens",
            normalizer=Normalizer(self.config.corpus.normalization),
        )
        self.data = data
        self.state = TrainingState(self.config, RunFolder(folder), data, self.model, optimizer, writes)
        self.save, self.restore = self.state.save, self.state.restore

    @property
    def step_number(self) -> int:
        return self.state.progress.step

    def step(self, chrf: float | None = None) -> None:
        torch.manual_seed(100 + self.step_number)
        for weight in self.model.parameters():
            weight.grad = torch.randn(weight.shape)
        self.state.optimizer.update(1e-3, torch.tensor(1.0), torch.tensor(True))
        if self.state.average is not None:
            self.state.average.update(self.model)
        progress = self.state.progress
        progress.step += 1
        self.state.position = DataPosition(0, progress.step)
        if chrf is not None:
            progress.note_validation({"loss": 1.0, "chrf": chrf}, "chrf")
