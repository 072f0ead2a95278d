"""Training speed compared with other libraries, on the same text, sizes and batches, in interleaved rounds."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from bench.learners import NAMES, OURS, marian_is_installed
from bench.options import Options, model_sizes, ratios, spread
from bench.processes import Answer, Worker, in_turns
from translator.data import DataHandler
from translator.run.files import write_json
from translator.run.workers import available_cores

RECIPES = ("bench/training.yaml", "bench/training-sample.yaml")
Rounds = Sequence[Answer]


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on training speed, memory and loss; writes the numbers to a file.

    Raises ConfigError: the recipe is invalid, or a contestant is unknown; RunError: a contestant failed.
    """
    names = options.chosen(NAMES)
    config = options.load(*RECIPES)
    yield f"training, {model_sizes(config)}, {config.run.threads or available_cores()} threads"
    if not marian_is_installed():
        names = [name for name in names if "Marian" not in name]
        yield "  Marian is excluded: the library `transformers` is not installed (the extra `bench` has it)"
    DataHandler(config)  # once, for all contestants

    # 1. Train in turns.
    recipe = config.model_dump_json()
    rounds: dict[str, list[Answer]] = {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        workers = []
        for name in rounds:
            worker = Worker(name, [["-m", "bench.learners", name, recipe]])
            workers.append(stack.enter_context(worker))
        for worker in in_turns(workers, options.rounds + 1):
            rounds[worker.name] += worker.ask("train", steps=options.steps)
        facts = {worker.name: worker.ask("facts")[0] for worker in workers}

    # 2. Report all rounds but the first, which warms up.
    rounds = {name: answers[1:] for name, answers in rounds.items()}
    yield from speed_lines(rounds, facts)
    steps = (options.rounds + 1) * options.steps
    losses = ", ".join(f"{name} {fact['loss']:.3f}" for name, fact in facts.items())
    yield f"  validation loss in nats per token after {steps} updates: {losses}"
    results = {"config": config.model_dump(mode="json"), "rounds": rounds, "facts": facts}
    write_json(options.output / "training.json", results)
    yield f"  written: {options.output}/training.json"


def speed_lines(rounds: Mapping[str, Rounds], facts: Mapping[str, Answer]) -> Iterator[str]:
    """Yield tables of speed and of ratios.

    Args:
        rounds: results of each contestant in each round.
        facts: peak memory and number of weights of each contestant.
    """
    yield "  real target tokens a second, median (lowest to highest round)"
    speeds: dict[str, list[float]] = {}
    for name, answers in rounds.items():
        speeds[name] = [answer["target_tokens"] / answer["seconds"] for answer in answers]
        tokens = sum(answer["tokens"] for answer in answers)
        positions = sum(answer["positions"] for answer in answers)
        yield (
            f"    {name:<24} {spread(speeds[name], '{:,.0f}'):<28} padding {1 - tokens / positions:5.1%}  "
            f"{facts[name]['bytes'] / 2**20:,.0f} MiB  {facts[name]['weights'] / 1e6:.1f}M weights"
        )
    if OURS not in rounds:
        return
    for name in rounds:
        if name != OURS:
            yield f"    {OURS} ÷ {name:<24} {ratios(speeds[OURS], speeds[name])}"
