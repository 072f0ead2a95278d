"""Training speed on a GPU beside `MarianMTModel`, for Transformer-base and -big: `make bench-gpu`.

The ids are drawn at random, in lengths like those of a real corpus, so that no text is needed.
"""

import gc
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bench.contestants import OURS
from bench.learner import Learner
from bench.marian import MarianLearner, marian_is_here
from bench.options import Options
from bench.ours import OurLearner
from bench.peak_memory import peak_memory
from bench.training import padding, ratios, spread
from translator.config import Config, parse_config
from translator.data import Batch, collate
from translator.data.batching import epoch_generator, plan_batches
from translator.device import Arithmetic, choose_rounding
from translator.errors import ConfigError
from translator.matrix_rate import matrix_rate
from translator.special_tokens import PAD
from translator.training.flops import StepFlops
from translator.training.randomness import seed_everything

MARIAN = "Marian"
VOCABULARY, TOKENS_PER_BATCH, PAIRS = 8000, 25_000, 200_000
WARM_STEPS = 60
"""Steps of each contestant before time is taken: every shape has come by then and is compiled."""
STEPS = 30
"""Steps of each contestant in a round."""
SIZES: dict[str, dict[str, Any]] = {
    "base": {"d_model": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048},
    "big": {"d_model": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096},
}


_RECIPE = {
    "run": {"directory": "runs/bench/gpu"},
    "corpus": {"sources": [{"name": "none", "path": "none.tsv"}]},  # a recipe must name one; it is never read
    "training": {"precision": "bf16"},
}


@dataclass(frozen=True)
class Work:
    """What is trained on, and for how long."""

    device: torch.device
    vocabulary: int = VOCABULARY
    tokens_per_batch: int = TOKENS_PER_BATCH
    pairs: int = PAIRS
    """In an epoch."""
    warm_steps: int = WARM_STEPS
    steps: int = STEPS
    rounds: int = 5


def bench_gpu(options: Options) -> Iterator[str]:
    """Yield the lines of a report on the GPU.

    Raises:
        ConfigError: there is no GPU, or no size is called as asked.
    """
    if not torch.cuda.is_available():
        raise ConfigError("the GPU benchmark needs a CUDA GPU, and torch finds none here")
    unknown = [size for size in options.only if size not in SIZES]
    if unknown:
        raise ConfigError(f"no size {', '.join(unknown)}; there are: {', '.join(SIZES)}")
    device = torch.device("cuda")
    yield f"training on {torch.cuda.get_device_name(device)}, torch {torch.__version__}"
    for name in options.only or SIZES:
        yield from bench_size(name, SIZES[name], Work(device, rounds=options.rounds))


class Entrant:
    """A learner on its way through the same batches as the others."""

    def __init__(self, name: str, config: Config, work: Work) -> None:
        """Build it and take the first steps, in which everything is compiled and memory reaches its height."""
        self.name = name
        self.rounds: list[dict[str, float]] = []
        self._config, self._work, self._step = config, work, 0
        seed_everything(1)
        held, graphs = _start_measuring(work.device), compiled_graphs()
        self._learner = build_learner(name, config, work)
        self._batches = synthetic_batches(work)
        self.train(work.warm_steps)
        self.rounds.clear()
        self.graphs = compiled_graphs() - graphs
        """Compiled so far."""
        self.memory = peak_bytes(work.device) - held

    def train(self, steps: int) -> None:
        """Take `steps` steps and note what they took; making the batches is not timed."""
        ready = list(itertools.islice(self._batches, steps))
        _finish(self._work.device)
        began = time.perf_counter()
        for batch in ready:
            self._step += 1
            self._learner.take_step(batch, self._step, watched=False)
        _finish(self._work.device)
        seconds = time.perf_counter() - began
        target_tokens = sum(batch.target_tokens for batch in ready)
        numbers = {
            "seconds": seconds,
            "target_tokens": target_tokens,
            "tokens": target_tokens + sum(batch.source_tokens for batch in ready),
            "positions": sum(batch.source.numel() + batch.labels.numel() for batch in ready),
            "flops": sum(map(self._flops, ready)),
        }
        self.rounds.append(numbers)

    def _flops(self, batch: Batch) -> float:
        lengths = ((ids != PAD).sum(dim=1).numpy() for ids in (batch.source, batch.labels))
        return StepFlops(self._config.model, self._work.vocabulary)(*lengths)


def bench_size(name: str, sizes: dict[str, Any], work: Work) -> Iterator[str]:
    """Yield the lines on one size of model: ours and Marian's, in turns."""
    config = parse_config(json.dumps({**_RECIPE, "model": {**sizes, "dropout": 0.1}}), f"Transformer-{name}")
    names = [OURS, *([MARIAN] if marian_is_here() else [])]
    entrants = [Entrant(entrant, config, work) for entrant in names]
    rates = []
    for number in range(work.rounds):
        rates.append(matrix_rate(work.device, "bf16"))
        for entrant in entrants if number % 2 == 0 else reversed(entrants):
            entrant.train(work.steps)
    yield (
        f"  Transformer-{name}, d {config.model.d_model}, vocabulary {work.vocabulary:,}, up to "
        f"{work.tokens_per_batch:,} positions a batch; bf16 products "
        f"{spread([rate / 1e12 for rate in rates], '{:,.1f}')} TFLOP/s"
    )
    for entrant in entrants:
        speeds = [answer["target_tokens"] / answer["seconds"] for answer in entrant.rounds]
        shares = [a["flops"] / a["seconds"] / rate for a, rate in zip(entrant.rounds, rates, strict=True)]
        yield (
            f"    {entrant.name:<12} {spread(speeds, '{:,.0f}')} target tokens/s   "
            f"share of the bf16 rate {spread(shares, '{:.1%}')}   padding {padding(entrant.rounds):.1%}   "
            f"{entrant.memory / 2**20:,.0f} MiB   {entrant.graphs} graphs compiled"
        )
    if len(entrants) > 1:
        yield f"    {OURS} ÷ {MARIAN} {spread(ratios(entrants[0].rounds, entrants[1].rounds), '{:.2f}')}×"
    else:
        yield "    Marian is left out: the library `transformers` is not installed (the extra `bench` has it)"


def synthetic_batches(work: Work) -> Iterator[Batch]:
    """Yield bucketed batches of random ids without end, the same for every caller.

    Lengths are log-normal with a long tail, as those of literary prose in subwords; a translation is about as long as
    its source.
    """
    generator = np.random.default_rng(1)
    longest = min(128, work.tokens_per_batch)
    source = np.exp(generator.normal(2.9, 0.65, work.pairs)).astype(np.int64).clip(1, longest - 1)
    target = (source * np.exp(generator.normal(0.05, 0.25, work.pairs))).astype(np.int64).clip(1, longest - 1)
    for epoch in itertools.count():
        plan = plan_batches(
            source + 1,
            target + 1,
            tokens_per_batch=work.tokens_per_batch,
            max_sentences=None,
            generator=epoch_generator(1, epoch),
        )
        for rows in plan:
            sources, targets = (
                [generator.integers(4, work.vocabulary, length) for length in lengths[rows]]
                for lengths in (source, target)
            )
            yield collate(sources, targets, rows)


def compiled_graphs() -> int:
    """Return how many graphs torch.compile has compiled in this process."""
    from torch._dynamo.utils import counters

    return int(counters["stats"]["unique_graphs"])


def build_learner(name: str, config: Config, work: Work) -> Learner:
    """Return the contestant called `name`; Marian computes under bf16 autocast with fused attention."""
    if name == MARIAN:
        arithmetic = Arithmetic(work.device, "bf16")
        rounding = choose_rounding(work.device, config.training.matmul_precision)
        return MarianLearner(config, work.vocabulary, work.vocabulary, arithmetic, rounding)
    return OurLearner(config, work.vocabulary, work.vocabulary, work.device)


def peak_bytes(device: torch.device) -> int:
    """Return the most memory held since `_start_measuring`: on a GPU of tensors, elsewhere of the whole process."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else peak_memory()


def _start_measuring(device: torch.device) -> int:
    """Forget the peak of those before, and return what they still hold."""
    gc.collect()
    if device.type != "cuda":
        return 0
    torch.cuda.reset_peak_memory_stats(device)
    return int(torch.cuda.memory_allocated(device))


def _finish(device: torch.device) -> None:
    """Wait until a GPU has done what was asked of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
