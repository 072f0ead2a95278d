"""The loss of the output head, block by block; equals `head_loss` of `core/loss.py` (read it first).

It is for training without a compiler, and for validation.

The logits of all positions exceed the cache of a CPU. Here, logits, loss and both gradients are computed for a few
positions at a time, in one buffer. The gradient of the loss for the logits is

    softmax - (1 - ε) · onehot(label) - ε / V

N positions, M positions of a block, V target vocabulary, D model width, ε label smoothing
"""

from typing import Any, Final

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from translator.core import PAD
from translator.core.loss import Losses

BLOCK: Final = {"cpu": 512, "cuda": 8192}  # positions at a time: logits fit a CPU's cache, or saturate a GPU


def blockwise_head_loss(states: Tensor, head: Tensor, labels: Tensor, smoothing: float) -> Losses:
    """Return the loss of N positions; equals `translator.core.loss.head_loss` up to rounding (read that first).

    tests/equal/test_head_loss.py compares both. Under autocast, products are rounded.
    """
    device = states.device.type
    product_type = states.dtype
    if torch.is_autocast_enabled(device):
        product_type = torch.get_autocast_dtype(device)
    block = BLOCK.get(device, BLOCK["cuda"])
    # Inside `forward`, gradients are always off.
    needs_gradient = torch.is_grad_enabled()
    arguments = (states, head, labels, smoothing, product_type, block, needs_gradient)
    return Losses(*_ProjectedCrossEntropy.apply(*arguments))  # type: ignore[no-untyped-call]


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, in blocks of positions; backward only scales them."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        head: Tensor,
        labels: Tensor,
        smoothing: float,
        product_type: torch.dtype,
        block: int,
        needs_gradient: bool,
    ) -> tuple[Tensor, Tensor]:
        """Return `objective` and `of_tokens` of `Losses`; with `needs_gradient`, save the gradients of the objective.

        Products with the head are computed in `product_type`, and the loss in at least float32; `block` is the number
        of positions that are computed at once.
        """
        exact_type = torch.promote_types(product_type, torch.float32)
        x = states.to(product_type)  # (N, D)
        weight = head.to(product_type)  # (V, D)
        state_gradient = torch.empty_like(x)
        head_gradient = torch.zeros_like(head) if needs_gradient else None
        objective = torch.zeros((), dtype=exact_type, device=x.device)
        token_losses = torch.empty(len(x), dtype=exact_type, device=x.device)
        # Buffers for all blocks: new ones would make the system allocate and clear pages for each block. If products
        # are rounded, a second buffer holds them in the exact type, for the loss.
        is_rounded = product_type != exact_type
        product_buffer = x.new_empty(min(block, len(x)), len(weight))
        exact_buffer = product_buffer.to(exact_type) if is_rounded else product_buffer
        with torch.autocast(x.device.type, enabled=False):
            for start in range(0, len(x), block):
                end = min(start + block, len(x))
                # 1. The logits of the block.
                product = product_buffer[: end - start]
                logits = exact_buffer[: end - start]
                torch.mm(x[start:end], weight.t(), out=product)
                if is_rounded:
                    logits.copy_(product)
                # 2. The loss of the block; its gradient overwrites the logits.
                losses = _loss_and_gradient(logits, labels[start:end], smoothing)
                objective += losses.objective
                token_losses[start:end] = losses.of_tokens
                # 3. The gradients of the states and of the head.
                if head_gradient is not None:
                    gradient = product.copy_(logits) if is_rounded else logits  # of the product type
                    torch.mm(gradient, weight, out=state_gradient[start:end])
                    head_gradient += gradient.t() @ x[start:end]
        ctx.save_for_backward(state_gradient, head_gradient)
        ctx.state_type = states.dtype
        of_tokens = token_losses.float()
        ctx.mark_non_differentiable(of_tokens)
        return objective, of_tokens

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, objective_gradient: Tensor, _: Tensor
    ) -> tuple[Tensor, Tensor, None, None, None, None, None]:
        """Return the gradients of states and head; the other arguments have none."""
        state_gradient, head_gradient = ctx.saved_tensors
        state_gradient = state_gradient.to(ctx.state_type) * objective_gradient
        return state_gradient, head_gradient * objective_gradient, None, None, None, None, None


def _loss_and_gradient(logits: Tensor, labels: Tensor, smoothing: float) -> Losses:
    """Return the loss of `logits` (M, V) against `labels` (M,), in the type of the logits; `smoothing` is ε.

    The gradient of the objective overwrites `logits`.
    """
    vocabulary = logits.size(1)
    is_token = labels != PAD  # (M,)
    label_column = labels.unsqueeze(1)  # (M, 1)

    # 1. The loss: -log p(label) = log Σ exp(logits) - logit of the label. Subtracting the largest logit from all logits
    # does not change the loss, and prevents overflow.
    logits.sub_(logits.amax(dim=1, keepdim=True))
    label_logits = logits.gather(1, label_column).squeeze(1)
    logit_sums = logits.sum(dim=1)
    exponentials = logits.exp_()  # from here on, in place of the logits
    normalizer = exponentials.sum(dim=1, keepdim=True)  # (M, 1)
    log_normalizer = normalizer.log().squeeze(1)
    of_tokens = (log_normalizer - label_logits).masked_fill_(~is_token, 0.0)
    objective = of_tokens.sum() * (1.0 - smoothing)
    if smoothing > 0.0:
        # The sum of -log p over the whole vocabulary, of each position.
        sums_over_vocabulary = (vocabulary * log_normalizer - logit_sums).masked_fill_(~is_token, 0.0)  # (M,)
        objective += smoothing / vocabulary * sums_over_vocabulary.sum()

    # 2. The gradient: softmax - (1 - ε) · onehot(label) - ε / V, and zero at PAD.
    token_mask = is_token.unsqueeze(1).to(exponentials.dtype)  # (M, 1): 1 at tokens, 0 at PAD
    gradient = exponentials.mul_(token_mask / normalizer)  # still in the memory of `logits`
    if smoothing > 0.0:
        gradient.sub_(smoothing / vocabulary * token_mask)
    gradient.scatter_add_(1, label_column, (smoothing - 1.0) * token_mask)
    return Losses(objective, of_tokens)
