"""Export to Hugging Face's `MarianMTModel`: post-norm, sinusoids, separate q, k and v.

Marian's sinusoids have all sines first, then all cosines; ours alternate. The columns of the residual stream can have
any order that all its readers and writers share, so the export permutes them to Marian's order. D is the model width.
"""

from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save
from torch import Tensor

from translator.config import ModelConfig, SearchConfig
from translator.core import EOS, PAD, SOS, UNK
from translator.core.transformer import Transformer
from translator.run.files import write_bytes, write_json

_TOKENS: Final = {
    "pad_token_id": PAD,
    "bos_token_id": SOS,
    "eos_token_id": EOS,
    "decoder_start_token_id": SOS,
    "forced_eos_token_id": None,  # Marian's own default forces token 0
}
_LAYER_MODULES: Final = {
    "self_attention.query_key_value": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention.output": ("self_attn.out_proj",),
    "self_attention_residual.norm": ("self_attn_layer_norm",),
    "cross_attention.query": ("encoder_attn.q_proj",),
    "cross_attention.key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross_attention.output": ("encoder_attn.out_proj",),
    "cross_attention_residual.norm": ("encoder_attn_layer_norm",),
    "feed_forward.inner": ("fc1",),
    "feed_forward.outer": ("fc2",),
    "feed_forward_residual.norm": ("final_layer_norm",),
}
"""The modules of our layers, and those of Marian's that have their weights, one after the other."""
_READERS: Final = ("embed_tokens", "shared", "lm_head", "q_proj", "k_proj", "v_proj", "fc1")
"""Weights (·, D) whose columns belong to the residual stream; their biases do not."""
_WRITERS: Final = ("out_proj", "fc2", "layer_norm")  # weights and biases (D, ·) whose rows belong to that stream


def marian_obstacles(config: ModelConfig) -> list[str]:
    """Return a reason for each setting that Hugging Face's Marian does not support."""
    reasons = []
    if config.norm != "post":
        reasons.append(f"model.norm is `{config.norm}`, but Marian has its LayerNorm after each residual sum (`post`)")
    if config.activation == "swiglu":
        reasons.append("model.activation is `swiglu`, but Marian has no gated feed-forward layer")
    if config.positions != "sinusoidal":
        reasons.append(f"model.positions is `{config.positions}`, but Marian supports only sinusoids")
    return reasons


@torch.no_grad()
def write_marian_weights(
    folder: Path, model: Transformer, config: ModelConfig, search: SearchConfig, quantization: str = "float32"
) -> None:
    """Write config.json, generation_config.json and model.safetensors into the existing `folder`.

    Args:
        folder: the export.
        model: the trained network.
        config: its shape, one without `marian_obstacles`.
        search: the run's search, from which the defaults of `generate` come.
        quantization: type of the weights: `float32`, `float16` or `bfloat16`.
    """
    # 1. The weights.
    weight_type = getattr(torch, quantization)
    tensors = {name: tensor.to(weight_type) for name, tensor in _marian_tensors(model, config).items()}
    write_bytes(folder / "model.safetensors", save(tensors, metadata={"format": "pt"}))

    # 2. The settings. transformers reads the shape from config.json, and the search from generation_config.json.
    source_vocabulary = model.source_embedding.tokens.num_embeddings
    target_vocabulary = model.target_embedding.tokens.num_embeddings
    header = {"architectures": ["MarianMTModel"], "model_type": "marian", "dtype": quantization}
    settings = marian_config(config, (source_vocabulary, target_vocabulary))
    write_json(folder / "config.json", header | settings)
    write_json(folder / "generation_config.json", generation_config(config, search))


def marian_config(config: ModelConfig, vocabularies: tuple[int, int]) -> dict[str, Any]:
    """Return the arguments of `MarianConfig` for a model of `config`; `vocabularies` are source and target sizes."""
    return {
        **_TOKENS,
        "vocab_size": vocabularies[0],
        "decoder_vocab_size": vocabularies[1],
        "share_encoder_decoder_embeddings": config.tied_embeddings == "all",
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
    }


def generation_config(config: ModelConfig, search: SearchConfig) -> dict[str, Any]:
    """Return the defaults of `generate`, as close to the run's search as Marian supports."""
    settings: dict[str, Any] = {
        **_TOKENS,
        "suppress_tokens": [PAD, UNK, SOS],
        "do_sample": search.method == "sampling",
        "num_beams": search.settings.beam_size,
        "max_length": config.max_positions,
    }
    # transformers warns of settings that its method does not use, so only those of the method are written.
    if search.method == "beam":
        settings["length_penalty"] = search.length_penalty
    if search.method == "sampling":
        settings |= {"temperature": search.temperature, "top_k": search.top_k, "top_p": search.top_p}
    if search.no_repeat_ngram:
        settings["no_repeat_ngram_size"] = search.no_repeat_ngram
    return settings


def _marian_tensors(model: Transformer, config: ModelConfig) -> dict[str, Tensor]:
    """Return the weights under Marian's names, in Marian's order of columns, in float32 on the CPU."""
    # 1. Embeddings and output head.
    tensors: dict[str, Tensor] = {}
    if config.tied_embeddings == "all":
        tensors["model.shared.weight"] = model.source_embedding.tokens.weight
    else:
        tensors["model.encoder.embed_tokens.weight"] = model.source_embedding.tokens.weight
        tensors["model.decoder.embed_tokens.weight"] = model.target_embedding.tokens.weight
    if config.tied_embeddings == "none":
        tensors["lm_head.weight"] = model.head_weight
    tensors["final_logits_bias"] = torch.zeros(1, len(model.head_weight))  # our output head has no bias

    # 2. Layers. Our q, k and v are fused in one matrix, one after the other; Marian has a matrix for each.
    for name, tensor in model.state_dict().items():
        path = name.split(".")  # such as encoder.layers.0.feed_forward.inner.weight
        if path[1] == "layers":
            layer, module = ".".join(path[:3]), ".".join(path[3:-1])
            kind = path[-1]  # weight or bias
            marian_names = _LAYER_MODULES[module]
            for marian_name, part in zip(marian_names, tensor.chunk(len(marian_names)), strict=True):
                tensors[f"model.{layer}.{marian_name}.{kind}"] = part

    # 3. Permute the residual stream: our sinusoids alternate sines and cosines, Marian's have all sines first. `order`
    # has our column for each of Marian's.
    columns = torch.arange(config.d_model)
    order = torch.cat((columns[0::2], columns[1::2]))
    for name, tensor in tensors.items():
        module, _, kind = name.rpartition(".")
        if module.endswith(_WRITERS):
            tensor = tensor[order]
        elif module.endswith(_READERS) and kind == "weight":
            tensor = tensor[:, order]
        tensors[name] = tensor.detach().float().cpu().clone().contiguous()
    return tensors
