"""Label-smoothed cross-entropy, summed over the tokens that count (Szegedy et al. 2016 §7; Vaswani et al. 2017 §5.4).

With ε the smoothing, each token costs (1 - ε) · -log p(label) + ε / V · Σ -log p(v): the value of
`torch.nn.functional.cross_entropy(..., label_smoothing=ε, ignore_index=PAD, reduction="sum")`. The gradient of that
for the logits is softmax - (1 - ε) · onehot(label) - ε / V, so it is at hand as soon as the loss is; it is written over
the softmax and no third copy is made.

N tokens, V vocabulary, D model width
"""

from typing import Any, Final, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from translator.special_tokens import PAD

ROWS: Final = {"cpu": 512, "cuda": 8192}
"""Tokens that `projected_loss` takes at a time: the logits of so few stay in a CPU's cache, or fill a GPU."""


class SummedLoss(NamedTuple):
    """What a batch costs."""

    smoothed: Tensor
    """() the sum over real tokens, to be minimised; divide by their number for a mean."""
    of_tokens: Tensor
    """(N,) float32, detached: -log p(label) unsmoothed, 0 at PAD; the logarithm of the perplexity is its mean."""


def label_smoothed_loss(logits: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
    """Return the loss of `logits` against `labels`, PAD positions left out.

    Args:
        logits: (..., V) any floating type; computed in float32.
        labels: (...) int64.
        smoothing: share of probability spread evenly over the vocabulary, in [0, 1).
    """
    return SummedLoss(*_SmoothedCrossEntropy.apply(logits.flatten(0, -2), labels.flatten(), smoothing))  # type: ignore[no-untyped-call]


def projected_loss(states: Tensor, head: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
    """Return the loss of the logits `states` · `head`ᵀ, as `label_smoothed_loss` would, without ever having them all.

    Logits, loss and both gradients are computed for a few hundred tokens at a time, in one memory that is used again:
    a matrix of all tokens and all of the vocabulary would be the largest of the whole step, and out of the cache.

    Args:
        states: (N, D); under autocast the products are computed in its type.
        head: (V, D), the weight of the output head.
        labels: (N,) int64.
        smoothing: share of probability spread evenly over the vocabulary, in [0, 1).
    """
    device = states.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
    rows = ROWS.get(device, ROWS["cuda"])
    return SummedLoss(*_ProjectedCrossEntropy.apply(states, head, labels, smoothing, kind, rows))  # type: ignore[no-untyped-call]


def _costs_and_gradient(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the smoothed sum (), the costs (N,) without smoothing, and the gradient (N, V), written over `logits`.

    Args:
        logits: (N, V) float32 or float64; overwritten.
        labels: (N,) int64.
        smoothing: ε.
    """
    spread, vocabulary = smoothing / logits.size(1), logits.size(1)
    real = labels != PAD  # (N,)
    chosen = labels.unsqueeze(1)
    logits.sub_(logits.amax(dim=1, keepdim=True))
    of_label = logits.gather(1, chosen).squeeze(1)
    total = logits.sum(dim=1)
    gradient = logits.exp_()
    normalizer = gradient.sum(dim=1, keepdim=True)
    logarithm = normalizer.log().squeeze(1)
    costs = (logarithm - of_label).masked_fill_(~real, 0.0)
    smoothed = costs.sum() * (1.0 - smoothing)
    if smoothing:
        smoothed += spread * (vocabulary * logarithm - total).masked_fill_(~real, 0.0).sum()
    gradient.mul_(real.unsqueeze(1) / normalizer)
    shares = real.unsqueeze(1).to(gradient.dtype)
    if smoothing:
        gradient.sub_(spread * shares)
    gradient.scatter_add_(1, chosen, (smoothing - 1.0) * shares)
    return smoothed, costs, gradient


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The gradient is computed in the forward pass, so backward costs one multiplication."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        own = logits.to(torch.promote_types(logits.dtype, torch.float32), copy=True)
        smoothed, costs, gradient = _costs_and_gradient(own, labels, smoothing)
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(gradient.to(logits.dtype))
        ctx.mark_non_differentiable(costs)
        return smoothed, costs.float()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, smoothed_gradient: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * smoothed_gradient.to(gradient.dtype), None, None


class _ProjectedCrossEntropy(torch.autograd.Function):
    """The same with the output head inside, by rows."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, head: Tensor, labels: Tensor, smoothing: float, kind: torch.dtype, rows: int
    ) -> tuple[Tensor, Tensor]:
        exact = torch.promote_types(kind, torch.float32)
        x, weight = states.to(kind), head.to(kind)  # (N, D), (V, D)
        wanted = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        of_states = torch.empty_like(x) if wanted else None
        of_head: Tensor | None = None
        smoothed = torch.zeros((), dtype=exact, device=x.device)
        costs = []
        # Memory that is used again: the system would hand out, and clear, new pages for each part.
        products = x.new_empty(min(rows, len(x)), len(weight))
        exact_products = products if kind == exact else products.new_empty(products.shape, dtype=exact)
        with torch.autocast(x.device.type, enabled=False):
            for start in range(0, max(len(x), 1), rows):
                some, targets = x[start : start + rows], labels[start : start + rows]
                product, logits = products[: len(some)], exact_products[: len(some)]
                torch.mm(some, weight.t(), out=product)
                if kind != exact:
                    logits.copy_(product)
                cost, of_tokens, gradient = _costs_and_gradient(logits, targets, smoothing)
                smoothed += cost
                costs.append(of_tokens)
                if of_states is not None:
                    if kind != exact:
                        gradient = product.copy_(gradient)
                    torch.mm(gradient, weight, out=of_states[start : start + rows])
                    part = gradient.t() @ some
                    of_head = part.to(head.dtype) if of_head is None else of_head.add_(part)
        if of_states is not None and of_head is not None:
            ctx.save_for_backward(of_states, of_head)
            ctx.kind = states.dtype
        everything = torch.cat(costs).float()
        ctx.mark_non_differentiable(everything)
        return smoothed, everything

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, smoothed_gradient: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        of_states, of_head = ctx.saved_tensors
        return of_states.to(ctx.kind) * smoothed_gradient, of_head * smoothed_gradient, None, None, None, None
