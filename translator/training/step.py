"""One update of the weights: gradients of all micro-batches on all ranks, clipping, finite check, optimizer.

Each loss is divided by the target tokens of the whole update, so that gradients add up to that of one large batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from translator.config import Config
from translator.data import Batch
from translator.data.batch import StepBatches
from translator.errors import RunError
from translator.model import Transformer
from translator.model.device import Arithmetic
from translator.training.distributed import Distributed
from translator.training.loss import Losses, TeacherForcing
from translator.training.meter import block_norms
from translator.training.optimizer import LossScale, ModelOptimizer, drops, learning_rate
from translator.training.precision import Choices, seed_update


@dataclass(frozen=True)
class StepResult:
    """The result of an update; its tensors stay on the device, without synchronization."""

    sentence_losses: tuple[Tensor, ...]
    """(B,) float32 for each micro-batch of this rank: unsmoothed negative log-likelihood of its sentences in nats."""
    batches: tuple[Batch, ...]  # micro-batches of this rank, on the CPU
    gradient_norm: Tensor  # () L2 norm before clipping, of the whole update
    finite: Tensor  # () bool: False if loss or gradient was not finite and the update was skipped
    target_tokens: int  # real tokens of the whole update on all ranks; the next two also cover all ranks
    source_tokens: int
    positions: int  # tokens of all micro-batches, both sides, padding included
    learning_rate: float
    passes: int = 1  # forward passes per batch
    block_norms: dict[str, Tensor] | None = None  # () gradient norm of each block before clipping, on request


@dataclass
class Updater:
    """The model, loss and optimizer of a run; `update` makes one training step."""

    config: Config
    vocabularies: tuple[int, int]  # tokens of source and target
    device: torch.device  # of this rank
    choices: Choices
    distributed: Distributed  # the ranks that share each update

    def __post_init__(self) -> None:
        settings, choices = self.config.training, self.choices
        self.model = Transformer(self.config.model, *self.vocabularies).to(self.device)
        self.model.use_attention(choices.attention)
        scale = LossScale(self.device) if choices.precision == "fp16" else None
        self.optimizer = ModelOptimizer(self.model, settings, scale)
        self.arithmetic = Arithmetic(self.device, choices.precision)
        smoothing, r_drop = settings.label_smoothing, settings.r_drop
        self.loss = TeacherForcing(self.model, smoothing, r_drop, choices.packed, choices.compile)

    def update(
        self, share: StepBatches, number: int, seconds: float = 0.0, *, with_block_norms: bool = False
    ) -> StepResult:
        """Update the weights once and return the result; skip the update if the gradient or the loss is not finite.

        Args:
            share: this rank's micro-batches, on the CPU.
            number: number of the update, from 1, for schedules and dropout.
            seconds: time the run took before the update.
            with_block_norms: also measure the gradient norm of each block.

        Raises RunError: memory ran out, or another rank was lost.
        """
        settings = self.config.training
        rate = learning_rate(number, settings, seconds)
        self.model.train(drops(number, settings, seconds))  # affects only dropout and R-Drop
        seed_update(self.config.run.seed, number, self.distributed.rank)
        try:
            losses = self.gradients(share)
            norm = nn.utils.get_total_norm(self.optimizer.gradients) / self.optimizer.scale
            finite = torch.isfinite(norm)
            norms = block_norms(self.model, gradients=True) if with_block_norms else {}
            norms = {block: of_block / self.optimizer.scale for block, of_block in norms.items()}
            self.optimizer.update(rate, norm, finite, settings.gradient_clip)
        except RuntimeError as error:
            if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
                raise
            pairs = max((batch.size for batch in share.batches), default=0)
            longest = max((side.size(1) for batch in share.batches for side in (batch.source, batch.labels)), default=0)
            raise RunError(
                f"memory ran out in an update of up to {pairs} pairs of up to {longest} tokens at a time. Lower "
                f"batching.tokens_per_batch (now {self.config.batching.tokens_per_batch:,}); "
                f"to keep the size of an update, raise training.accumulation_steps (now {settings.accumulation_steps}) "
                "in the same proportion. An existing run accepts both with --allow-changed; its last checkpoint "
                "is intact"
            ) from error
        tokens = share.target_tokens, share.source_tokens, share.positions
        return StepResult(tuple(losses), share.batches, norm, finite, *tokens, rate, self.loss.passes, norms or None)

    def gradients(self, share: StepBatches) -> list[Tensor]:
        """Return the losses (B,) of each micro-batch; sets the gradients of the whole update, times the loss scale."""
        losses = []
        for batch in share.batches:
            on_device = batch.to(self.arithmetic.device, non_blocking=True)
            with self.arithmetic.autocast():
                loss: Losses = self.loss(on_device.source, on_device.target_input, on_device.labels)
            (loss.smoothed / share.target_tokens * self.optimizer.scale).backward()  # type: ignore[no-untyped-call]
            losses.append(loss.of_sentences)
        self.distributed.sum_gradients(self.model)
        return losses
