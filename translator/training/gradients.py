"""The gradient of one step: of all its batches, on all processes, however unevenly the tokens fall on them.

Each loss is divided by the real target tokens of the whole step, so that the gradients of its batches, and of the
processes that share them, add up to the one that a single large batch would give.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from translator.device import Arithmetic
from translator.special_tokens import EOS, SOS
from translator.training.memory import Halving
from translator.training.prefetch import Placed, PlacedStep, Placing
from translator.training.ranks import Ranks
from translator.training.teacher_forcing import Losses


class Gradients:
    """Computes gradients and leaves them in the weights.

    Args:
        learner: the `TeacherForcing` of the model, as `Ranks.wrap` and the compiler returned it.
        arithmetic: device and precision.
        ranks: the processes that share each step.
        placing: puts halves of batches on the device.
    """

    def __init__(self, learner: nn.Module, arithmetic: Arithmetic, ranks: Ranks, placing: Placing) -> None:
        self.learner = learner
        self._arithmetic = arithmetic
        self._ranks = ranks
        self.halving = Halving(placing)
        """Counts the batches that did not fit into memory."""
        # A batch that does not fit is computed again in halves, and an exchange with others cannot be taken back: where
        # that may happen, the exchange comes after all batches. A CPU has nothing to overlap it with, but pays for it.
        self._exchange_last = ranks.world > 1 and arithmetic.device.type != "cpu"

    def compute(self, step: PlacedStep, seed: Callable[[], None]) -> tuple[list[Placed], list[Tensor]]:
        """Add up the gradients of a step; return this process's batches, some of them halved, with their losses.

        Args:
            step: what this process computes of it.
            seed: puts the random generators to the beginning of the step.

        Returns:
            The batches, and for each the (B,) negative log-likelihoods of its sentences in nats.

        Raises:
            RunError: one pair alone does not fit into memory, or another process is lost.
        """
        tokens = step.step.target_tokens

        def discard() -> None:
            self.discard()
            seed()

        seed()
        if self._ranks.world > 1 and not self._exchange_last:
            return list(step.placed), self._with_others(step)
        with self._ranks.local(self.learner):
            placed, losses = self.halving(step.placed, lambda one: self.backward(one, tokens), discard)
        self._ranks.exchange(self.learner, self._of_nothing)
        return placed, losses

    def backward(self, placed: Placed, target_tokens: int) -> Tensor:
        """Add the gradient of one batch of a step of `target_tokens`; return the losses (B,) of its pairs."""
        batch = placed.on_device
        losses = self._forward(batch.source, batch.target_input, batch.labels)
        (losses.smoothed / target_tokens).backward()  # type: ignore[no-untyped-call]
        return losses.of_sentences[: placed.batch.size]

    def settle(self) -> None:
        """Exchange gradients of zero once: after the first exchange torch puts them into another order, for good.

        Their sums would be taken in another order in the first step of each sitting, and a resume not be exact.
        """
        self._ranks.exchange(self.learner, self._of_nothing)
        self.discard()

    def discard(self) -> None:
        """Forget all gradients."""
        for parameter in self.learner.parameters():
            parameter.grad = None

    def _with_others(self, step: PlacedStep) -> list[Tensor]:
        """Compute all batches, and exchange gradients with the other processes during the last one."""
        losses = []
        for number, placed in enumerate(step.placed, start=1):
            last = number == len(step.placed)
            with self._ranks.connected() if last else self._ranks.local(self.learner):
                losses.append(self.backward(placed, step.step.target_tokens))
        if not step.placed:
            self._ranks.exchange(self.learner, self._of_nothing)
        return losses

    def _of_nothing(self) -> Tensor:
        """Return the loss of the smallest pair that there is."""
        source, target_input = (torch.tensor([[token]], device=self._arithmetic.device) for token in (EOS, SOS))
        return self._forward(source, target_input, source).smoothed

    def _forward(self, source: Tensor, target_input: Tensor, labels: Tensor) -> Losses:
        with self._arithmetic.autocast():
            losses: Losses = self.learner(source, target_input, labels)
        return losses
