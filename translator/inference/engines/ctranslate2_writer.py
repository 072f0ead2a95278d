"""Writes a model in CTranslate2's format."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.core import EOS, SOS, UNK
from translator.core.transformer import Embedding, Transformer
from translator.errors import InputError
from translator.inference.engines.ctranslate2 import SPELLING, spellings
from translator.inference.engines.ctranslate2_library import require
from translator.run.text import install_command
from translator.subword import SubwordPair


@torch.no_grad()
def write_ctranslate2(
    folder: Path, model: Transformer, config: ModelConfig, subword: SubwordPair, quantization: str = "float32"
) -> None:
    """Write a model for CTranslate2.

    Args:
        folder: exists already.
        model: stays unchanged.
        config: the shape of the model.
        subword: gives the vocabularies.
        quantization: type of the weights in CTranslate2's names.

    Raises InputError: CTranslate2 does not support the model.
    """
    # 1. The weights.
    spec = _empty_spec(config)
    _set_embedding(spec.encoder, spec.encoder.embeddings[0], model.source_embedding)
    _set_embedding(spec.decoder, spec.decoder.embeddings, model.target_embedding)
    _set_layers(spec.encoder, model.encoder, config)
    _set_layers(spec.decoder, model.decoder, config)
    spec.decoder.projection.weight = _array(model.head_weight)

    # 2. The vocabularies, the special tokens, and the constant of all layer normalizations.
    spec.register_source_vocabulary(spellings(subword.source))
    spec.register_target_vocabulary(spellings(subword.target))
    spec.config.unk_token = SPELLING[UNK]
    spec.config.bos_token = SPELLING[SOS]
    spec.config.eos_token = SPELLING[EOS]
    spec.config.decoder_start_token = SPELLING[SOS]
    spec.config.add_source_eos = True
    (epsilon,) = {module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)}
    spec.config.layer_norm_epsilon = epsilon

    # 3. The files.
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def _empty_spec(config: ModelConfig) -> Any:
    """Return a model in CTranslate2's format, without weights."""
    transformer_spec = require("ctranslate2.specs.transformer_spec")
    specs = require("ctranslate2.specs")
    activations = {
        "relu": specs.Activation.RELU,
        "gelu": specs.Activation.GELU,
        "swiglu": specs.Activation.SWISH,
    }
    settings: dict[str, Any] = {
        "pre_norm": config.norm == "pre",
        "activation": activations[config.activation],
        "ffn_glu": config.activation == "swiglu",
    }
    encoder_class = transformer_spec.TransformerEncoderSpec
    if config.positions == "rotary":
        if "rotary_dim" not in inspect.signature(encoder_class.__init__).parameters:
            version = require("ctranslate2").__version__
            raise InputError(
                f"model.positions is `rotary`, which the encoder of CTranslate2 {version} lacks; install a newer one: "
                + install_command("--upgrade", "ctranslate2<5")
            )
        # All columns of a head are rotated. CTranslate2 pairs adjacent columns by default, as our model does.
        settings["rotary_dim"] = config.d_model // config.heads
    encoder = encoder_class(config.encoder_layers, config.heads, **settings)
    # The last layer gives the attention, from all heads.
    decoder = transformer_spec.TransformerDecoderSpec(
        config.decoder_layers, config.heads, **settings, alignment_layer=-1, alignment_heads=config.heads
    )
    return specs.TransformerSpec(encoder, decoder)


def _set_embedding(spec: Any, embedding_spec: Any, embedding: Embedding) -> None:
    """Set the embeddings of tokens and positions of the encoder or decoder."""
    embedding_spec.weight = _array(embedding.tokens.weight)
    if embedding.positions.table is not None:  # CTranslate2's own sinusoids have another layout
        spec.position_encodings.encodings = _array(embedding.positions.table)


def _set_layers(spec: Any, module: Any, config: ModelConfig) -> None:
    """Set the layers of the encoder or decoder, and the normalization after them."""
    for layer_spec, layer in zip(spec.layer, module.layers, strict=True):
        _set_layer(layer_spec, layer)
    if config.norm == "pre":
        _set([spec.layer_norm], module.norm)


def _set_layer(spec: Any, layer: Any) -> None:
    """Set a layer of the encoder or decoder; the order of fused projections is the same in both formats."""
    # 1. Self-attention.
    self_attention = layer.self_attention
    _set([spec.self_attention.layer_norm], layer.self_attention_residual.norm)
    _set(spec.self_attention.linear, self_attention.query_key_value, self_attention.output)

    # 2. Attention to the source, in the decoder.
    if hasattr(layer, "cross_attention"):
        cross_attention = layer.cross_attention
        _set([spec.attention.layer_norm], layer.cross_attention_residual.norm)
        _set(spec.attention.linear, cross_attention.query, cross_attention.key_value, cross_attention.output)

    # 3. Feed-forward.
    feed_forward = layer.feed_forward
    _set([spec.ffn.layer_norm], layer.feed_forward_residual.norm)
    _set([spec.ffn.linear_0, spec.ffn.linear_1], feed_forward.inner, feed_forward.outer)
    # `inner` has two matrices in one: first the activated gate, then the value.
    if feed_forward.activation == "swiglu":
        gate = spec.ffn.linear_0
        value = spec.ffn.linear_0_noact
        gate.weight, value.weight = np.split(gate.weight, 2)
        gate.bias, value.bias = np.split(gate.bias, 2)


def _set(specs: Sequence[Any], *modules: Any) -> None:
    """Copy the weights of linear layers or layer normalizations into their specs."""
    for spec, module in zip(specs, modules, strict=True):
        if isinstance(module, nn.LayerNorm):
            spec.gamma = _array(module.weight)
            spec.beta = _array(module.bias)
        else:
            spec.weight = _array(module.weight)
            spec.bias = _array(module.bias)


def _array(tensor: Tensor) -> Any:
    """Return a copy as a NumPy array: quantization works in place and must not change the model."""
    return tensor.detach().float().cpu().numpy().copy()
