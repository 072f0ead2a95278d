"""One update of the weights: gradients of all micro-batches on all ranks, norm, finite check, clipping, optimizer.

Each loss is divided by the target tokens of the whole update, so that gradients add up to that of one large batch.
"""

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from translator.config import Config
from translator.data.batch import StepBatches
from translator.errors import RunError
from translator.model import Transformer
from translator.model.device import Arithmetic, is_out_of_memory
from translator.training.block_norms import block_norms
from translator.training.blockwise_loss import blockwise_head_loss
from translator.training.capture import CapturedForwardBackward, ForwardBackward
from translator.training.compiling import compile_loss
from translator.training.distributed import Distributed
from translator.training.forward_backward import forward_backward
from translator.training.gradients import FlatGradients, gradients_of
from translator.training.loss import TeacherForcing
from translator.training.loss_scale import LossScale
from translator.training.optimizer import ModelOptimizer
from translator.training.precision import Choices, seed_update
from translator.training.schedule import drops, learning_rate
from translator.training.step_result import StepResult


@dataclass
class Updater:
    """The model, loss and optimizer of a run; `update` makes one training step."""

    config: Config
    vocabularies: tuple[int, int]  # tokens of source and target
    device: torch.device  # of this rank
    choices: Choices
    distributed: Distributed  # the ranks that share each update

    def __post_init__(self) -> None:
        settings = self.config.training
        self.model = Transformer(self.config.model, *self.vocabularies).to(self.device)
        self.model.use_attention(self.choices.attention)
        self.arithmetic = Arithmetic(self.device, self.choices.precision)
        scale = LossScale(self.device) if self.choices.precision == "fp16" else None
        self.optimizer = ModelOptimizer(self.model, settings, scale)
        self.gradients = gradients_of(self.model, self.device, self.distributed, settings.gradient_exchange)
        self.loss = TeacherForcing(
            self.model,
            label_smoothing=settings.label_smoothing,
            r_drop=settings.r_drop,
            head_loss=blockwise_head_loss,
        )
        if self.choices.compile:
            self.loss = compile_loss(self.loss)
        self.forward_backward: ForwardBackward = functools.partial(
            forward_backward, self.loss, self.arithmetic, self.gradients
        )
        if self.choices.capture:
            assert isinstance(self.gradients, FlatGradients)
            self.forward_backward = CapturedForwardBackward(self.forward_backward, self.gradients, self.model)

    def update(
        self, step: StepBatches, number: int, seconds: float = 0.0, *, with_block_norms: bool = False
    ) -> StepResult:
        """Update the weights once and return the result; skip the update if the gradient or the loss is not finite.

        Args:
            step: this rank's micro-batches, on the CPU.
            number: number of the update, from 1, for schedules and dropout.
            seconds: time the run took before the update.
            with_block_norms: also measure the gradient norm of each block.

        Raises RunError: memory ran out, or another rank was lost.
        """
        settings = self.config.training
        rate = learning_rate(number, settings, seconds)
        self.model.train(drops(number, settings, seconds))  # affects dropout, R-Drop and the choice of a CUDA graph
        seed_update(self.config.run.seed, number, self.distributed.rank)
        with memory_errors(self.config):
            # 1. The gradients of all micro-batches, times the loss scale.
            loss_weight = self._loss_weight(step.target_tokens)
            token_losses = []
            for batch in step.batches:
                token_losses.append(self.forward_backward(batch, loss_weight))
            self.gradients.sum_over_ranks(self.distributed)
            # 2. Their norms; NaN in a loss makes the norm NaN.
            norm = self.gradients.norm() / self.optimizer.scale
            finite = torch.isfinite(norm)
            norms = self._block_norms() if with_block_norms else None
            # 3. The weights.
            self.optimizer.update(rate, norm, finite, settings.gradient_clip)
            self.gradients.clear()
        return StepResult(
            token_losses=tuple(token_losses),
            batches=step.batches,
            gradient_norm=norm,
            finite=finite,
            target_tokens=step.target_tokens,
            source_tokens=step.source_tokens,
            positions=step.positions,
            learning_rate=rate,
            passes=self.loss.passes,
            block_norms=norms,
        )

    def _loss_weight(self, target_tokens: int) -> Tensor:
        """Return the factor () of the gradients: 1 / target tokens, times the loss scale."""
        return torch.full((), 1.0 / target_tokens, device=self.device) * self.optimizer.scale

    def _block_norms(self) -> dict[str, Tensor]:
        """Return the gradient norm () of each block, without the loss scale."""
        scaled = block_norms(self.model, gradients=True)
        return {block: norm / self.optimizer.scale for block, norm in scaled.items()}


@contextlib.contextmanager
def memory_errors(config: Config) -> Iterator[None]:
    """Convert torch's errors about a lack of memory to a RunError that names the keys to change."""
    try:
        yield
    except RuntimeError as error:
        # The end of a CUDA graph's capture may raise another error, whose context is the lack of memory.
        lacks_gpu_memory = is_out_of_memory(error) or is_out_of_memory(error.__context__)
        if not lacks_gpu_memory and "can't allocate memory" not in str(error):
            raise
        positions = config.batching.tokens_per_batch
        raise RunError(
            f"memory ran out with batches of {positions:,} positions per side. Lower batching.tokens_per_batch (now "
            f"{positions:,}); to keep the size of an update, raise training.accumulation_steps (now "
            f"{config.training.accumulation_steps}) in the same proportion. An existing run accepts both with "
            "--allow-changed; its last checkpoint is intact"
        ) from error
