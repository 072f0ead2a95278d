"""Writes a model in CTranslate2's format."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.errors import InputError
from translator.inference.ctranslate2 import SPELLING, require, spellings
from translator.model import Transformer
from translator.model.embedding import Embedding
from translator.special_tokens import EOS, SOS, UNK
from translator.subword import SubwordPair


@torch.no_grad()
def write_ctranslate2(
    folder: Path, model: Transformer, config: ModelConfig, subword: SubwordPair, quantization: str = "float32"
) -> None:
    """Write a model for CTranslate2 into the existing `folder`; raise InputError if CTranslate2 does not support it."""
    spec = _empty_spec(config)
    stacks: Sequence[tuple[Any, Any, Any, Embedding]] = (
        (spec.encoder, spec.encoder.embeddings[0], model.encoder, model.source_embedding),
        (spec.decoder, spec.decoder.embeddings, model.decoder, model.target_embedding),
    )
    for stack_spec, embedding_spec, stack, embedding in stacks:
        embedding_spec.weight = _array(embedding.tokens.weight)
        if embedding.positions.table is not None:  # CTranslate2's own sinusoids have another layout
            stack_spec.position_encodings.encodings = _array(embedding.positions.table)
        for layer_spec, layer in zip(stack_spec.layer, stack.layers, strict=True):
            _set_layer(layer_spec, layer)
        if config.norm == "pre":
            _set([stack_spec.layer_norm], stack.norm)
    spec.decoder.projection.weight = _array(model.head_weight)
    spec.register_source_vocabulary(spellings(subword.source))
    spec.register_target_vocabulary(spellings(subword.target))
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = (SPELLING[token] for token in (UNK, SOS, EOS))
    spec.config.decoder_start_token = SPELLING[SOS]
    spec.config.add_source_eos = True
    (spec.config.layer_norm_epsilon,) = {module.eps for module in model.modules() if isinstance(module, nn.LayerNorm)}
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def _empty_spec(config: ModelConfig) -> Any:
    specs, stacks = require("ctranslate2.specs"), require("ctranslate2.specs.transformer_spec")
    encoder, decoder, kinds = stacks.TransformerEncoderSpec, stacks.TransformerDecoderSpec, specs.Activation
    shared: dict[str, Any] = {
        "pre_norm": config.norm == "pre",
        "activation": {"relu": kinds.RELU, "gelu": kinds.GELU, "swiglu": kinds.SWISH}[config.activation],
        "ffn_glu": config.activation == "swiglu",
    }
    if config.positions == "rotary":  # all columns of a head, in adjacent pairs
        if "rotary_dim" not in inspect.signature(encoder.__init__).parameters:
            lacking = f"the encoder of CTranslate2 {require('ctranslate2').__version__} lacks"
            advice = 'install a newer one: pip install --upgrade "ctranslate2<5"'
            raise InputError(f"model.positions is `rotary`, which {lacking}; {advice}")
        shared["rotary_dim"] = config.d_model // config.heads
    return specs.TransformerSpec(
        encoder(config.encoder_layers, config.heads, **shared),
        decoder(config.decoder_layers, config.heads, **shared, alignment_layer=-1, alignment_heads=config.heads),
    )


def _set_layer(spec: Any, layer: Any) -> None:
    """Set a layer of the encoder or decoder; the order of fused projections is the same in both formats."""
    own, feed_forward = layer.self_attention, layer.feed_forward
    _set([spec.self_attention.layer_norm], layer.self_attention_residual.norm)
    _set(spec.self_attention.linear, own.query_key_value, own.output)
    if hasattr(layer, "cross_attention"):
        cross = layer.cross_attention
        _set([spec.attention.layer_norm], layer.cross_attention_residual.norm)
        _set(spec.attention.linear, cross.query, cross.key_value, cross.output)
    _set([spec.ffn.layer_norm], layer.feed_forward_residual.norm)
    _set([spec.ffn.linear_0, spec.ffn.linear_1], feed_forward.inner, feed_forward.outer)
    if feed_forward.activation == "swiglu":  # first the activated gate, then the value
        gate, value = spec.ffn.linear_0, spec.ffn.linear_0_noact
        (gate.weight, value.weight), (gate.bias, value.bias) = np.split(gate.weight, 2), np.split(gate.bias, 2)


def _set(specs: Sequence[Any], *modules: Any) -> None:
    for spec, module in zip(specs, modules, strict=True):
        names = ("gamma", "beta") if isinstance(module, nn.LayerNorm) else ("weight", "bias")
        for name, tensor in zip(names, (module.weight, module.bias), strict=True):
            setattr(spec, name, _array(tensor))


def _array(tensor: Tensor) -> Any:
    """Return a copy as a NumPy array: quantization works in place and must not change the model."""
    return tensor.detach().float().cpu().numpy().copy()
