"""The whole network, compared with `nn.Transformer` of torch and with itself."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from translator.core import EOS, PAD, SOS
from translator.core.layers import Activation, FeedForward, NetworkSettings, NormOrder
from translator.core.transformer import Transformer

SMALL = NetworkSettings(d_model=32, heads=4, encoder_layers=2, decoder_layers=3, feed_forward=48, max_positions=40)
VOCABULARY = 30


def model_of(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    model = Transformer(replace(SMALL, **changes), VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return model.eval()


def batch() -> tuple[Tensor, Tensor]:
    """Source (5, 9) and target input (5, 7), filled with PAD to the right."""
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(4, VOCABULARY, (5, 9), generator=generator)
    target = torch.randint(4, VOCABULARY, (5, 7), generator=generator)
    target[:, 0] = SOS
    for row in range(5):
        length = 9 - row
        source[row, length - 1] = EOS
        source[row, length:] = PAD
        target[row, 7 - row :] = PAD
    return source, target


TORCH_NAMES = {
    "self_attention.query_key_value.": "self_attn.in_proj_",
    "self_attention.output": "self_attn.out_proj",
    "self_attention_residual.norm": "norm1",
    "cross_attention.output": "multihead_attn.out_proj",
    "cross_attention_residual.norm": "norm2",
    "feed_forward.inner": "linear1",
    "feed_forward.outer": "linear2",
}
"""Parts of the names of our weights, and of those of torch."""


def weights_for_torch(ours: Transformer) -> dict[str, Tensor]:
    """The weights of both stacks by the names that `nn.Transformer` gives them."""
    weights = {}
    for name, weight in ours.state_dict().items():
        stack = name.partition(".")[0]
        if stack in ("encoder", "decoder"):
            for part, torch_part in TORCH_NAMES.items():
                name = name.replace(part, torch_part)
            last_norm = "norm2" if stack == "encoder" else "norm3"
            weights[name.replace("feed_forward_residual.norm", last_norm)] = weight
    # Torch keeps the query, key and value projections of cross-attention in one matrix.
    for name in [name for name in weights if "cross_attention.query." in name]:
        projections = (weights.pop(name), weights.pop(name.replace("query", "key_value")))
        weights[name.replace("cross_attention.query.", "multihead_attn.in_proj_")] = torch.cat(projections)
    return weights


def torch_transformer(ours: Transformer, settings: NetworkSettings) -> nn.Transformer:
    """`nn.Transformer` with the weights of `ours`."""
    theirs = nn.Transformer(
        settings.d_model,
        settings.heads,
        settings.encoder_layers,
        settings.decoder_layers,
        settings.feed_forward,
        dropout=0.0,
        activation=settings.activation,
        norm_first=settings.norm == "pre",
        batch_first=True,
    ).eval()
    theirs.encoder.use_nested_tensor = False
    if settings.norm == "post":  # the original paper has no norm after a post-norm stack
        theirs.encoder.norm = theirs.decoder.norm = None
    theirs.load_state_dict(weights_for_torch(ours))
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(("norm", "activation"), [("pre", "gelu"), ("post", "relu")])
def test_logits_equal_those_of_torch_with_the_same_weights(norm: NormOrder, activation: Activation) -> None:
    ours = model_of(norm=norm, activation=activation)
    theirs = torch_transformer(ours, replace(SMALL, norm=norm, activation=activation))
    source, target = batch()
    source_padding = torch.zeros(5, 9).masked_fill(source == PAD, -torch.inf)
    target_padding = torch.zeros(5, 7).masked_fill(target == PAD, -torch.inf)
    with torch.no_grad():
        states = theirs(
            ours.source_embedding(source, torch.arange(9).expand(5, -1)),
            ours.target_embedding(target, torch.arange(7).expand(5, -1)),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(7),
            src_key_padding_mask=source_padding,
            tgt_key_padding_mask=target_padding,
            memory_key_padding_mask=source_padding,
        )
        expected = ours.project(states)
        logits = ours(source, target)
    real = target != PAD
    torch.testing.assert_close(logits[real], expected[real], rtol=1e-5, atol=1e-5)
    assert logits.std() > 0.1


def test_swiglu_matches_its_formula() -> None:
    layer = FeedForward(8, 20, "swiglu")
    x = torch.randn(2, 3, 8)
    gate, value = layer.inner(x).split(20, dim=-1)
    torch.testing.assert_close(layer(x), layer.outer(nn.functional.silu(gate) * value))


@pytest.mark.parametrize(("tied", "matrices"), [("none", 3), ("target", 2), ("all", 1)])
def test_tied_weights_exist_once_and_every_weight_gets_a_gradient(tied: str, matrices: int) -> None:
    model = model_of(tied_embeddings=tied)
    weights = model.state_dict().values()
    assert [weight.shape for weight in weights].count(torch.Size((VOCABULARY, 32))) == matrices
    assert len({weight.data_ptr() for weight in weights}) == len(weights)
    assert (model.head_weight is model.target_embedding.tokens.weight) == (tied != "none")
    assert (model.source_embedding is model.target_embedding) == (tied == "all")

    torch.autograd.backward(model(*batch()).logsumexp(-1).sum())
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name


@pytest.mark.parametrize(("source", "target"), [(41, 3), (3, 41)])
def test_a_sequence_longer_than_the_positions_is_rejected(source: int, target: int) -> None:
    with pytest.raises(ValueError, match="41 tokens is longer than the 40 positions"):
        model_of()(torch.full((1, source), 5), torch.full((1, target), 5))
