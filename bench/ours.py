"""The contestant that is ours: the steps that `translator train` takes, by the same engine."""

import functools

import torch
from torch import Tensor

from bench.learner import Learner
from translator.config import Config
from translator.data import Batch, DataPosition, StepBatches
from translator.training.choices import set_up
from translator.training.engine import Engine
from translator.training.memory import halve
from translator.training.ranks import Ranks


@functools.cache
def _ranks() -> Ranks:
    """Meet the other processes, once for all contests of this one."""
    return Ranks.join(torch.device("cpu"))


class OurLearner(Learner):
    """The engine of the recipe, as one of the processes that share each step."""

    def __init__(self, config: Config, source_vocabulary: int, target_vocabulary: int, device: torch.device) -> None:
        self._ranks = _ranks()
        choices = set_up(config, device, self._ranks)
        self._engine = Engine(config, (source_vocabulary, target_vocabulary), device, choices, self._ranks)
        self._engine.connect()
        self.model = self._engine.model.train()

    def take_step(self, batch: Batch, step: int, *, watched: bool) -> Tensor | None:
        """Update the weights on `batch`; the loss comes for nothing."""
        positions = batch.source.numel() + batch.labels.numel()
        mine = batch if self._ranks.world == 1 else halve(batch)[self._ranks.rank]
        share = StepBatches((mine,), batch.target_tokens, batch.source_tokens, positions, DataPosition())
        result = self._engine.step(self._engine.placing.step(share), step)
        if not watched:
            return None
        return torch.tensor(self._ranks.sum([float(torch.cat(result.sentence_losses).sum())])[0])

    def logits(self, batch: Batch) -> Tensor:
        """Return (B, T, V)."""
        with self._engine.arithmetic.autocast():
            logits: Tensor = self.model(batch.source, batch.target_input)
        return logits
