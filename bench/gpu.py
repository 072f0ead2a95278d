"""Training speed on a GPU beside `MarianMTModel`, for Transformer-base and -big.

The ids are drawn at random, with lengths like those of a real corpus, so that no text is needed.
"""

import gc
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from bench.learners import MARIAN, OURS, Contest, build_learner, marian_is_installed
from bench.options import Options, model_sizes
from bench.processes import Answer, peak_memory
from bench.training import speed_lines
from translator.config import parse_config
from translator.data import Batch, collate
from translator.data.batching import epoch_generator, plan_batches
from translator.errors import ConfigError
from translator.model.device import matrix_rate
from translator.training.meter import StepFlops

SIZES: Final[Mapping[str, Mapping[str, int]]] = {
    "base": {"d_model": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048},
    "big": {"d_model": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096},
}


@dataclass(frozen=True)
class Work:
    """What is trained on, and for how long."""

    device: torch.device
    vocabulary: int = 8000
    tokens_per_batch: int = 25_000
    pairs: int = 20_000  # drawn once; their batches come again and again
    warm_steps: int = 60  # untimed updates of each contestant, in which every shape is compiled
    steps: int = 30  # updates of each contestant in a round
    rounds: int = 5


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on the GPU.

    Raises:
        ConfigError: there is no GPU, or no model size of that name.
    """
    if not torch.cuda.is_available():
        raise ConfigError("the GPU benchmark needs a CUDA GPU, and torch finds none here")
    device = torch.device("cuda")
    yield f"training on {torch.cuda.get_device_name(device)}, torch {torch.__version__}"
    for name in options.chosen(SIZES):
        yield from bench_size(name, SIZES[name], Work(device, rounds=options.rounds))


def bench_size(name: str, sizes: Mapping[str, int], work: Work) -> Iterator[str]:
    """Yield the lines on one size of model: ours and Marian's, in turns."""
    recipe = {
        "run": {"directory": "runs/bench/gpu"},
        "corpus": {"sources": [{"name": "none", "path": "none.tsv"}]},  # a recipe must name one; it is never read
        "subword": {"vocabulary_size": work.vocabulary},
        "model": {**sizes, "dropout": 0.1},
        "training": {"precision": "bf16"},
    }
    config = parse_config(json.dumps(recipe), f"Transformer-{name}")
    flops, batches = StepFlops(config.model, work.vocabulary), list(synthetic_batches(work))
    contests: dict[str, Contest] = {}
    facts: dict[str, Answer] = {}
    on_gpu = work.device.type == "cuda"
    for contestant in (OURS, MARIAN) if marian_is_installed() else (OURS,):
        gc.collect()
        if on_gpu:
            torch.cuda.reset_peak_memory_stats(work.device)
        held = torch.cuda.memory_allocated(work.device) if on_gpu else 0  # by earlier contestants
        learner = build_learner(contestant, config, (work.vocabulary, work.vocabulary), work.device)
        contests[contestant] = Contest(learner, itertools.cycle(batches), flops)
        contests[contestant].train(work.warm_steps)
        peak = torch.cuda.max_memory_allocated(work.device) - held if on_gpu else peak_memory()
        facts[contestant] = {"bytes": peak, "weights": sum(one.numel() for one in learner.model.parameters())}
    rates, rounds = [], {contestant: list[Answer]() for contestant in contests}
    for number in range(work.rounds):
        rates.append({"bf16": matrix_rate(work.device, "bf16")})
        for contestant in list(contests)[:: 1 if number % 2 else -1]:
            rounds[contestant].append(contests[contestant].train(work.steps))
    yield f"  Transformer-{name}, {model_sizes(config)}, up to {work.tokens_per_batch:,} positions a batch"
    yield from speed_lines(rates, rounds, facts)
    if len(contests) < 2:
        yield "    Marian is left out: the library `transformers` is not installed (the extra `bench` has it)"


def synthetic_batches(work: Work) -> Iterator[Batch]:
    """Yield an epoch of bucketed batches of random ids, the same at every call.

    Lengths are log-normal with a long tail, as those of literary prose in subwords.
    """
    generator = np.random.default_rng(1)
    longest = min(128, work.tokens_per_batch)
    source = np.exp(generator.normal(2.9, 0.65, work.pairs)).astype(np.int64).clip(1, longest - 1)
    target = (source * np.exp(generator.normal(0.05, 0.25, work.pairs))).astype(np.int64).clip(1, longest - 1)
    budget, order = work.tokens_per_batch, epoch_generator(1, 0)
    plan = plan_batches(source + 1, target + 1, tokens_per_batch=budget, max_sentences=None, generator=order)
    for rows in plan:
        sources, targets = (
            [generator.integers(4, work.vocabulary, length) for length in lengths[rows]] for lengths in (source, target)
        )
        yield collate(sources, targets, rows)
