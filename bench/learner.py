"""What a contestant in the training benchmark can do, whatever library it is made with."""

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.config import TrainingConfig
from translator.data import Batch
from translator.device import Arithmetic
from translator.special_tokens import PAD
from translator.training.schedule import learning_rate


class Learner(ABC):
    """A model with its optimizer, trained in its own way."""

    model: nn.Module

    @abstractmethod
    def take_step(self, batch: Batch, step: int, *, watched: bool) -> Tensor | None:
        """Update the weights on `batch`, as update number `step` (from 1).

        Args:
            batch: pairs, on the CPU.
            step: decides the learning rate.
            watched: return () the sum over the batch's tokens of the loss before the update, in nats, without
                smoothing; otherwise None may come instead, so that nothing is computed for the benchmark alone.
        """

    @abstractmethod
    def logits(self, batch: Batch) -> Tensor:
        """Return (B, T, V) for `batch`, which is on the model's device."""

    @torch.no_grad()
    def held_out_loss(self, batches: list[Batch], device: torch.device) -> float:
        """Return the mean loss of a real target token of `batches` in nats, without smoothing and dropout."""
        self.model.eval()
        total, tokens = 0.0, 0
        for batch in batches:
            moved = batch.to(device)
            total += float(plain_loss(self.logits(moved), moved.labels))
            tokens += batch.target_tokens
        self.model.train()
        return total / tokens


class LoopLearner(Learner):
    """The usual loop: forward, torch's cross entropy, backward, clip, step."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, config: TrainingConfig, arithmetic: Arithmetic
    ) -> None:
        self.model = model.to(arithmetic.device).train()
        self._optimizer = optimizer
        self._config = config
        self._arithmetic = arithmetic
        self._loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=config.label_smoothing)

    def take_step(self, batch: Batch, step: int, *, watched: bool) -> Tensor | None:
        """Update the weights on `batch`."""
        batch = batch.to(self._arithmetic.device, non_blocking=True)
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(step, self._config)
        self._optimizer.zero_grad()
        with self._arithmetic.autocast():
            logits = self.logits(batch)
            loss = self._loss(logits.flatten(0, 1), batch.labels.flatten())
        loss.backward()
        if self._config.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self._config.gradient_clip)
        self._optimizer.step()
        return plain_loss(logits.detach(), batch.labels) if watched else None


def plain_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return () the summed loss of real tokens in nats, without smoothing."""
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=PAD, reduction="sum")
