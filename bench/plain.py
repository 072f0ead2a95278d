"""The contestant: `nn.Transformer` trained as a tutorial would, in shuffled batches of a fixed number of sentences."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.data import Batch, collate
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
        causal = nn.Transformer.generate_square_subsequent_mask(target_input.size(1)).isinf()
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


class PlainTraining:
    """One optimizer step after another, each over `sentences` pairs drawn by a shuffled epoch."""

    def __init__(self, model: nn.Module, sources: Sequence[Ids], targets: Sequence[Ids], sentences: int) -> None:
        self._model = model
        self._loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
        self._optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
        self._batches = self._shuffled(sources, targets, sentences)

    @staticmethod
    def _shuffled(sources: Sequence[Ids], targets: Sequence[Ids], sentences: int) -> Iterator[Batch]:
        generator = np.random.default_rng(0)
        while True:
            order = generator.permutation(len(sources))
            for start in range(0, len(order) - sentences + 1, sentences):
                rows = order[start : start + sentences]
                yield collate([sources[i] for i in rows], [targets[i] for i in rows], rows)

    def steps(self, count: int) -> float:
        """Train for `count` steps and return the real target tokens seen."""
        tokens = 0
        for _, batch in zip(range(count), self._batches, strict=False):
            self._optimizer.zero_grad()
            logits = self._model(batch.source, batch.target_input)
            self._loss(logits.flatten(0, 1), batch.labels.flatten()).backward()
            nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
            self._optimizer.step()
            tokens += batch.target_tokens
        return float(tokens)
