"""A model in CTranslate2's own specification: the same sums in the same order, under its names.

D model width, F feed-forward width, V vocabulary
"""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.errors import InputError
from translator.export.libraries import require
from translator.model import Transformer
from translator.model.attention import CrossAttention, SelfAttention
from translator.model.embedding import Embedding
from translator.model.feed_forward import FeedForward
from translator.special_tokens import EOS, SOS, SPECIAL_TOKENS, UNK
from translator.subword import SubwordPair

_SPELLING = {token: spelling for spelling, token in SPECIAL_TOKENS}


@torch.no_grad()
def write_ctranslate2(
    folder: Path, model: Transformer, config: ModelConfig, subword: SubwordPair, quantization: str = "float32"
) -> None:
    """Write what CTranslate2 loads into `folder`, which is there: model.bin, config.json and the vocabularies.

    CTranslate2 adds EOS to a source by itself, and starts a target with SOS.

    Args:
        folder: where to.
        model: the network.
        config: what it was built from.
        subword: the models of its languages.
        quantization: type of the weights, one of `QUANTIZATIONS`.

    Raises:
        InputError: CTranslate2 is not installed, or too old for this model.
    """
    spec = _empty_spec(config)
    _set_stack(spec.encoder, model.encoder, config)
    _set_stack(spec.decoder, model.decoder, config)
    _set_embedding(spec.encoder, spec.encoder.embeddings[0], model.source_embedding)
    _set_embedding(spec.decoder, spec.decoder.embeddings, model.target_embedding)
    spec.decoder.projection.weight = _plain(model.head_weight)
    spec.register_source_vocabulary(subword.source.pieces_of(range(subword.source.vocabulary_size)))
    spec.register_target_vocabulary(subword.target.pieces_of(range(subword.target.vocabulary_size)))
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = (
        _SPELLING[token] for token in (UNK, SOS, EOS)
    )
    spec.config.decoder_start_token = _SPELLING[SOS]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = _norm_epsilon(model)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def _empty_spec(config: ModelConfig) -> Any:
    """Return the specification of an encoder and a decoder that want their weights."""
    specs, stacks = require("ctranslate2.specs"), require("ctranslate2.specs.transformer_spec")
    encoder, decoder = stacks.TransformerEncoderSpec, stacks.TransformerDecoderSpec
    shared: dict[str, Any] = {
        "pre_norm": config.norm == "pre",
        "activation": _activation(specs, config),
        "ffn_glu": config.activation == "swiglu",
    }
    if config.positions == "rotary":  # all columns of a head, by pairs of neighbours, as ours
        if "rotary_dim" not in inspect.signature(encoder.__init__).parameters:
            raise InputError(
                f"model.positions is `rotary`, which the encoder of CTranslate2 {require('ctranslate2').__version__} "
                'does not know; install a newer one: pip install --upgrade "ctranslate2<5"'
            )
        shared["rotary_dim"] = config.d_model // config.heads
    return specs.TransformerSpec(
        encoder(config.encoder_layers, config.heads, **shared),
        decoder(config.decoder_layers, config.heads, **shared, alignment_layer=-1, alignment_heads=config.heads),
    )


def _activation(specs: Any, config: ModelConfig) -> Any:
    """Return CTranslate2's name of the activation: that of the gate of `swiglu` is a swish."""
    kinds = specs.Activation
    return {"relu": kinds.RELU, "gelu": kinds.GELU, "swiglu": kinds.SWISH}[config.activation]


def _set_stack(spec: Any, stack: nn.Module, config: ModelConfig) -> None:
    """Set the layers of an encoder or decoder, and the LayerNorm that ends a pre-norm stack."""
    layers: Sequence[Any] = stack.layers  # type: ignore[assignment]
    for layer_spec, layer in zip(spec.layer, layers, strict=True):
        _set_self_attention(layer_spec.self_attention, layer.self_attention, layer.self_attention_residual.norm)
        if hasattr(layer, "cross_attention"):
            _set_cross_attention(layer_spec.attention, layer.cross_attention, layer.cross_attention_residual.norm)
        _set_feed_forward(layer_spec.ffn, layer.feed_forward, layer.feed_forward_residual.norm)
    if config.norm == "pre":
        _set_norm(spec.layer_norm, stack.norm)  # type: ignore[arg-type]


def _set_self_attention(spec: Any, attention: SelfAttention, norm: nn.LayerNorm) -> None:
    """Set query, key and value as one matrix (3D, D), in that order, as both sides have it."""
    _set_norm(spec.layer_norm, norm)
    _set_linear(spec.linear[0], attention.query_key_value)
    _set_linear(spec.linear[1], attention.output)


def _set_cross_attention(spec: Any, attention: CrossAttention, norm: nn.LayerNorm) -> None:
    _set_norm(spec.layer_norm, norm)
    _set_linear(spec.linear[0], attention.query)
    _set_linear(spec.linear[1], attention.key_value)
    _set_linear(spec.linear[2], attention.output)


def _set_feed_forward(spec: Any, feed_forward: FeedForward, norm: nn.LayerNorm) -> None:
    """Set the two projections; the fused one of `swiglu` (2F, D) is the gate, activated, and then the value."""
    _set_norm(spec.layer_norm, norm)
    if feed_forward.activation == "swiglu":
        inner = feed_forward.inner
        (gate, value), (gate_bias, value_bias) = inner.weight.chunk(2), inner.bias.chunk(2)
        spec.linear_0.weight, spec.linear_0.bias = _plain(gate), _plain(gate_bias)
        spec.linear_0_noact.weight, spec.linear_0_noact.bias = _plain(value), _plain(value_bias)
    else:
        _set_linear(spec.linear_0, feed_forward.inner)
    _set_linear(spec.linear_1, feed_forward.outer)


def _set_linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight, spec.bias = _plain(linear.weight), _plain(linear.bias)


def _set_norm(spec: Any, norm: nn.LayerNorm) -> None:
    spec.gamma, spec.beta = _plain(norm.weight), _plain(norm.bias)


def _set_embedding(stack: Any, spec: Any, embedding: Embedding) -> None:
    """Set tokens and positions; CTranslate2 would lay out sinusoids in another order, so it gets the table."""
    spec.weight = _plain(embedding.tokens.weight)
    if embedding.positions.table is not None:
        stack.position_encodings.encodings = _plain(embedding.positions.table)


def _plain(tensor: Tensor) -> Any:
    """Return a copy as a NumPy array: quantizing works in place, and the model must stay as it is."""
    return tensor.detach().float().cpu().numpy().copy()


def _norm_epsilon(model: Transformer) -> float:
    """Return the epsilon of all LayerNorms."""
    found = {module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)}
    (epsilon,) = found
    return epsilon
