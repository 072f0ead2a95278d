"""Label-smoothed cross-entropy, summed over the tokens that count (Szegedy et al. 2016 §7; Vaswani et al. 2017 §5.4).

N tokens, V vocabulary
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from translator.special_tokens import PAD


class SummedLoss(NamedTuple):
    """Sums over the real tokens of a batch; divide by their number for a mean."""

    smoothed: Tensor
    """() the sum to minimise."""
    negative_log_likelihood: Tensor
    """() the sum without smoothing, detached; its mean is the logarithm of the perplexity."""


def label_smoothed_loss(logits: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
    """Return the loss of `logits` against `labels`, PAD positions left out.

    With ε = `smoothing`, each token costs (1 - ε) · -log p(label) + ε / V · Σ -log p(v): the value of
    `torch.nn.functional.cross_entropy(..., label_smoothing=ε, ignore_index=PAD, reduction="sum")`. The gradient is
    computed in the forward pass, in the memory of the logits' own copy, so backward costs one multiplication.

    Args:
        logits: (..., V) any floating type; computed in float32.
        labels: (...) int64.
        smoothing: share of probability spread evenly over the vocabulary, in [0, 1).
    """
    smoothed, plain = _SmoothedCrossEntropy.apply(logits.flatten(0, -2), labels.flatten(), smoothing)  # type: ignore[no-untyped-call]
    return SummedLoss(smoothed, plain)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The gradient of the sum for the logits of one token is softmax - (1 - ε) · onehot(label) - ε / V."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        vocabulary = logits.size(-1)
        log_probabilities = torch.log_softmax(logits, dim=-1, dtype=torch.float32)  # (N, V)
        real = labels != PAD  # (N,)
        picked = log_probabilities.gather(1, labels.unsqueeze(1)).squeeze(1)  # (N,)
        plain = -(picked * real).sum()
        if smoothing:
            spread = -(log_probabilities.sum(dim=1) * real).sum()
            smoothed = (1.0 - smoothing) * plain + smoothing / vocabulary * spread
        else:
            smoothed = plain.clone()
        if ctx.needs_input_grad[0]:
            gradient = log_probabilities.exp_()
            gradient.sub_(smoothing / vocabulary)
            gradient.scatter_add_(
                1, labels.unsqueeze(1), gradient.new_full((1, 1), smoothing - 1.0).expand(len(labels), 1)
            )
            gradient.mul_(real.unsqueeze(1))
            ctx.save_for_backward(gradient.to(logits.dtype))
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, smoothed_gradient: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * smoothed_gradient.to(gradient.dtype), None, None
