"""The gradient of one step: of all its batches, on all processes, however unevenly the tokens fall on them.

Each loss is divided by the real target tokens of the whole step, so that the gradients of its batches, and of the
processes that share them, add up to the one that a single large batch would give.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from translator.data import Batch, StepBatches
from translator.device import Arithmetic
from translator.special_tokens import EOS, SOS
from translator.training.memory import BatchMemoryError, out_of_memory, with_halving
from translator.training.ranks import Ranks
from translator.training.teacher_forcing import Losses


class Gradients:
    """Computes gradients and leaves them in the weights.

    Args:
        learner: the `TeacherForcing` of the model, as `Ranks.wrap` and the compiler returned it.
        arithmetic: device and precision.
        ranks: the processes that share each step.
    """

    def __init__(self, learner: nn.Module, arithmetic: Arithmetic, ranks: Ranks) -> None:
        self._learner = learner
        self._arithmetic = arithmetic
        self._ranks = ranks
        # A batch that does not fit is computed again in halves, and an exchange with others cannot be taken back: where
        # that may happen, the exchange comes after all batches.
        self._exchange_last = ranks.world > 1 and arithmetic.device.type == "cuda"

    def compute(self, share: StepBatches) -> tuple[tuple[Batch, ...], tuple[Tensor, ...]]:
        """Add up the gradients of a step, and return this process's batches, some of them halved, with their losses.

        Args:
            share: what this process computes of the step.

        Returns:
            The batches, and for each the (B,) negative log-likelihoods of its sentences in nats.

        Raises:
            RunError: one sentence alone does not fit into memory, or another process is lost.
        """
        batches, losses = with_halving(
            share.batches, lambda tried: self._compute(tried, share.target_tokens), self._discard
        )
        if self._ranks.world > 1 and (self._exchange_last or not batches):
            self._ranks.exchange(self._learner, lambda: self._nothing().smoothed)
        return tuple(batches), tuple(losses)

    def _compute(self, batches: Sequence[Batch], target_tokens: int) -> list[Tensor]:
        """Run forward and backward over `batches`.

        Raises:
            BatchMemoryError: one of them does not fit into memory.
        """
        losses: list[Tensor] = []
        for number, batch in enumerate(batches):
            last = number + 1 == len(batches) and not self._exchange_last
            try:
                with self._ranks.connected() if last else self._ranks.local(self._learner):
                    found = self._forward(batch)
                    (found.smoothed / target_tokens).backward()  # type: ignore[no-untyped-call]
                losses.append(found.of_sentences)
            except RuntimeError as error:
                if not out_of_memory(error):
                    raise
                raise BatchMemoryError(number) from None
        return losses

    def _forward(self, batch: Batch) -> Losses:
        on_device = batch.to(self._arithmetic.device, non_blocking=True)
        with self._arithmetic.autocast():
            losses: Losses = self._learner(on_device.source, on_device.target_input, on_device.labels)
        return losses

    def _nothing(self) -> Losses:
        """Return the losses of the smallest pair that there is."""
        source, target_input = (torch.tensor([[token]], device=self._arithmetic.device) for token in (EOS, SOS))
        with self._arithmetic.autocast():
            losses: Losses = self._learner(source, target_input, source)
        return losses

    def _discard(self) -> None:
        for parameter in self._learner.parameters():
            parameter.grad = None
