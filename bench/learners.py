"""The contestants of the training benchmark, each a model with its optimizer and its loop.

`python -m bench.learners NAME CONFIG` is the process of one contestant; CONFIG is a recipe as JSON. Separate processes
isolate peak memory, precision of products and a library's settings at import.
"""

import importlib
import importlib.util
import itertools
import logging
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bench.processes import Answer, peak_memory, serve
from translator.config import Config, ModelConfig, TrainingConfig, parse_config
from translator.core import PAD
from translator.core.optimizer import learning_rate
from translator.core.positions import sinusoidal_positions
from translator.data import Batch, DataHandler, DataPosition, StepBatches, collate_rows
from translator.export.marian import marian_config
from translator.run.workers import available_cores
from translator.speed.device import Arithmetic, use_threads
from translator.training.distributed import Distributed
from translator.training.learner import build_learner as build_our_learner
from translator.training.precision import set_up

OURS, PLAIN, MARIAN, MARIAN_MEDIUM = "translator", "nn.Transformer", "Marian", "Marian, medium"
NAMES: Final = (OURS, PLAIN, MARIAN, MARIAN_MEDIUM)
CPU: Final = torch.device("cpu")
POOL: Final = 50  # batches whose sentences are sorted together, for models that know no rows
SidePair = tuple[list[int], list[int]]
_UNTRAINED: Final = ("embed_positions", "final_logits_bias", "emb.pe.", "layer_scalar")  # substrings of tensor names


class Learner:
    """A model of another library with the usual loop: forward, torch's cross entropy, backward, clip, step.

    Args:
        model: the other library's model.
        config: learning rate, label smoothing and clipping.
        arithmetic: device and autocast.
        forward: returns the logits (B, T, V) of the model for a batch.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        config: TrainingConfig,
        arithmetic: Arithmetic,
        forward: Callable[[Any, Batch], Tensor],
    ) -> None:
        self.model = model.train()
        self._optimizer = optimizer
        self._config = config
        self._arithmetic = arithmetic
        self._forward = forward
        self._loss = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=config.label_smoothing)

    def update(self, batch: Batch, number: int) -> None:
        """Update the weights on `batch`, which is on the CPU, as update `number` (from 1) of the schedule."""
        batch = batch.to(self._arithmetic.device)
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(number, self._config.schedule_settings)
        self._optimizer.zero_grad()
        with self._arithmetic.autocast():
            loss = self._loss(self.logits(batch).flatten(0, 1), batch.labels.flatten())
        loss.backward()
        if self._config.gradient_clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self._config.gradient_clip)
        self._optimizer.step()

    def logits(self, batch: Batch) -> Tensor:
        """Return (B, T, V) for `batch`, which is on the model's device."""
        return self._forward(self.model, batch)

    @torch.no_grad()
    def held_out_loss(self, batches: Sequence[Batch]) -> float:
        """Return the mean loss per real target token in nats, without smoothing and dropout."""
        self.model.eval()
        total = 0.0
        for batch in batches:
            logits = self.logits(batch).flatten(0, 1).float()
            total += float(F.cross_entropy(logits, batch.labels.flatten(), ignore_index=PAD, reduction="sum"))
        self.model.train()
        return total / sum(batch.target_tokens for batch in batches)


class OurLearner(Learner):
    """The updates of `translator train`."""

    def __init__(self, config: Config, vocabularies: tuple[int, int], device: torch.device) -> None:
        alone = Distributed()
        settings = set_up(config, device, alone)
        self._learner = build_our_learner(config, vocabularies, device, settings, alone)
        self._arithmetic = Arithmetic(device, settings.precision)
        self.model = self._learner.loss.model.train()

    def update(self, batch: Batch, number: int) -> None:
        """Update the weights (see `Learner`)."""
        share = StepBatches(
            batches=(batch,),
            target_tokens=batch.target_tokens,
        )
        self._learner.update(share, number)

    def logits(self, batch: Batch) -> Tensor:
        """Return (R, L, V)."""
        with self._arithmetic.autocast():
            model = self._learner.loss.model
            return model.project(model.states(batch))


class PlainTransformer(nn.Module):
    """Embeddings with sinusoidal positions, `nn.Transformer`, a linear head."""

    def __init__(self, config: ModelConfig, vocabularies: tuple[int, int]) -> None:
        super().__init__()
        width = config.d_model
        self.source_embedding = nn.Embedding(vocabularies[0], width, padding_idx=PAD)
        self.target_embedding = nn.Embedding(vocabularies[1], width, padding_idx=PAD)
        self.register_buffer("table", sinusoidal_positions(512, width))
        with warnings.catch_warnings():  # with pre-norm it warns about an unavailable fast path
            warnings.filterwarnings("ignore", message="enable_nested_tensor")
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
        """Return logits (B, T, V)."""
        table = self.get_buffer("table")
        scale = math.sqrt(self.source_embedding.embedding_dim)
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


def build_marian(config: ModelConfig, vocabularies: tuple[int, int], **extra: Any) -> nn.Module:
    """Return a `MarianMTModel` of the sizes in `config`: post-norm, sinusoidal positions, tied target embedding.

    `extra` holds values of the library's `MarianConfig`, such as `init_std`.
    """
    transformers = importlib.import_module("transformers")  # optional: type checks must pass without it
    like_marian = config.model_copy(update={"activation": "relu", "tied_embeddings": "target"})
    settings = {
        "use_cache": False,
        "attn_implementation": "sdpa",
        **marian_config(like_marian, vocabularies),
        **extra,
    }
    model: nn.Module = transformers.MarianMTModel(transformers.MarianConfig(**settings))
    return model


def marian_learner(
    config: Config, vocabularies: tuple[int, int], arithmetic: Arithmetic, rounding: str, **extra: Any
) -> Learner:
    """Return Hugging Face's `MarianMTModel` with AdamW; see `build_marian` for `extra`."""
    torch.set_float32_matmul_precision(rounding)
    model = build_marian(config.model, vocabularies, **extra).to(arithmetic.device)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0)
    return Learner(model, optimizer, config.training, arithmetic, _marian_logits)


def _marian_logits(model: nn.Module, batch: Batch) -> Tensor:
    output = model(input_ids=batch.source, attention_mask=batch.source != PAD, decoder_input_ids=batch.target_input)
    logits: Tensor = output.logits
    return logits


def marian_is_installed() -> bool:
    """Return whether the library `transformers` is installed."""
    return importlib.util.find_spec("transformers") is not None


def build_learner(name: str, config: Config, vocabularies: tuple[int, int]) -> Learner:
    """Return the contestant `name`, one of `NAMES`; the others compute in float32."""
    torch.manual_seed(config.run.seed)
    if name == OURS:
        return OurLearner(config, vocabularies, CPU)
    if name == PLAIN:
        torch.set_float32_matmul_precision("highest")  # torch's default
        model = PlainTransformer(config.model, vocabularies)
        optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
        return Learner(
            model,
            optimizer,
            config.training,
            Arithmetic(CPU, "float32"),
            lambda model, batch: model(batch.source, batch.target_input),
        )
    rounding = "medium" if name == MARIAN_MEDIUM else "highest"
    return marian_learner(config, vocabularies, Arithmetic(CPU, "float32"), rounding)


class Contest:
    """A learner on endless `batches`."""

    def __init__(self, learner: Learner, batches: Iterator[Batch]) -> None:
        self.learner = learner
        self._batches = batches
        self._number = 0

    def train(self, steps: int) -> Answer:
        """Make `steps` updates, including reading of batches, and return their time and counts."""
        batches = []
        began = time.perf_counter()
        for batch in itertools.islice(self._batches, steps):
            self._number += 1
            self.learner.update(batch, self._number)
            batches.append(batch)
        seconds = time.perf_counter() - began
        target_tokens = sum(batch.target_tokens for batch in batches)
        return {
            "seconds": seconds,
            "target_tokens": target_tokens,
            "tokens": target_tokens + sum(int(batch.source_lengths.sum()) for batch in batches),
            "positions": sum(batch.source.numel() + batch.labels.numel() for batch in batches),
        }


def our_batches(data: DataHandler) -> Iterator[Batch]:
    """Yield the batches of `translator train`, in its order."""
    return (batch for batch, _ in data.train_batches(DataPosition()))


def sorted_batches(batches: Iterable[Batch], positions: int) -> Iterator[Batch]:
    """Yield the sentences of `batches` one per row, for models that know no rows of several sentences.

    As in other toolkits, the sentences of a pool of batches are sorted by length, so that a batch has little padding;
    it has at most `positions` on its larger side. The batches of a pool come in random order.
    """
    remaining = iter(batches)
    generator = np.random.default_rng(1)
    while pool := list(itertools.islice(remaining, POOL)):
        # 1. The sentences of the pool by length, the longest first.
        pairs = list(itertools.chain.from_iterable(map(pairs_of, pool)))
        pairs.sort(key=lambda pair: (max(map(len, pair)), len(pair[0])), reverse=True)

        # 2. Cut into batches, which come in random order.
        sorted_groups: list[list[SidePair]] = []
        while pairs:
            longest = max(map(len, pairs[0])) + 1
            count = max(1, positions // longest)
            sorted_groups.append(pairs[:count])
            pairs = pairs[count:]
        for number in generator.permutation(len(sorted_groups)):
            yield collate_rows([[pair] for pair in sorted_groups[number]])


def pairs_of(batch: Batch) -> Iterator[SidePair]:
    """Yield the ids of each pair of `batch`, without special tokens."""
    for row, count in enumerate(batch.pair_counts.tolist()):
        for number in range(1, count + 1):
            source = batch.source[row][batch.source_sentence[row] == number]
            labels = batch.labels[row][batch.target_sentence[row] == number]
            yield source[:-1].tolist(), labels[:-1].tolist()


def answers(name: str, config: Config) -> dict[str, Callable[..., Answer]]:
    """Return the functions of the process of contestant `name`, by verb."""
    use_threads(config.run.threads or available_cores())
    logging.getLogger("translator").setLevel(logging.ERROR)  # the parent process has logged it
    data = DataHandler(config)
    vocabularies = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
    budget = config.batching.tokens_per_batch

    def suited(batches: Iterable[Batch]) -> Iterator[Batch]:
        return iter(batches) if name == OURS else sorted_batches(batches, budget)

    contest = Contest(build_learner(name, config, vocabularies), suited(our_batches(data)))

    def facts() -> Answer:
        peak = peak_memory()  # of training: validation comes after it
        learner = contest.learner
        weights = sum(weight.numel() for weight in learner.model.parameters())
        return {
            "bytes": peak,
            "weights": weights,
            "loss": learner.held_out_loss(list(suited(data.validation_batches()))),
        }

    return {"train": contest.train, "facts": facts}


def count_weights(path: Path) -> int:
    """Return the number of trained parameters in a safetensors file; tied matrices count once."""
    counted: list[torch.Tensor] = []
    for name, tensor in load_file(path).items():
        is_trained = not any(part in name for part in _UNTRAINED)
        if is_trained and not _is_tied(tensor, counted):
            counted.append(tensor)
    return sum(tensor.numel() for tensor in counted)


def _is_tied(tensor: torch.Tensor, tensors: Sequence[torch.Tensor]) -> bool:
    """Return whether a matrix equals one of `tensors`."""
    if tensor.dim() < 2:
        return False
    return any(tensor.shape == candidate.shape and torch.equal(tensor, candidate) for candidate in tensors)


def average_weights(paths: Sequence[Path], output: Path) -> None:
    """Write the mean tensors of several files, summed in float64; integer tensors are those of the last file."""
    files = [load_file(path) for path in paths]
    means: dict[str, torch.Tensor] = {}
    for name, tensor in files[-1].items():
        means[name] = tensor
        if tensor.is_floating_point():
            tensors = torch.stack([file[name].double() for file in files])
            means[name] = tensors.mean(0).to(tensor.dtype)
    save_file(means, output, metadata={"format": "pt"})


if __name__ == "__main__":
    sys.exit(serve(lambda: answers(sys.argv[1], parse_config(sys.argv[2], f"the recipe of {sys.argv[1]}"))))
