"""Every switch of training under bf16 autocast: finite, and the gradient points where float32's points."""

import pytest
import torch
from torch import Tensor

from translator.config import ModelConfig
from translator.model import Transformer
from translator.special_tokens import EOS, PAD, SOS
from translator.training.loss import label_smoothed_loss
from translator.training.r_drop import symmetric_divergence

VOCABULARY = 100
SWITCHES: dict[str, dict[str, object]] = {
    "plain": {},
    "smoothing": {"smoothing": 0.1},
    "r-drop": {"r_drop": 5.0},
    "r-drop and smoothing": {"r_drop": 1.0, "smoothing": 0.1},
    "attention dropout": {"attention_dropout": 0.1},
    "feed-forward dropout": {"feed_forward_dropout": 0.1},
    "untied": {"tied_embeddings": "none"},
    "all tied": {"tied_embeddings": "all"},
    "post-norm": {"norm": "post"},
    "post-norm, r-drop": {"norm": "post", "r_drop": 5.0},
    "swiglu, learned positions": {"activation": "swiglu", "positions": "learned"},
    "rotary positions": {"positions": "rotary"},
}


def model_of(changes: dict[str, object]) -> Transformer:
    torch.manual_seed(1)
    sizes = {"d_model": 64, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 128}
    keys = {key: value for key, value in changes.items() if key not in ("smoothing", "r_drop")}
    return Transformer(ModelConfig.model_validate({**sizes, "max_positions": 32, "dropout": 0.1, **keys}), 100, 100)


def batch(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Source (8, 12), target input (8, 10) and labels (8, 10), with padding on both sides."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(4, VOCABULARY, (8, 12), generator=generator)
    labels = torch.randint(4, VOCABULARY, (8, 10), generator=generator)
    for row in range(8):
        source[row, 5 + row % 7] = EOS
        source[row, 6 + row % 7 :] = PAD
        labels[row, 2 + row] = EOS
        labels[row, 3 + row :] = PAD
    target_input = torch.cat((torch.full((8, 1), SOS), labels[:, :-1]), dim=1)
    return source, target_input.masked_fill(target_input == EOS, PAD), labels


def gradient(model: Transformer, changes: dict[str, object], *, bf16: bool) -> tuple[Tensor, Tensor]:
    """Return the loss and the whole gradient of one step; with R-Drop the two passes read unlike sources."""
    source, target_input, labels = batch(seed=1)
    smoothing, r_drop = float(str(changes.get("smoothing", 0.0))), float(str(changes.get("r_drop", 0.0)))
    if r_drop:
        # Without dropout equal sources would agree, and there would be no divergence to be wrong about.
        other = source.masked_fill(torch.arange(12) == 1, 7)
        source, target_input, labels = torch.cat((source, other)), target_input.repeat(2, 1), labels.repeat(2, 1)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        logits = model(source, target_input)[labels != PAD]  # (N, V), of two passes (2N, V)
        loss = label_smoothed_loss(logits, labels[labels != PAD], smoothing).smoothed
        if r_drop:
            loss = 0.5 * (loss + r_drop * symmetric_divergence(logits))
    model.zero_grad()
    torch.autograd.backward(loss / (labels != PAD).sum())
    parts = [weight.grad.flatten() for weight in model.parameters() if weight.grad is not None]
    assert len(parts) == len(list(model.parameters()))
    return loss.detach(), torch.cat(parts)


@pytest.mark.parametrize("changes", SWITCHES.values(), ids=SWITCHES.keys())
def test_bf16_points_where_float32_points(changes: dict[str, object]) -> None:
    model = model_of(changes).eval()  # no dropout: its noise would differ
    exact_loss, exact = gradient(model, changes, bf16=False)
    loss, rounded = gradient(model, changes, bf16=True)
    assert rounded.dtype == torch.float32 and not torch.equal(rounded, exact)
    assert loss.item() == pytest.approx(exact_loss.item(), rel=0.02)
    assert torch.cosine_similarity(rounded, exact, dim=0) > 0.99


@pytest.mark.parametrize("changes", SWITCHES.values(), ids=SWITCHES.keys())
def test_bf16_with_dropout_is_finite(changes: dict[str, object]) -> None:
    loss, rounded = gradient(model_of(changes).train(), changes, bf16=True)
    assert bool(loss.isfinite()) and bool(rounded.isfinite().all()) and rounded.abs().max() > 0
