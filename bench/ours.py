"""The contestant that is ours: the steps that `translator train` takes, by the same engine."""

import torch
from torch import Tensor

from bench.learner import Learner
from translator.config import Config
from translator.data import Batch, DataPosition, StepBatches
from translator.training.choices import set_up
from translator.training.engine import Engine
from translator.training.ranks import Ranks


class OurLearner(Learner):
    """The engine of the recipe, in one process."""

    def __init__(self, config: Config, source_vocabulary: int, target_vocabulary: int, device: torch.device) -> None:
        alone = Ranks.alone()
        choices = set_up(config, device, alone)
        self._engine = Engine(config, (source_vocabulary, target_vocabulary), device, choices, alone)
        self.model = self._engine.model.train()

    def take_step(self, batch: Batch, step: int, *, watched: bool) -> Tensor | None:
        """Update the weights on `batch`; the loss comes for nothing."""
        positions = batch.source.numel() + batch.labels.numel()
        share = StepBatches((batch,), batch.target_tokens, batch.source_tokens, positions, DataPosition())
        result = self._engine.step(self._engine.placing.step(share), step)
        return torch.cat(result.sentence_losses).sum()

    def logits(self, batch: Batch) -> Tensor:
        """Return (B, T, V)."""
        with self._engine.arithmetic.autocast():
            logits: Tensor = self.model(batch.source, batch.target_input)
        return logits
