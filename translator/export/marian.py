"""Export to Hugging Face's `MarianMTModel` and `MarianTokenizer`: post-norm, sinusoids, separate q, k and v.

Marian's sinusoids have all sines first, then all cosines; ours alternate. The columns of the residual stream can have
any order that all its readers and writers share, so the export permutes them to Marian's order. D is the model width.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save
from torch import Tensor

from translator.config import ModelConfig, SearchConfig
from translator.config.corpus_section import Languages
from translator.model import Transformer
from translator.run.storage import write_bytes, write_json
from translator.special_tokens import EOS, PAD, SOS, SPECIAL_TOKENS, UNK
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE, SubwordPair

_TYPES: Final = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
_TOKENS: Final = {
    "pad_token_id": PAD,
    "bos_token_id": SOS,
    "eos_token_id": EOS,
    "decoder_start_token_id": SOS,
    "forced_eos_token_id": None,  # Marian's own default forces token 0
}
_READERS: Final = ("embed_tokens", "shared", "lm_head", "q_proj", "k_proj", "v_proj", "fc1")
"""Weights (·, D) whose columns belong to the residual stream; their biases do not."""
_WRITERS: Final = ("out_proj", "fc2", "layer_norm")  # weights and biases (D, ·) whose rows belong to that stream


def marian_obstacles(config: ModelConfig) -> list[str]:
    """Return a reason for each setting that Hugging Face's Marian does not support."""
    norm, activation, positions = config.norm, config.activation, config.positions
    reasons = {
        f"model.norm is `{norm}`, but Marian has its LayerNorm after each residual sum (`post`)": norm != "post",
        "model.activation is `swiglu`, but Marian has no gated feed-forward layer": activation == "swiglu",
        f"model.positions is `{positions}`, but Marian supports only sinusoids": positions != "sinusoidal",
    }
    return [reason for reason, applies in reasons.items() if applies]


@torch.no_grad()
def write_marian_weights(
    folder: Path, model: Transformer, config: ModelConfig, search: SearchConfig, quantization: str = "float32"
) -> None:
    """Write config.json, generation_config.json (from `search`) and model.safetensors into the existing `folder`."""
    assert not marian_obstacles(config), "see check_format"
    tensors = {name: tensor.to(_TYPES[quantization]) for name, tensor in _marian_tensors(model, config).items()}
    write_bytes(folder / "model.safetensors", save(tensors, metadata={"format": "pt"}))
    sizes = model.source_embedding.tokens.num_embeddings, model.target_embedding.tokens.num_embeddings
    about = {"architectures": ["MarianMTModel"], "model_type": "marian", "dtype": quantization}
    write_json(folder / "config.json", about | marian_config(config, sizes))
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


def _marian_tensors(model: Transformer, config: ModelConfig) -> dict[str, Tensor]:
    source, target = model.source_embedding.tokens.weight, model.target_embedding.tokens.weight
    if config.tied_embeddings == "all":
        tensors: dict[str, Tensor] = {"model.shared.weight": source}
    else:
        tensors = {"model.encoder.embed_tokens.weight": source, "model.decoder.embed_tokens.weight": target}
    if config.tied_embeddings == "none":
        tensors["lm_head.weight"] = model.head_weight
    tensors["final_logits_bias"] = torch.zeros(1, len(model.head_weight))
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        layers: Sequence[Any] = stack.layers
        for number, layer in enumerate(layers):
            for name, tensor in _layer_tensors(layer).items():
                tensors[f"model.{side}.layers.{number}.{name}"] = tensor
    columns = torch.arange(config.d_model)
    order = torch.cat((columns[0::2], columns[1::2]))  # our column for each Marian column: sines before cosines
    for name, tensor in tensors.items():
        module, _, kind = name.rpartition(".")
        if module.endswith(_WRITERS):
            tensor = tensor[order]
        elif module.endswith(_READERS) and kind == "weight":
            tensor = tensor[:, order]
        tensors[name] = tensor.detach().float().cpu().clone().contiguous()
    return tensors


def _layer_tensors(layer: Any) -> dict[str, Tensor]:
    own = layer.self_attention
    modules = {
        "self_attn.out_proj": own.output,
        "self_attn_layer_norm": layer.self_attention_residual.norm,
        "fc1": layer.feed_forward.inner,
        "fc2": layer.feed_forward.outer,
        "final_layer_norm": layer.feed_forward_residual.norm,
    }
    fused = {"self_attn": [own.query_key_value]}
    if hasattr(layer, "cross_attention"):
        cross = layer.cross_attention
        modules["encoder_attn.out_proj"] = cross.output
        modules["encoder_attn_layer_norm"] = layer.cross_attention_residual.norm
        fused["encoder_attn"] = [cross.query, cross.key_value]
    tensors: dict[str, Tensor] = {}
    for kind in ("weight", "bias"):
        tensors |= {f"{name}.{kind}": getattr(module, kind) for name, module in modules.items()}
        for name, parts in fused.items():
            projections = torch.cat([getattr(part, kind) for part in parts]).chunk(3)
            for letter, projection in zip("qkv", projections, strict=True):
                tensors[f"{name}.{letter}_proj.{kind}"] = projection
    return tensors


def write_marian_tokenizer(folder: Path, subword_folder: Path, max_length: int, languages: Languages) -> None:
    """Write the tokenizer into `folder`; `max_length`, in tokens with EOS, is the limit for `truncation=True`."""
    subword = SubwordPair.load(subword_folder)
    files = (JOINT_FILE, JOINT_FILE) if subword.joint else (SOURCE_FILE, TARGET_FILE)
    for file, written in zip(files, ("source.spm", "target.spm"), strict=True):
        write_bytes(folder / written, (subword_folder / file).read_bytes())
    vocabularies = {"vocab.json": subword.source} | ({} if subword.joint else {"target_vocab.json": subword.target})
    for written, model in vocabularies.items():
        pieces = model.pieces_of(range(model.vocabulary_size))
        write_json(folder / written, {piece: token for token, piece in enumerate(pieces)})
    names = {PAD: "pad_token", UNK: "unk_token", SOS: "bos_token", EOS: "eos_token"}
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": languages[0].code,
        "target_lang": languages[1].code,
        "separate_vocabs": not subword.joint,
        **{names[token]: spelling for spelling, token in SPECIAL_TOKENS},
        "model_max_length": max_length,
        # Special tokens spelled out in a text are encoded as text, and spaces in Persian text are kept.
        "split_special_tokens": True,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / "tokenizer_config.json", settings)
