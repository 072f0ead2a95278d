"""The training loss: teacher forcing, label-smoothed cross-entropy fused with the output head, and R-Drop.

Label smoothing (Szegedy et al. 2016 §7; Vaswani et al. 2017 §5.4): with ε the smoothing, each token costs
(1 - ε) · -log p(label) + ε / V · Σ -log p(v), as in `torch.nn.functional.cross_entropy`. Its gradient for the logits,
softmax - (1 - ε) · onehot(label) - ε / V, is computed together with the loss.

R-Drop (Liang et al. 2021 §2, equations 1 to 3) penalizes the divergence of two passes with different dropout. With the
distributions p and q of the two passes, each token costs half of the paper's loss. So α = 0 is the mean of two passes:

    ½ · (CE(p) + CE(q) + α · D(p, q)),   D(p, q) = ½ · (KL(p‖q) + KL(q‖p))

B batch, S source length, T target length, N target tokens, V vocabulary, D model width
"""

from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from translator.model import Transformer
from translator.model.layers import Packed
from translator.special_tokens import PAD

ROWS: Final = {"cpu": 512, "cuda": 8192}  # tokens at a time: logits fit a CPU's cache, or saturate a GPU


class SummedLoss(NamedTuple):
    """The loss of N tokens."""

    smoothed: Tensor  # () the objective, summed over real tokens
    of_tokens: Tensor  # (N,) float32, detached: -log p(label) in nats without smoothing, 0 at PAD


class Losses(NamedTuple):
    """The loss of a batch."""

    smoothed: Tensor  # () the objective, summed over real target tokens
    of_sentences: Tensor  # (B,) float32, detached: -log p of each sentence in nats, without smoothing


class TeacherForcing(nn.Module):
    """A model with its training loss by teacher forcing: each token is predicted from the reference before it.

    `packed` computes on real tokens only (`Packed` of translator/model/layers.py). `compiled` compiles the layers of
    `model` with `torch.compile`, and excludes `packed`. `r_drop` is α; 0 disables R-Drop.
    """

    def __init__(
        self, model: Transformer, label_smoothing: float, r_drop: float, packed: bool, compiled: bool = False
    ) -> None:
        super().__init__()
        assert not (packed and compiled), "the shape of a packed batch depends on its tokens"
        self.model, self.packed = model, packed
        self.label_smoothing, self.r_drop = label_smoothing, r_drop
        if compiled:
            # One graph for all layers of a stack and all shapes: compiling the whole model takes several times as long.
            torch.fx.experimental._config.use_duck_shape = False
            for layer in (*model.encoder.layers, *model.decoder.layers):
                layer.compile(dynamic=True)

    @property
    def passes(self) -> int:
        """The number of forward passes per batch: 2 with R-Drop while dropout is on, else 1."""
        return 2 if self.r_drop and self.model.training else 1

    def forward(self, source: Tensor, target_input: Tensor, labels: Tensor) -> Losses:
        """Return the losses of a batch.

        Args:
            source: (B, S) ids, each row ended by EOS and padded with PAD.
            target_input: (B, T) ids, SOS first, padded with PAD.
            labels: (B, T) ids, each row ended by EOS and padded with PAD.
        """
        rows, twice = len(source), self.passes == 2
        if twice:
            source, target_input, labels = (torch.cat((x, x)) for x in (source, target_input, labels))
        if self.packed:  # padding tokens of the packed rows also have the label PAD
            of_target = Packed(target_input, PAD)
            states = self.model.states(source, target_input, (Packed(source, PAD), of_target))  # (N, D)
            targets, sentences = of_target.pack(labels), of_target.sentences  # (N,)
        else:
            states = self.model.states(source, target_input).flatten(0, 1)
            targets = labels.flatten()
            sentences = torch.arange(len(labels), device=labels.device).repeat_interleave(labels.size(1))
        if not twice:
            smoothed, of_tokens = projected_loss(states, self.model.head_weight, targets, self.label_smoothing)
            return Losses(smoothed, of_tokens.new_zeros(rows).index_add_(0, sentences, of_tokens))
        if self.packed:  # padding tokens of the packed rows belong to neither pass
            real = targets != PAD
            states, targets, sentences = states[real], targets[real], sentences[real]
        log_p = log_probabilities(self.model.project(states))  # (2N, V), first pass first
        smoothed, of_tokens = _smoothed(log_p, targets, self.label_smoothing)
        both = of_tokens.new_zeros(2 * rows).index_add_(0, sentences, of_tokens)
        smoothed = 0.5 * (smoothed + self.r_drop * symmetric_divergence(log_p, targets))
        return Losses(smoothed, 0.5 * (both[:rows] + both[rows:]))


def label_smoothed_loss(logits: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
    """Return the loss of `logits` (..., V) against `labels` (...), ignoring PAD; `smoothing` is ε."""
    return _smoothed(log_probabilities(logits).flatten(0, -2), labels.flatten(), smoothing)


def symmetric_divergence(log_p: Tensor, labels: Tensor) -> Tensor:
    """Return the sum () of R-Drop's D(p, q) over real tokens, in nats.

    `log_p` (2N, V) holds the first pass, then the second; `labels` (2N,) are PAD at padding.
    """
    p, q = log_p.chunk(2)
    of_tokens = 0.5 * ((p.exp() - q.exp()) * (p - q)).sum(dim=1)  # no term is negative
    return of_tokens.masked_fill(labels[: len(p)] == PAD, 0.0).sum()


def log_probabilities(logits: Tensor) -> Tensor:
    """Return the log-softmax of `logits` (..., V) in float32, or float64 for float64 logits."""
    return torch.log_softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def _smoothed(log_p: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
    """Return the loss of log-probabilities (N, V) against labels (N,)."""
    padding = labels == PAD
    of_tokens = -log_p.gather(1, labels.unsqueeze(1)).squeeze(1).masked_fill(padding, 0.0)
    smoothed = of_tokens.sum() * (1.0 - smoothing)
    if smoothing:
        smoothed = smoothed - smoothing * log_p.mean(dim=1).masked_fill(padding, 0.0).sum()
    return SummedLoss(smoothed, of_tokens.detach().float())


def projected_loss(states: Tensor, head: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
    """Return the loss of the logits `states` (N, D) · `head` (V, D)ᵀ against `labels` (N,), as `label_smoothed_loss`.

    Logits, loss and both gradients are computed for `ROWS` tokens at a time in one buffer, since the logits of all
    tokens exceed the cache. Under autocast, the products have its type.
    """
    device = states.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
    rows = ROWS.get(device, ROWS["cuda"])
    return SummedLoss(*_ProjectedCrossEntropy.apply(states, head, labels, smoothing, kind, rows))  # type: ignore[no-untyped-call]


def _costs_and_gradient(logits: Tensor, labels: Tensor, smoothing: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the smoothed sum (), the unsmoothed costs (N,), and the gradient (N, V), which overwrites `logits`."""
    spread, vocabulary = smoothing / logits.size(1), logits.size(1)
    real, chosen = labels != PAD, labels.unsqueeze(1)  # (N,), (N, 1)
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


class _ProjectedCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, in blocks of rows; backward only scales each of them."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, head: Tensor, labels: Tensor, smoothing: float, kind: torch.dtype, rows: int
    ) -> tuple[Tensor, Tensor]:
        exact = torch.promote_types(kind, torch.float32)
        x, weight = states.to(kind), head.to(kind)  # (N, D), (V, D)
        of_states = torch.empty_like(x)
        of_head: Tensor | None = None
        smoothed, costs = torch.zeros((), dtype=exact, device=x.device), []
        # Buffers for all blocks: new ones would make the system allocate and clear pages for each block.
        products = x.new_empty(min(rows, len(x)), len(weight))
        exact_products = products if kind == exact else products.to(exact)
        with torch.autocast(x.device.type, enabled=False):
            for start in range(0, len(x), rows):
                some, targets = x[start : start + rows], labels[start : start + rows]
                product, logits = products[: len(some)], exact_products[: len(some)]
                torch.mm(some, weight.t(), out=product)
                if kind != exact:
                    logits.copy_(product)
                cost, of_tokens, gradient = _costs_and_gradient(logits, targets, smoothing)
                smoothed += cost
                costs.append(of_tokens)
                if any(ctx.needs_input_grad[:2]):
                    if kind != exact:
                        gradient = product.copy_(gradient)
                    torch.mm(gradient, weight, out=of_states[start : start + rows])
                    part = gradient.t() @ some
                    of_head = part.to(head.dtype) if of_head is None else of_head.add_(part)
        ctx.save_for_backward(of_states, of_head)
        ctx.kind = states.dtype
        of_all = torch.cat(costs).float()
        ctx.mark_non_differentiable(of_all)
        return smoothed, of_all

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, smoothed_gradient: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        of_states, of_head = ctx.saved_tensors
        return of_states.to(ctx.kind) * smoothed_gradient, of_head * smoothed_gradient, None, None, None, None
