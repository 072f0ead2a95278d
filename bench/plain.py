"""The contestant `nn.Transformer`, trained as a tutorial would, and a tutorial's batches."""

import math
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bench.learner import LoopLearner
from translator.config import Config, ModelConfig
from translator.data import Batch, collate
from translator.device import Arithmetic
from translator.special_tokens import PAD

Ids = NDArray[np.int32]


class PlainTransformer(nn.Module):
    """Embeddings, `nn.Transformer`, a linear head."""

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        width = config.d_model
        self.source_embedding = nn.Embedding(source_vocabulary, width, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_vocabulary, width, padding_idx=PAD)
        positions = torch.arange(512).unsqueeze(1)
        rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(512, width)
        table[:, 0::2], table[:, 1::2] = torch.sin(positions * rates), torch.cos(positions * rates)
        self.register_buffer("table", table)
        with warnings.catch_warnings():  # with pre-norm it says that it cannot use a faster path, in evaluation only
            warnings.filterwarnings("ignore", message="enable_nested_tensor")
            self.transformer = nn.Transformer(
                width,
                config.heads,
                config.encoder_layers,
                config.decoder_layers,
                config.feed_forward,
                config.dropout,
                batch_first=True,
                norm_first=config.norm == "pre",
            )
        self.dropout = nn.Dropout(config.dropout)
        self.head = nn.Linear(width, target_vocabulary)

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return logits (B, T, V)."""
        table, scale = self.get_buffer("table"), math.sqrt(self.source_embedding.embedding_dim)
        causal = nn.Transformer.generate_square_subsequent_mask(target_input.size(1), device=source.device).isinf()
        states = self.transformer(
            self.dropout(self.source_embedding(source) * scale + table[: source.size(1)]),
            self.dropout(self.target_embedding(target_input) * scale + table[: target_input.size(1)]),
            tgt_mask=causal,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target_input == PAD,
            memory_key_padding_mask=source == PAD,
        )
        logits: Tensor = self.head(states)
        return logits


class PlainLearner(LoopLearner):
    """The loop around it, with torch's defaults: Adam without fusing, no number format but float32."""

    def __init__(self, config: Config, source_vocabulary: int, target_vocabulary: int, device: torch.device) -> None:
        torch.set_float32_matmul_precision("highest")  # torch's default
        model = PlainTransformer(config.model, source_vocabulary, target_vocabulary).to(device)
        optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
        super().__init__(model, optimizer, config.training, Arithmetic(device, "float32"))

    def logits(self, batch: Batch) -> Tensor:
        """Return (B, T, V)."""
        logits: Tensor = self.model(batch.source, batch.target_input)
        return logits


def shuffled_batches(sources: Sequence[Ids], targets: Sequence[Ids], sentences: int, seed: int) -> Iterator[Batch]:
    """Yield a tutorial's batches without end: each epoch is shuffled and cut into batches of `sentences` pairs."""
    generator = np.random.default_rng(seed)
    sentences = min(sentences, len(sources))
    while True:
        order = generator.permutation(len(sources))
        for start in range(0, len(order) - sentences + 1, sentences):
            rows = order[start : start + sentences]
            yield collate([sources[i] for i in rows], [targets[i] for i in rows], rows)
