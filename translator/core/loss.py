"""The training loss: teacher forcing, label-smoothed cross-entropy with the output head, and R-Drop.

Label smoothing (Szegedy et al. 2016 §7; Vaswani et al. 2017 §5.4): with ε the smoothing, each token costs
(1 - ε) · -log p(label) + ε / V · Σ -log p(v).

R-Drop (Liang et al. 2021 §2, equations 1 to 3) penalizes the divergence of two passes with different dropout. With the
distributions p and q of the two passes, each token costs half of the paper's loss, so that α = 0 gives the mean of both
passes:

    ½ · (CE(p) + CE(q) + α · D(p, q)),   D(p, q) = ½ · (KL(p‖q) + KL(q‖p))

R rows, L positions of a row, N = R · L positions, V target vocabulary, D model width
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from translator.core import PAD
from translator.core.batch import Batch
from translator.core.transformer import Transformer

POSITIONS_AT_ONCE: Final = 16_384  # whose logits are computed at the same time: enough to saturate a GPU


class Losses(NamedTuple):
    """The loss of a batch."""

    objective: Tensor  # () with smoothing and R-Drop, summed over real target tokens
    of_tokens: Tensor  # float32, detached: -log p(label) in nats without smoothing, 0 at PAD; (R, L) of a batch


HeadLoss = Callable[[Tensor, Tensor, Tensor, float], Losses]
"""Returns the loss of states, head, labels and smoothing, as `head_loss` does; `speed/` has other forms."""
RDropLoss = Callable[[Tensor, Tensor, Tensor, float, float], Losses]
"""Returns the loss of two passes, as `r_drop_loss` does."""


def head_loss(states: Tensor, head: Tensor, labels: Tensor, smoothing: float) -> Losses:
    """Return the loss of decoder states under the output head; `of_tokens` is (N,).

    Args:
        states: (N, D) decoder states.
        head: (V, D) weight of the output head.
        labels: (N,) int64 ids, PAD where there is no token.
        smoothing: ε.
    """
    losses = []
    for part_states, part_labels in _parts(states, labels):
        log_p = log_probabilities(F.linear(part_states, head))
        losses.append(label_smoothed_loss(log_p, part_labels, smoothing))
    return _sum_of_parts(losses)


def log_probabilities(logits: Tensor) -> Tensor:
    """Return the log-softmax of `logits` (..., V) in float32, or float64 for float64 logits."""
    return torch.log_softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def label_smoothed_loss(log_p: Tensor, labels: Tensor, smoothing: float) -> Losses:
    """Return the loss of log-probabilities (N, V) against `labels` (N,), ignoring PAD; `smoothing` is ε."""
    # -log p(label), and nothing at PAD. Reports show this loss.
    of_tokens = F.nll_loss(log_p, labels, ignore_index=PAD, reduction="none")
    objective = of_tokens.sum() * (1.0 - smoothing)
    # A share ε of each label is spread over the whole vocabulary.
    if smoothing > 0.0:
        mean_log_p = log_p.mean(dim=1).masked_fill(labels == PAD, 0.0)
        objective = objective - smoothing * mean_log_p.sum()
    return Losses(objective, of_tokens.detach().float())


def r_drop_loss(states: Tensor, head: Tensor, labels: Tensor, smoothing: float, weight: float) -> Losses:
    """Return the R-Drop loss of two passes over N positions; `of_tokens` (N,) is the mean of both passes.

    `states` (2N, D) are those of the first pass, then of the second; `weight` is α, the weight of the divergence; the
    other arguments are as in `head_loss`.
    """
    losses = []
    first_states, second_states = states.chunk(2)
    for part_first, part_second, part_labels in _parts(first_states, second_states, labels):
        # 1. The log-probabilities of both passes, (positions of the part, V) each.
        first_log_p = log_probabilities(F.linear(part_first, head))
        second_log_p = log_probabilities(F.linear(part_second, head))

        # 2. Their losses, and the divergence between them.
        first = label_smoothed_loss(first_log_p, part_labels, smoothing)
        second = label_smoothed_loss(second_log_p, part_labels, smoothing)
        divergence = symmetric_divergence(first_log_p, second_log_p, part_labels)
        # Half of the paper's loss, so that α = 0 gives the mean of both passes.
        objective = 0.5 * (first.objective + second.objective + weight * divergence)
        losses.append(Losses(objective, 0.5 * (first.of_tokens + second.of_tokens)))
    return _sum_of_parts(losses)


def symmetric_divergence(first_log_p: Tensor, second_log_p: Tensor, labels: Tensor) -> Tensor:
    """Return the sum () of R-Drop's D(p, q) over real tokens, in nats.

    `first_log_p` and `second_log_p` are (N, V), one for each pass; `labels` (N,) are PAD at padding.
    """
    # ½ · (Σ p log p/q + Σ q log q/p) = ½ · Σ (p - q) · (log p - log q).
    difference = first_log_p.exp() - second_log_p.exp()
    of_tokens = 0.5 * (difference * (first_log_p - second_log_p)).sum(dim=1)  # no term is negative
    return of_tokens.masked_fill(labels == PAD, 0.0).sum()


def _parts(*tensors: Tensor) -> list[tuple[Tensor, ...]]:
    """Return parts of `tensors` (N, ...) with few enough positions for their logits to be computed at once."""
    splits = [torch.split(tensor, POSITIONS_AT_ONCE) for tensor in tensors]
    return list(zip(*splits, strict=True))


def _sum_of_parts(losses: Sequence[Losses]) -> Losses:
    """Return the loss of all positions from those of their parts."""
    objective = losses[0].objective
    for part in losses[1:]:
        objective = objective + part.objective
    return Losses(objective, torch.cat([part.of_tokens for part in losses]))


@dataclass
class TeacherForcing:
    """The training loss of a model: each token is predicted from the reference before it."""

    model: Transformer
    label_smoothing: float = 0.0  # ε
    r_drop: float = 0.0  # α; 0 disables R-Drop
    head_loss: HeadLoss = head_loss
    r_drop_loss: RDropLoss = r_drop_loss

    def __call__(self, batch: Batch) -> Losses:
        """Return the loss of `batch`, which is on the device of the model; `of_tokens` is (R, L)."""
        labels = batch.labels.flatten()  # (N,)
        head = self.model.head_weight
        # R-Drop compares two dropouts: without dropout there is nothing to compare.
        if self.r_drop > 0.0 and self.model.training:
            # Two passes with different dropout are one pass over every row twice.
            states = self.model.states(batch.twice()).flatten(0, 1)  # (2N, D)
            losses = self.r_drop_loss(states, head, labels, self.label_smoothing, self.r_drop)
        else:
            states = self.model.states(batch).flatten(0, 1)  # (N, D)
            losses = self.head_loss(states, head, labels, self.label_smoothing)
        return Losses(losses.objective, losses.of_tokens.view_as(batch.labels))
