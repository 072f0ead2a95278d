"""The ends of a step: projection and loss, the optimizer, and the whole step compiled.

N tokens, V vocabulary, D model width
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from bench.plain import PlainTransformer
from bench.turns import SpeedComparison, Work
from translator.config import ModelConfig
from translator.model import Transformer
from translator.model.fused_linear import FusedLinear
from translator.special_tokens import PAD
from translator.training.loss import label_smoothed_loss
from translator.training.muon import Muon

TOKENS, WIDTH, SMOOTHING = 4096, 256, 0.1


def loss_comparisons() -> Iterator[SpeedComparison]:
    """Yield the loss alone, and projection and loss together, forward and backward, by vocabulary."""
    for vocabulary in (4096, 8192, 32768):
        for dtype in (torch.float32, torch.bfloat16):
            labels = torch.randint(4, vocabulary, (TOKENS,))
            logits = torch.randn(TOKENS, vocabulary).to(dtype).requires_grad_()
            kind = "float32" if dtype == torch.float32 else "bf16 logits"

            def torchs(logits: Tensor = logits, labels: Tensor = labels) -> None:
                torch.autograd.backward(_torch_loss(logits.float(), labels))
                logits.grad = None

            def ours(logits: Tensor = logits, labels: Tensor = labels) -> None:
                torch.autograd.backward(label_smoothed_loss(logits, labels, SMOOTHING).smoothed / TOKENS)
                logits.grad = None

            ways = {"F.cross_entropy": torchs, "label_smoothed_loss": ours}
            yield SpeedComparison(f"loss, N {TOKENS} V {vocabulary}, {kind}", ways)
            del logits
            yield _projected(vocabulary, dtype, labels)


def _projected(vocabulary: int, dtype: torch.dtype, labels: Tensor) -> SpeedComparison:
    states = torch.randn(TOKENS, WIDTH).to(dtype).requires_grad_()
    weight = (torch.randn(vocabulary, WIDTH) * WIDTH**-0.5).requires_grad_()

    def clear() -> None:
        states.grad = weight.grad = None

    def torchs() -> None:
        torch.set_float32_matmul_precision("medium")
        torch.autograd.backward(_torch_loss(F.linear(states, weight.to(dtype)).float(), labels))
        clear()

    def ours() -> None:
        torch.set_float32_matmul_precision("medium")
        logits = F.linear(states, weight.to(dtype))
        torch.autograd.backward(label_smoothed_loss(logits, labels, SMOOTHING).smoothed / TOKENS)
        clear()

    def chunked(rows: int) -> None:
        torch.set_float32_matmul_precision("medium")
        loss: Tensor = ChunkedLoss.apply(states, weight, labels, rows)  # type: ignore[no-untyped-call]
        torch.autograd.backward(loss / TOKENS)
        clear()

    ways: dict[str, Work] = {"linear, F.cross_entropy": torchs, "linear, label_smoothed_loss": ours}
    for rows in (256, 512, 1024):
        ways[f"in chunks of {rows} rows, gradient at once"] = functools.partial(chunked, rows)
    kind = "float32 medium" if dtype == torch.float32 else "bf16 products"
    return SpeedComparison(f"projection and loss, N {TOKENS} D {WIDTH} V {vocabulary}, {kind}", ways)


class ChunkedLoss(torch.autograd.Function):
    """Projects and scores some rows at a time, so that the logits of all tokens never lie in memory together."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, labels: Tensor, rows: int) -> Tensor:
        cast = weight.detach().to(states.dtype)
        vocabulary = len(cast)
        states_gradient, weight_gradient = torch.empty_like(states), torch.zeros_like(weight)
        total = torch.zeros(())
        for start in range(0, len(states), rows):
            part, picked = states[start : start + rows], labels[start : start + rows].unsqueeze(1)
            gradient = torch.log_softmax(F.linear(part, cast), dim=-1, dtype=torch.float32)
            total -= (1.0 - SMOOTHING) * gradient.gather(1, picked).sum() + SMOOTHING / vocabulary * gradient.sum()
            gradient.exp_().sub_(SMOOTHING / vocabulary)
            gradient.scatter_add_(1, picked, gradient.new_full((1, 1), SMOOTHING - 1.0).expand(len(part), 1))
            gradient = gradient.to(states.dtype)
            torch.mm(gradient, cast, out=states_gradient[start : start + rows])
            if states.dtype == weight.dtype:
                weight_gradient.addmm_(gradient.t(), part)
            else:
                weight_gradient += gradient.t() @ part
        ctx.save_for_backward(states_gradient, weight_gradient)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, Tensor, None, None]:
        states_gradient, weight_gradient = ctx.saved_tensors
        return states_gradient.mul_(above.to(states_gradient.dtype)), weight_gradient.mul_(above), None, None


def optimizer_comparisons() -> Iterator[SpeedComparison]:
    """Yield updates of the weights of a small Transformer, and the clipping before them."""
    model = _model()
    parameters = list(model.parameters())
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter) * 1e-3
    ways: dict[str, Any] = {
        "AdamW, foreach": torch.optim.AdamW(parameters, lr=1e-5, foreach=True).step,
        "AdamW, fused": torch.optim.AdamW(parameters, lr=1e-5, fused=True).step,
        "AdamW, loop": torch.optim.AdamW(parameters, lr=1e-5, foreach=False).step,
    }
    count = sum(parameter.numel() for parameter in parameters) / 1e6
    yield SpeedComparison(f"optimizer, {count:.1f}M weights in {len(parameters)} tensors", ways)
    yield SpeedComparison(
        "clipping, the same weights",
        {
            "clip_grad_norm_, foreach": lambda: nn.utils.clip_grad_norm_(parameters, 1e9, foreach=True),
            "clip_grad_norm_, loop": lambda: nn.utils.clip_grad_norm_(parameters, 1e9, foreach=False),
        },
    )


def muon_comparisons() -> Iterator[SpeedComparison]:
    """Yield updates of the matrices of a small Transformer's blocks by Muon."""
    sizes = {"d_model": 192, "heads": 4, "encoder_layers": 3, "decoder_layers": 3, "feed_forward": 768}
    model = Transformer(ModelConfig.model_validate(sizes), 4, 4)
    stacks = [weight for part in (model.encoder, model.decoder) for weight in part.parameters() if weight.dim() == 2]
    for weight in stacks:
        weight.grad = torch.randn_like(weight)
    blocks = {module.weight: module.blocks for module in model.modules() if isinstance(module, FusedLinear)}
    groups = [{"params": [weight], "blocks": blocks.get(weight, 1)} for weight in stacks]
    shared: dict[str, Any] = {"lr": 1e-5, "weight_decay": 0.0}
    yield SpeedComparison(
        f"Muon, {sum(weight.numel() for weight in stacks) / 1e6:.1f}M weights in {len(stacks)} matrices",
        {
            "torch's": torch.optim.Muon(stacks, adjust_lr_fn="match_rms_adamw", **shared).step,
            "ours, fused projections whole": Muon([{"params": stacks, **shared}]).step,
            "ours, fused projections apart": Muon([{**group, **shared} for group in groups]).step,
        },
    )


def compile_comparisons() -> Iterator[SpeedComparison]:
    """Yield forward and backward of six layers, a head and the loss, as they are and compiled, at one shape."""
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 1024, dropout=0.1, batch_first=True, norm_first=True)
    stack = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(4096, WIDTH), stack, nn.Linear(WIDTH, 4096))
    ids = torch.randint(4, 4096, (128, 32))

    def loss() -> Tensor:
        return _torch_loss(model(ids).flatten(0, 1), ids.flatten())

    def run(compute: Callable[[], Tensor], bf16: bool) -> None:
        torch.set_float32_matmul_precision("medium")
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            value = compute()
        torch.autograd.backward(value)
        model.zero_grad(set_to_none=True)

    compiled = torch.compile(loss, dynamic=False)
    yield SpeedComparison(
        "six layers of nn.TransformerEncoder, B 128 S 32, V 4096, with loss, forward and backward",
        {
            "float32 medium": lambda: run(loss, False),
            "float32 medium, compiled": lambda: run(compiled, False),
            "bf16 autocast": lambda: run(loss, True),
            "bf16 autocast, compiled": lambda: run(compiled, True),
        },
    )


def _model() -> nn.Module:
    sizes = {"d_model": 256, "heads": 4, "encoder_layers": 3, "decoder_layers": 3, "feed_forward": 1024}
    return PlainTransformer(ModelConfig.model_validate({**sizes, "dropout": 0.1}), 4096, 4096)


def _torch_loss(logits: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(logits, labels, ignore_index=PAD, label_smoothing=SMOOTHING)
