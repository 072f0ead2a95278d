"""Training speed beside a straightforward `nn.Transformer` loop: real target tokens a second on the same pairs."""

from pathlib import Path

import torch

from bench.plain import Ids, PlainTraining, PlainTransformer
from bench.rounds import measure, ratio
from translator.config import Config
from translator.data import Batch, DataHandler, DataPosition
from translator.data.pair_store import PairStore
from translator.device import Arithmetic
from translator.model import Transformer
from translator.training.optimizer import build_optimizer
from translator.training.step import take_step

STEPS = 6
"""Steps of each contestant in a round."""


def bench_training(config: Config) -> list[str]:
    """Return the lines of a report on the training speed of `config`, and on padding.

    Both have the same sizes and dropout, and see about as many target tokens in a step. Ours has the settings of the
    recipe, the other what a tutorial has: random batches of a fixed number of sentences, torch's defaults.
    """
    data = DataHandler(config)
    cpu = torch.device("cpu")
    sizes = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
    batches = data.train_batches(DataPosition())
    model = Transformer(config.model, *sizes)
    optimizer = build_optimizer(model, config.training)
    seen: list[Batch] = []

    def ours() -> float:
        torch.set_float32_matmul_precision(config.training.matmul_precision)
        tokens = 0
        for _ in range(STEPS):
            batch, _ = next(batches)
            seen.append(batch)
            tokens += take_step(model, [batch], optimizer, 1, config.training, Arithmetic(cpu, "float32")).target_tokens
        return float(tokens)

    sources, targets = _pairs(data)
    mean = sum(len(target) + 1 for target in targets) / len(targets)
    sentences = max(1, round(config.batching.tokens_per_batch / mean))
    plain_training = PlainTraining(PlainTransformer(config.model, *sizes), sources, targets, sentences)

    def plain() -> float:
        torch.set_float32_matmul_precision("highest")
        return plain_training.steps(STEPS)

    rates = measure({"translator": ours, "plain nn.Transformer loop": plain}, "target tokens/s")
    padding = 1 - sum(b.source_tokens + b.target_tokens for b in seen) / sum(
        b.source.numel() + b.labels.numel() for b in seen
    )
    return [
        f"training, d {config.model.d_model}, {config.model.encoder_layers}+{config.model.decoder_layers} layers, "
        f"up to {config.batching.tokens_per_batch} positions a batch, {torch.get_num_threads()} threads",
        *map(str, rates.values()),
        ratio(rates["translator"], rates["plain nn.Transformer loop"]),
        f"  padding of our batches, both sides together: {padding:.1%}",
    ]


def _pairs(data: DataHandler) -> tuple[list[Ids], list[Ids]]:
    """Return the ids of all training pairs."""
    store = PairStore.open(Path(data.token_folder) / "train", data.corpus.names("train"))
    pairs = [store[number] for number in range(len(store))]
    return [source for source, _ in pairs], [target for _, target in pairs]
