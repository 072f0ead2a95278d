"""Attention: torch's fused kernel or plain products and a softmax, by shape, number format, dropout and mask.

B batch, S length, D model width, H heads, K head width
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from bench.turns import SpeedComparison

POSITIONS, HEADS, HEAD_WIDTH = 4096, 4, 64
LENGTHS = (8, 16, 32, 64, 128)


def attention_comparisons() -> Iterator[SpeedComparison]:
    """Yield forward and backward of attention from a fused projection (B, S, 3 D) to its context (B, S, D)."""
    for length in LENGTHS:
        for dtype in (torch.float32, torch.bfloat16):
            for masked, dropout in ((False, 0.0), (True, 0.0), (True, 0.1)):
                yield _comparison(length, dtype, masked, dropout)


def _comparison(length: int, dtype: torch.dtype, masked: bool, dropout: float) -> SpeedComparison:
    rows, width = POSITIONS // length, HEADS * HEAD_WIDTH
    projected = torch.randn(rows, length, 3 * width).to(dtype).requires_grad_()
    above = torch.randn(rows, length, width).to(dtype)
    mask = bias = None
    if masked:
        lengths = torch.randint(max(1, length // 2), length + 1, (rows,))
        mask = (torch.arange(length) < lengths.unsqueeze(1))[:, None, None, :]  # (B, 1, 1, S)
        bias = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, float("-inf"))

    def run(kind: str) -> None:
        torch.set_float32_matmul_precision("medium")
        heads = projected.view(rows, length, 3, HEADS, HEAD_WIDTH).permute(2, 0, 3, 1, 4)  # (3, B, H, S, K)
        query, key, value = heads.unbind(0)
        if kind == "fused":
            context = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        elif kind == "added":
            context = plain_added(query, key, value, bias, dropout)
        else:
            context = plain_filled(query, key, value, mask, dropout)
        torch.autograd.backward(context.transpose(1, 2).flatten(2), above)
        projected.grad = None

    ways = {
        "scaled_dot_product_attention, boolean mask": lambda: run("fused"),
        "plain, float32 softmax, masked_fill twice": lambda: run("filled"),
        "plain, softmax in the format, mask added": lambda: run("added"),
    }
    kind = "float32 medium" if dtype == torch.float32 else "bf16"
    title = f"attention {kind}, B {rows} S {length}, {'padding mask' if masked else 'no mask'}, dropout {dropout}"
    return SpeedComparison(title, ways)


def plain_filled(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """Return the context (B, H, S, K) under `mask` (B, 1, 1, S), True = may attend; the softmax is in float32."""
    scores = torch.matmul(query * query.size(-1) ** -0.5, key.transpose(-2, -1)).float()  # (B, H, S, S)
    if mask is None:
        weights = scores.softmax(dim=-1)
    else:
        filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = filled.softmax(dim=-1).masked_fill(~mask, 0.0)
    return torch.matmul(F.dropout(weights, dropout).to(value.dtype), value)


def plain_added(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, dropout: float) -> Tensor:
    """Return the context (B, H, S, K) with `bias` (B, 1, 1, S) on the scores: 0, or -inf where none may attend."""
    scores = torch.matmul(query * query.size(-1) ** -0.5, key.transpose(-2, -1))  # (B, H, S, S)
    weights = (scores if bias is None else scores + bias).softmax(dim=-1)
    return torch.matmul(F.dropout(weights, dropout), value)
