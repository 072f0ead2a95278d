"""The whole network, compared with `nn.Transformer` of torch and with itself."""

import pytest
import torch
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.errors import InputError
from translator.masks import one_sentence_a_row
from translator.model import Transformer
from translator.model.attention import (
    CrossAttention,
    MultiHeadAttention,
    SelfAttention,
    attention_weights,
    plain_attention,
)
from translator.model.decoder import DecoderLayer
from translator.model.encoder import EncoderLayer
from translator.special_tokens import EOS, PAD, SOS

SMALL = ModelConfig(d_model=32, heads=4, encoder_layers=2, decoder_layers=3, feed_forward=48, max_positions=40)
VOCABULARY = 30


def model_of(**changes: object) -> Transformer:
    torch.manual_seed(1)
    model = Transformer(SMALL.model_copy(update=changes), VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return model.eval()


def batch(seed: int = 1, rows: int = 5) -> tuple[Tensor, Tensor]:
    """Source (rows, 9) and target input (rows, 7), filled with PAD to the right."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(4, VOCABULARY, (rows, 9), generator=generator)
    target = torch.randint(4, VOCABULARY, (rows, 7), generator=generator)
    target[:, 0] = SOS
    for row in range(rows):
        length = 9 - row
        source[row, length - 1] = EOS
        source[row, length:] = PAD
        target[row, 7 - row :] = PAD
    return source, target


def copy_attention(ours: SelfAttention | CrossAttention, theirs: nn.MultiheadAttention) -> None:
    if isinstance(ours, SelfAttention):
        theirs.in_proj_weight.copy_(ours.query_key_value.weight)
        theirs.in_proj_bias.copy_(ours.query_key_value.bias)
    else:
        theirs.in_proj_weight.copy_(torch.cat((ours.query.weight, ours.key_value.weight)))
        theirs.in_proj_bias.copy_(torch.cat((ours.query.bias, ours.key_value.bias)))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def copy_encoder_layer(ours: EncoderLayer, theirs: nn.TransformerEncoderLayer) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    theirs.norm1.load_state_dict(ours.self_attention_residual.norm.state_dict())
    theirs.norm2.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())


def copy_decoder_layer(ours: DecoderLayer, theirs: nn.TransformerDecoderLayer) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    theirs.norm1.load_state_dict(ours.self_attention_residual.norm.state_dict())
    theirs.norm2.load_state_dict(ours.cross_attention_residual.norm.state_dict())
    theirs.norm3.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())


@torch.no_grad()
def torch_transformer(ours: Transformer, config: ModelConfig) -> nn.Transformer:
    """`nn.Transformer` with the weights of `ours`."""
    theirs = nn.Transformer(
        config.d_model,
        config.heads,
        config.encoder_layers,
        config.decoder_layers,
        config.feed_forward,
        dropout=0.0,
        activation=config.activation,
        norm_first=config.norm == "pre",
        batch_first=True,
    ).eval()
    theirs.encoder.use_nested_tensor = False
    for encoder_layer, their_encoder_layer in zip(ours.encoder.layers, theirs.encoder.layers, strict=True):
        assert isinstance(their_encoder_layer, nn.TransformerEncoderLayer)
        copy_encoder_layer(encoder_layer, their_encoder_layer)
    for decoder_layer, their_decoder_layer in zip(ours.decoder.layers, theirs.decoder.layers, strict=True):
        assert isinstance(their_decoder_layer, nn.TransformerDecoderLayer)
        copy_decoder_layer(decoder_layer, their_decoder_layer)
    if config.norm == "pre":
        assert theirs.encoder.norm is not None and theirs.decoder.norm is not None
        theirs.encoder.norm.load_state_dict(ours.encoder.norm.state_dict())
        theirs.decoder.norm.load_state_dict(ours.decoder.norm.state_dict())
    else:  # the original paper has no norm after a post-norm stack
        theirs.encoder.norm = theirs.decoder.norm = None
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_logits_equal_those_of_torch_with_the_same_weights(norm: str, activation: str) -> None:
    ours = model_of(norm=norm, activation=activation)
    theirs = torch_transformer(ours, SMALL.model_copy(update={"norm": norm, "activation": activation}))
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


ROWS = range(5)


def single_row(source: Tensor, target: Tensor, row: int) -> tuple[Tensor, Tensor]:
    """One row of a batch as a batch of its own, without PAD."""
    source_length = int((source[row] != PAD).sum())
    target_length = int((target[row] != PAD).sum())
    return source[row : row + 1, :source_length], target[row : row + 1, :target_length]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_other_rows_of_a_batch_do_not_change_logits(norm: str) -> None:
    model = model_of(norm=norm)
    source, target = batch()
    together = model(source, target)
    for row in ROWS:
        row_source, row_target = single_row(source, target, row)
        alone = model(row_source, row_target)
        torch.testing.assert_close(alone[0], together[row, : row_target.size(1)], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_padding_does_not_change_logits(norm: str) -> None:
    model = model_of(norm=norm)
    for row in ROWS:
        row_source, row_target = single_row(*batch(), row)
        alone = model(row_source, row_target)
        padded = model(nn.functional.pad(row_source, (0, 9)), nn.functional.pad(row_target, (0, 5)))
        torch.testing.assert_close(padded[0, : row_target.size(1)], alone[0], rtol=1e-5, atol=1e-5)


def test_attention_weights_have_a_map_for_each_layer_and_head() -> None:
    weights = model_of().attention(*batch())
    assert [tuple(layer.shape) for layer in weights.encoder] == [(5, 4, 9, 9)] * 2
    assert [tuple(layer.shape) for layer in weights.decoder] == [(5, 4, 7, 7)] * 3
    assert [tuple(layer.shape) for layer in weights.cross] == [(5, 4, 7, 9)] * 3


def test_attention_weights_obey_the_masks_and_sum_to_one() -> None:
    model = model_of()
    source, target = batch()
    weights = model.attention(source, target)
    masks = model.masks(one_sentence_a_row(source), one_sentence_a_row(target))
    stacks = (weights.encoder, weights.decoder, weights.cross)
    for layers, mask in zip(stacks, masks, strict=True):
        for layer_weights in layers:
            masked_weights = layer_weights[~mask.expand_as(layer_weights)]
            sums = layer_weights.sum(-1)
            assert (masked_weights == 0).all()
            torch.testing.assert_close(sums, torch.ones_like(sums))


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_attention_weights_are_those_of_the_forward_pass(norm: str, positions: str) -> None:
    """A kernel that records its weights, in place of the model's, sees the same."""
    model = model_of(norm=norm, positions=positions)
    source, target = batch()
    expected = model.attention(source, target)

    # Record the weights of a forward pass.
    recorded: list[Tensor] = []

    def kernel(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
        recorded.append(attention_weights(query, key, mask))
        return plain_attention(query, key, value, mask, dropout)

    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = kernel
    with torch.no_grad():
        model(source, target)

    # Two layers of the encoder; in each of three layers of the decoder, self-attention and cross-attention.
    assert len(recorded) == 2 + 2 * 3
    torch.testing.assert_close(recorded[:2], expected.encoder)
    torch.testing.assert_close(recorded[2::2], expected.decoder)
    torch.testing.assert_close(recorded[3::2], expected.cross)


@pytest.mark.parametrize(("tied", "matrices"), [("none", 3), ("target", 2), ("all", 1)])
def test_tied_weights_are_stored_once(tied: str, matrices: int) -> None:
    weights = model_of(tied_embeddings=tied).state_dict().values()
    embedding_matrices = [weight for weight in weights if weight.shape == (VOCABULARY, 32)]
    assert len(embedding_matrices) == matrices
    storages = [weight.data_ptr() for weight in weights]
    assert len(set(storages)) == len(storages)


@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_tied_weights_are_the_same_parameter(tied: str) -> None:
    model = model_of(tied_embeddings=tied)
    assert (model.head_weight is model.target_embedding.tokens.weight) == (tied != "none")
    assert (model.source_embedding is model.target_embedding) == (tied == "all")


@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_every_weight_gets_a_gradient(tied: str) -> None:
    model = model_of(tied_embeddings=tied)
    source, target = batch()
    torch.autograd.backward(model(source, target).logsumexp(-1).sum())
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name


@pytest.mark.parametrize("side", ["source", "target_input"])
def test_sequence_longer_than_the_positions_is_rejected(side: str) -> None:
    sequences = {"source": torch.full((1, 3), 5), "target_input": torch.full((1, 3), 5)}
    sequences[side] = torch.full((1, 41), 5)
    with pytest.raises(InputError, match="41 tokens is longer than the 40 positions"):
        model_of()(**sequences)
