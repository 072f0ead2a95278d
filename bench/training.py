"""Training speed compared with other libraries, on the same text, sizes and batches, in interleaved rounds."""

import contextlib
import functools
import itertools
import logging
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.learners import NAMES, OURS, build_learner, our_batches, sorted_batches, weights_of
from bench.options import Options, in_turns, ratios, spread
from translator.config import Config
from translator.data import DataHandler
from translator.run.workers import WorkerPool, available_cores
from translator.speed.device import use_threads

RECIPES = ("bench/training.yaml", "bench/training-sample.yaml")
Round = dict[str, float]
"""`seconds` and counts of some updates, and the memory and weights of a contestant."""


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on training speed and memory.

    Raises ConfigError: the recipe is invalid, or a contestant is unknown.
    """
    names = options.chosen(NAMES)
    config = options.load(*RECIPES)
    yield f"training, d {config.model.d_model}, {config.run.threads or available_cores()} threads"
    DataHandler(config)  # once, for all contestants

    # Each contestant has a process of its own, so they share no peak memory and no settings of a library.
    rounds: dict[str, list[Round]] = {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        contests = {}
        for name in names:
            pool = WorkerPool(functools.partial(contest, name, config), processes=1)
            contests[name] = stack.enter_context(contextlib.closing(pool))
        for name in in_turns(names, options.rounds + 1):
            rounds[name].append(contests[name].submit(options.steps).result())

    # The first round is a warm-up.
    yield from speed_lines({name: answers[1:] for name, answers in rounds.items()})


def contest(name: str, config: Config) -> Callable[[int], Round]:
    """Return a function that makes so many updates of contestant `name`, reading of batches included."""
    use_threads(config.run.threads or available_cores())
    logging.getLogger("translator").setLevel(logging.ERROR)  # the parent process has logged it
    data = DataHandler(config)
    vocabularies = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
    learner = build_learner(name, config, vocabularies)
    batches = our_batches(data) if name == OURS else sorted_batches(data, config.batching.tokens_per_batch)
    numbers = itertools.count(1)

    def train(steps: int) -> Round:
        read = []
        began = time.perf_counter()
        for batch in itertools.islice(batches, steps):
            learner.update(batch, next(numbers))
            read.append(batch)
        seconds = time.perf_counter() - began
        return {
            "seconds": seconds,
            "target_tokens": sum(batch.target_tokens for batch in read),
            "mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "weights": weights_of(learner.model),
        }

    return train


def speed_lines(rounds: Mapping[str, Sequence[Round]]) -> Iterator[str]:
    """Yield tables of speed and of ratios, from the rounds of each contestant."""
    yield "  real target tokens a second, median (lowest to highest round)"
    speeds: dict[str, list[float]] = {}
    for name, answers in rounds.items():
        speeds[name] = [answer["target_tokens"] / answer["seconds"] for answer in answers]
        last = answers[-1]
        yield (
            f"    {name:<24} {spread(speeds[name], '{:,.0f}'):<28} "
            f"{last['mebibytes']:,.0f} MiB  {last['weights'] / 1e6:.1f}M weights"
        )
    for name in rounds:
        if OURS in rounds and name != OURS:
            yield f"    {OURS} ÷ {name:<24} {ratios(speeds[OURS], speeds[name])}"
