"""The contestants of the training benchmark: our learner, and models of other libraries in the usual loop.

B sentences, R rows, L positions of a row, S source positions, T target positions, V target vocabulary
"""

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from translator.config import Config, ModelConfig
from translator.core import PAD
from translator.core.batch import Batch, StepBatches, collate_rows
from translator.core.optimizer import learning_rate
from translator.core.positions import sinusoidal_positions
from translator.data import DataHandler, DataPosition
from translator.export.marian import marian_config
from translator.training.distributed import Distributed
from translator.training.learner import build_learner as build_our_learner
from translator.training.precision import set_up

OURS, PLAIN, MARIAN, MARIAN_MEDIUM = "translator", "nn.Transformer", "Marian", "Marian, medium"
NAMES: Final = (OURS, PLAIN, MARIAN, MARIAN_MEDIUM)
CPU: Final = torch.device("cpu")
_ALL: Final = 1 << 60  # training pairs
Pairs = Sequence[tuple[Sequence[int], Sequence[int]]]
"""The ids of each source and its target, without special tokens."""


class Learner(Protocol):
    """A model with its optimizer."""

    model: nn.Module

    def update(self, batch: Batch, number: int) -> Tensor:
        """Update the weights as update `number` (from 1) of the schedule; return the loss () before, in nats."""


class OurLearner:
    """The updates of `translator train`."""

    def __init__(self, config: Config, vocabularies: tuple[int, int]) -> None:
        alone = Distributed()
        settings = set_up(config, CPU, alone)
        self._learner = build_our_learner(config, vocabularies, CPU, settings, alone)
        self.model: nn.Module = self._learner.loss.model

    def update(self, batch: Batch, number: int) -> Tensor:
        """Update the weights (see `Learner`)."""
        share = StepBatches(batches=(batch,), target_tokens=batch.target_tokens)
        (token_losses,) = self._learner.update(share, number).token_losses
        return token_losses.sum() / batch.target_tokens


class OtherLearner:
    """A model of another library with the usual loop: forward, torch's cross entropy, backward, clip, step.

    Args:
        forward: returns the logits (B, T, V) of the model for a batch.
        rounding: the setting of `torch.set_float32_matmul_precision`.
    """

    def __init__(
        self,
        model: nn.Module,
        forward: Callable[[Any, Batch], Tensor],
        config: Config,
        rounding: str = "highest",
    ) -> None:
        torch.set_float32_matmul_precision(rounding)
        self.model = model.train()
        self._forward = forward
        self._settings = config.training
        self._loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=config.training.label_smoothing)
        self._optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0)

    def update(self, batch: Batch, number: int) -> Tensor:
        """Update the weights (see `Learner`)."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(number, self._settings.schedule_settings)
        self._optimizer.zero_grad()
        logits = self._forward(self.model, batch)
        loss = self._loss(logits.flatten(0, 1), batch.labels.flatten())
        loss.backward()
        if self._settings.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self._settings.gradient_clip)
        self._optimizer.step()
        value: Tensor = loss.detach()
        return value


class PlainTransformer(nn.Module):
    """Embeddings with sinusoidal positions, `nn.Transformer`, a linear head."""

    def __init__(self, config: ModelConfig, vocabularies: tuple[int, int]) -> None:
        super().__init__()
        width = config.d_model
        self.source_embedding = nn.Embedding(vocabularies[0], width, padding_idx=PAD)
        self.target_embedding = nn.Embedding(vocabularies[1], width, padding_idx=PAD)
        self.register_buffer("table", sinusoidal_positions(512, width))
        self.transformer = nn.Transformer(
            d_model=width,
            nhead=config.heads,
            num_encoder_layers=config.encoder_layers,
            num_decoder_layers=config.decoder_layers,
            dim_feedforward=config.feed_forward,
            dropout=config.dropout,
            batch_first=True,
            norm_first=config.norm == "pre",
        )
        self.dropout = nn.Dropout(config.dropout)
        self.head = nn.Linear(width, vocabularies[1])

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the logits (B, T, V) for the ids (B, S) and (B, T)."""
        causal = nn.Transformer.generate_square_subsequent_mask(target_input.size(1)).isinf()
        states = self.transformer(
            self._embed(self.source_embedding, source),
            self._embed(self.target_embedding, target_input),
            tgt_mask=causal,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target_input == PAD,
            memory_key_padding_mask=source == PAD,
        )
        logits: Tensor = self.head(states)
        return logits

    def _embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        scaled = embedding(ids) * math.sqrt(embedding.embedding_dim)
        embedded: Tensor = self.dropout(scaled + self.get_buffer("table")[: ids.size(1)])
        return embedded


def plain_learner(config: Config, vocabularies: tuple[int, int]) -> OtherLearner:
    """Return torch's `nn.Transformer` with AdamW."""

    def forward(model: nn.Module, batch: Batch) -> Tensor:
        logits: Tensor = model(batch.source, batch.target_input)
        return logits

    return OtherLearner(PlainTransformer(config.model, vocabularies), forward, config)


def marian_learner(
    config: Config,
    vocabularies: tuple[int, int],
    rounding: str = "highest",
    **extra: Any,
) -> OtherLearner:
    """Return Hugging Face's `MarianMTModel` with AdamW: post-norm, sinusoidal positions, tied target embedding.

    `extra` holds values of the library's `MarianConfig`, such as `init_std`.
    """
    transformers = importlib.import_module("transformers")  # optional: type checks must pass without it
    like_marian = config.model.model_copy(update={"activation": "relu", "tied_embeddings": "target"})
    usual = {"use_cache": False, "attn_implementation": "sdpa"}
    settings = {**usual, **marian_config(like_marian, vocabularies), **extra}
    model = transformers.MarianMTModel(transformers.MarianConfig(**settings))

    def forward(model: nn.Module, batch: Batch) -> Tensor:
        output = model(input_ids=batch.source, attention_mask=batch.source != PAD, decoder_input_ids=batch.target_input)
        logits: Tensor = output.logits
        return logits

    return OtherLearner(model, forward, config, rounding)


def build_learner(name: str, config: Config, vocabularies: tuple[int, int]) -> Learner:
    """Return the contestant `name`, one of `NAMES`; the others compute in float32."""
    torch.manual_seed(config.run.seed)
    if name == OURS:
        return OurLearner(config, vocabularies)
    if name == PLAIN:
        return plain_learner(config, vocabularies)
    return marian_learner(config, vocabularies, rounding="medium" if name == MARIAN_MEDIUM else "highest")


def our_batches(data: DataHandler) -> Iterator[Batch]:
    """Yield the batches of `translator train`, in its order."""
    return (batch for batch, _ in data.train_batches(DataPosition()))


def all_pairs(data: DataHandler) -> Pairs:
    """Return all usable training pairs."""
    sides = []
    for sentences in data.training_ids(_ALL):
        ends = np.cumsum(sentences.lengths)
        sides.append([row.tolist() for row in np.split(sentences.ids, ends[:-1])])
    sources, targets = sides
    return list(zip(sources, targets, strict=True))


def sorted_batches(data: DataHandler, positions: int) -> Iterator[Batch]:
    """Yield the training pairs endlessly, one per row, for models that know no rows of several sentences.

    As in other toolkits, the pairs are sorted by length, so that a batch has little padding; it has at most `positions`
    on its larger side. The batches of an epoch come in random order.
    """
    pairs = all_pairs(data)
    generator = np.random.default_rng(1)
    while True:
        # 1. Sort the pairs, the longest first; those of equal lengths are in random order.
        shuffled = [pairs[number] for number in generator.permutation(len(pairs))]
        shuffled.sort(key=lambda pair: (max(map(len, pair)), len(pair[0])), reverse=True)

        # 2. Cut them into batches, which come in random order.
        groups: list[Pairs] = []
        begin = 0
        while begin < len(shuffled):
            longest = max(map(len, shuffled[begin])) + 1
            end = begin + max(1, positions // longest)
            groups.append(shuffled[begin:end])
            begin = end
        for number in generator.permutation(len(groups)):
            yield collate_rows([[pair] for pair in groups[number]])


def weights_of(model: nn.Module) -> int:
    """Return the number of trained weights; tied matrices count once."""
    trained = {name: weight for name, weight in model.named_parameters() if "embed_positions" not in name}
    return sum(weight.numel() for weight in trained.values())
