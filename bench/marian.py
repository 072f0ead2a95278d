"""The contestant `MarianMTModel` of Hugging Face transformers, with the sizes of a recipe and random weights."""

import importlib
import importlib.util
from typing import Any

import torch
from torch import Tensor, nn

from bench.learner import LoopLearner
from translator.config import Config, ModelConfig
from translator.data import Batch
from translator.device import Arithmetic
from translator.special_tokens import EOS, PAD, SOS


def marian_is_here() -> bool:
    """Return whether the library is installed."""
    return importlib.util.find_spec("transformers") is not None


def build_marian(config: ModelConfig, source_vocabulary: int, target_vocabulary: int, **further: Any) -> nn.Module:
    """Return a MarianMTModel of the sizes in `config`, with static sinusoidal positions and a tied target embedding.

    Its layers are post-norm and its attention is torch's fused one: both are how the library makes them.

    Args:
        config: the sizes.
        source_vocabulary: tokens of the source.
        target_vocabulary: tokens of the target.
        further: values of the library's `MarianConfig`, `init_std` for example.
    """
    # By name: the checks must pass where the library is not installed.
    transformers = importlib.import_module("transformers")
    settings: dict[str, Any] = {
        "vocab_size": source_vocabulary,
        "decoder_vocab_size": target_vocabulary,
        "share_encoder_decoder_embeddings": False,
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.feed_forward,
        "decoder_ffn_dim": config.feed_forward,
        "activation_function": "relu",
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.feed_forward_dropout,
        "max_position_embeddings": config.max_positions,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "pad_token_id": PAD,
        "bos_token_id": SOS,
        "decoder_start_token_id": SOS,
        "eos_token_id": EOS,
        "forced_eos_token_id": None,
        "use_cache": False,
        "attn_implementation": "sdpa",
        **further,
    }
    model: nn.Module = transformers.MarianMTModel(transformers.MarianConfig(**settings))
    return model


class MarianLearner(LoopLearner):
    """The model in the usual loop with AdamW."""

    def __init__(
        self,
        config: Config,
        source_vocabulary: int,
        target_vocabulary: int,
        arithmetic: Arithmetic,
        matmul_precision: str = "highest",
    ) -> None:
        torch.set_float32_matmul_precision(matmul_precision)
        model = build_marian(config.model, source_vocabulary, target_vocabulary).to(arithmetic.device)
        optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0)
        super().__init__(model, optimizer, config.training, arithmetic)

    def logits(self, batch: Batch) -> Tensor:
        """Return (B, T, V)."""
        output = self.model(
            input_ids=batch.source, attention_mask=batch.source != PAD, decoder_input_ids=batch.target_input
        )
        logits: Tensor = output.logits
        return logits
