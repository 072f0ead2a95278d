"""Training speed compared with other libraries, on the same text, sizes and batches, in interleaved rounds."""

import contextlib
import statistics
from collections.abc import Iterator, Mapping, Sequence

from bench.learners import NAMES, OURS, marian_is_installed
from bench.options import Options, model_sizes, ratios, spread
from bench.processes import Answer, Worker, in_turns
from translator.data import DataHandler
from translator.run.storage import write_json
from translator.run.workers import available_cores

RECIPES = ("bench/training.yaml", "bench/training-sample.yaml")
Rounds = Sequence[Answer]


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on training speed, memory and loss; writes the numbers to a file.

    Raises ConfigError: the recipe is invalid, or a contestant is unknown; RunError: a contestant failed.
    """
    names, config = options.chosen(NAMES), options.load(*RECIPES)
    yield f"training, {model_sizes(config)}, {config.run.threads or available_cores()} threads"
    if not marian_is_installed():
        names = [name for name in names if "Marian" not in name]
        yield "  Marian is excluded: the library `transformers` is not installed (the extra `bench` has it)"
    DataHandler(config).prepare()  # once, for all contestants
    recipe = config.model_dump_json()
    rounds: dict[str, list[Answer]] = {name: [] for name in ("machine", *names)}
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Worker(name, [["-m", "bench.learners", name, recipe]])) for name in rounds]
        for worker in in_turns(workers, options.rounds + 1):  # the first round does not count
            rounds[worker.name] += worker.ask("train", steps=options.steps)
        facts = {worker.name: worker.ask("facts")[0] for worker in workers if worker.name != "machine"}
    rounds = {name: answers[1:] for name, answers in rounds.items()}
    rates = rounds.pop("machine")
    yield from speed_lines(rates, rounds, facts)
    steps = (options.rounds + 1) * options.steps
    losses = ", ".join(f"{name} {one['loss']:.3f}" for name, one in facts.items())
    yield f"  validation loss in nats per token after {steps} updates: {losses}"
    results = {"config": config.model_dump(mode="json"), "rates": rates, "rounds": rounds, "facts": facts}
    write_json(options.output / "training.json", results)
    yield f"  written: {options.output}/training.json"


def speed_lines(rates: Rounds, rounds: Mapping[str, Rounds], facts: Mapping[str, Answer]) -> Iterator[str]:
    """Yield tables of speed and of ratios.

    Args:
        rates: rates of matrix products in each round, by precision, in operations per second.
        rounds: results of each contestant in each round.
        facts: peak memory and number of weights of each contestant.
    """
    products = (f"{kind} {spread([rate[kind] / 1e9 for rate in rates], '{:,.0f}')}" for kind in rates[0])
    yield f"  matrix products of this machine, GFLOP/s: {', '.join(products)}"
    yield f"  real target tokens a second, median (lowest to highest round); MFU by rate of {' and '.join(rates[0])}"
    speeds = {name: [one["target_tokens"] / one["seconds"] for one in answers] for name, answers in rounds.items()}
    for name, answers in rounds.items():
        used = (
            statistics.median(
                one["flops"] / one["seconds"] / rate[kind] for one, rate in zip(answers, rates, strict=True)
            )
            for kind in rates[0]
        )
        padding = 1 - sum(one["tokens"] for one in answers) / sum(one["positions"] for one in answers)
        yield (
            f"    {name:<24} {spread(speeds[name], '{:,.0f}'):<28} {' '.join(f'{share:6.1%}' for share in used)}"
            f"  padding {padding:5.1%}  {facts[name]['bytes'] / 2**20:,.0f} MiB  "
            f"{facts[name]['weights'] / 1e6:.1f}M weights"
        )
    ours = next((name for name in rounds if name.startswith(OURS)), "")
    for name in (name for name in rounds if ours and name != ours):
        yield f"    {ours} ÷ {name:<24} {ratios(speeds[ours], speeds[name])}"
