"""A model in the words of Hugging Face's `MarianMTModel`: post-norm, fixed sinusoids, separate q, k and v.

Marian's sinusoids have all sines first and then all cosines; ours alternate. A network does not care in which order the
columns of its residual stream stand, as long as all that read and write it agree: so they are put into Marian's order
here, and its own table fits.

D model width, V vocabulary
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from translator.config import ModelConfig, SearchConfig
from translator.export.formats import marian_obstacles
from translator.model import Transformer
from translator.model.attention import CrossAttention, SelfAttention
from translator.special_tokens import EOS, PAD, SOS, UNK
from translator.storage import write_bytes, write_json

_TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


@torch.no_grad()
def write_marian_weights(
    folder: Path, model: Transformer, config: ModelConfig, search: SearchConfig, quantization: str = "float32"
) -> None:
    """Write config.json, generation_config.json and model.safetensors into `folder`, which is there.

    Args:
        folder: where to.
        model: the network.
        config: what it was built from.
        search: becomes the defaults of `generate`.
        quantization: type of the weights, one of `QUANTIZATIONS`.
    """
    assert not marian_obstacles(config), "check_format has been asked"
    tensors = {name: tensor.to(_TYPES[quantization]) for name, tensor in marian_tensors(model, config).items()}
    write_bytes(folder / "model.safetensors", save(tensors, metadata={"format": "pt"}))
    write_json(folder / "config.json", marian_config(model, config, quantization))
    write_json(folder / "generation_config.json", generation_config(config, search))


def marian_config(model: Transformer, config: ModelConfig, quantization: str) -> dict[str, Any]:
    """Return config.json; keys that fall back to Marian's own defaults, such as an EOS that is forced, are all set."""
    shared = config.tied_embeddings == "all"
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "dtype": quantization,
        "vocab_size": model.source_embedding.tokens.num_embeddings,
        "decoder_vocab_size": model.target_embedding.tokens.num_embeddings,
        "share_encoder_decoder_embeddings": shared,
        "tie_word_embeddings": config.tied_embeddings != "none",
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.feed_forward,
        "decoder_ffn_dim": config.feed_forward,
        "activation_function": config.activation,
        "scale_embedding": True,
        "max_position_embeddings": config.max_positions,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.feed_forward_dropout,
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "is_encoder_decoder": True,
        "pad_token_id": PAD,
        "bos_token_id": SOS,
        "eos_token_id": EOS,
        "forced_eos_token_id": None,
        "decoder_start_token_id": SOS,
        "use_cache": True,
    }


def generation_config(config: ModelConfig, search: SearchConfig) -> dict[str, Any]:
    """Return what `generate` does when it is not told otherwise: the search of the run, as near as it can be said."""
    settings: dict[str, Any] = {
        "decoder_start_token_id": SOS,
        "bos_token_id": SOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
        "forced_eos_token_id": None,
        "suppress_tokens": [PAD, UNK, SOS],
        "do_sample": search.method == "sampling",
        "num_beams": search.beam_size if search.method == "beam" else 1,
        "max_length": config.max_positions,
    }
    if search.method == "beam":
        settings["length_penalty"] = search.length_penalty
    if search.method == "sampling":
        settings |= {"temperature": search.temperature, "top_k": search.top_k, "top_p": search.top_p}
    if search.no_repeat_ngram:
        settings["no_repeat_ngram_size"] = search.no_repeat_ngram
    return settings


def marian_tensors(model: Transformer, config: ModelConfig) -> dict[str, Tensor]:
    """Return the weights under Marian's names; a tied weight is there once, as Marian saves it."""
    order = marian_order(config.d_model)
    tensors: dict[str, Tensor] = {}
    if config.tied_embeddings == "all":
        tensors["model.shared.weight"] = model.source_embedding.tokens.weight[:, order]
    else:
        tensors["model.encoder.embed_tokens.weight"] = model.source_embedding.tokens.weight[:, order]
        tensors["model.decoder.embed_tokens.weight"] = model.target_embedding.tokens.weight[:, order]
    if config.tied_embeddings == "none":
        tensors["lm_head.weight"] = model.head_weight[:, order]
    tensors["final_logits_bias"] = torch.zeros(1, len(model.head_weight))
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        layers: Sequence[Any] = stack.layers
        for number, layer in enumerate(layers):
            for name, tensor in _layer_tensors(layer, order).items():
                tensors[f"model.{side}.layers.{number}.{name}"] = tensor
    return {name: tensor.detach().float().cpu().clone().contiguous() for name, tensor in tensors.items()}


def marian_order(d_model: int) -> Tensor:
    """Return (D,) int64: which of our columns stands at each place in Marian, the sines before the cosines."""
    columns = torch.arange(d_model)
    return torch.cat((columns[0::2], columns[1::2]))


def _layer_tensors(layer: Any, order: Tensor) -> dict[str, Tensor]:
    """Return the weights of one layer of either stack."""
    tensors = _attention_tensors("self_attn", layer.self_attention, order)
    tensors |= _norm_tensors("self_attn_layer_norm", layer.self_attention_residual.norm, order)
    if hasattr(layer, "cross_attention"):
        tensors |= _attention_tensors("encoder_attn", layer.cross_attention, order)
        tensors |= _norm_tensors("encoder_attn_layer_norm", layer.cross_attention_residual.norm, order)
    inner, outer = layer.feed_forward.inner, layer.feed_forward.outer
    tensors |= {"fc1.weight": inner.weight[:, order], "fc1.bias": inner.bias}
    tensors |= {"fc2.weight": outer.weight[order], "fc2.bias": outer.bias[order]}
    return tensors | _norm_tensors("final_layer_norm", layer.feed_forward_residual.norm, order)


def _attention_tensors(name: str, attention: SelfAttention | CrossAttention, order: Tensor) -> dict[str, Tensor]:
    """Return the four projections, of which only the side at the residual stream is put in order."""
    if isinstance(attention, SelfAttention):
        weights, biases = attention.query_key_value.weight.chunk(3), attention.query_key_value.bias.chunk(3)
    else:
        weights = (attention.query.weight, *attention.key_value.weight.chunk(2))
        biases = (attention.query.bias, *attention.key_value.bias.chunk(2))
    tensors = {}
    for projection, weight, bias in zip(("q_proj", "k_proj", "v_proj"), weights, biases, strict=True):
        tensors[f"{name}.{projection}.weight"] = weight[:, order]
        tensors[f"{name}.{projection}.bias"] = bias
    tensors[f"{name}.out_proj.weight"] = attention.output.weight[order]
    tensors[f"{name}.out_proj.bias"] = attention.output.bias[order]
    return tensors


def _norm_tensors(name: str, norm: nn.LayerNorm, order: Tensor) -> dict[str, Tensor]:
    return {f"{name}.weight": norm.weight[order], f"{name}.bias": norm.bias[order]}
