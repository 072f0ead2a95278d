"""Training speed and learning beside other libraries, on the same text, sizes and batches: `make bench-train`."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.contest import NAMES
from bench.contestants import OURS, Contestant, start_contestants
from bench.curves import draw_curves, format_curves, learning_curves
from bench.marian import marian_is_here
from bench.options import Options
from translator.config import Config, load_config
from translator.data import DataHandler
from translator.errors import ConfigError
from translator.storage import write_json
from translator.workers import available_cores

RECIPE, SAMPLE_RECIPE = "bench/training.yaml", "bench/training-sample.yaml"

Rounds = list[dict[str, float]]


def bench_training(options: Options) -> list[str]:
    """Return the lines of a report on training speed, memory and learning curves; numbers and a plot go to files.

    Raises:
        ConfigError: the recipe cannot be used, or no contestant is called as asked.
        RunError: a contestant fails.
    """
    config = _recipe(options)
    unknown = [name for name in options.only if name not in NAMES]
    if unknown:
        raise ConfigError(f"no contestant {', '.join(unknown)}; there are: {', '.join(NAMES)}")
    chosen = [name for name in NAMES if name in options.only or not options.only]
    names = [name for name in chosen if marian_is_here() or "Marian" not in name]
    DataHandler(config)  # prepares once what every contestant then finds
    lines = [_heading(config)]
    results: dict[str, Any] = {"config": config.model_dump(mode="json")}
    if options.rounds:
        with start_contestants(["machine", *names], config) as started:
            machine = started.pop("machine")
            weights = {name: int(contestant.ask("weights")["weights"]) for name, contestant in started.items()}
            rates, rounds = _speed_rounds(machine, started, options)
            memory = {name: contestant.ask("memory")["bytes"] for name, contestant in started.items()}
        lines += _speed_lines(rates, rounds, memory, weights)
        results |= {"rates": rates, "rounds": rounds, "peak_memory": memory, "weights": weights}
        write_json(options.output / "training.json", results)
        print(*lines, sep="\n", flush=True)  # the curves take long, and may not come to their end
        lines = []
    if len(names) < len(chosen):
        lines.append("  Marian is left out: the library `transformers` is not installed (the extra `bench` has it)")
    if options.curve_steps:
        curves = learning_curves(names, config, options.curve_steps)
        lines += format_curves(curves)
        results["curves"] = curves
        write_json(options.output / "training.json", results)
        draw_curves(curves, options.output / "training-curves.svg")
    written = " and training-curves.svg" if options.curve_steps else ""
    return [*lines, f"  written: {options.output}/training.json{written}"]


def _recipe(options: Options) -> Config:
    """Return the recipe that is asked for, else the figure's, else the same on the embedded sample."""
    if options.config is not None:
        return options.load()
    config = load_config(RECIPE, list(options.overrides))
    missing = [str(source.path) for source in config.corpus.sources if not Path(str(source.path)).exists()]
    if not missing:
        return config
    print(f"bench: {', '.join(missing)} is not here, so the embedded sample is taken instead", flush=True)
    return load_config(SAMPLE_RECIPE, list(options.overrides))


def _speed_rounds(
    machine: Contestant, contestants: Mapping[str, Contestant], options: Options
) -> tuple[Rounds, dict[str, Rounds]]:
    """Return the machine's rates and what each contestant did in each round; a first round does not count."""
    rates: Rounds = []
    rounds: dict[str, Rounds] = {name: [] for name in contestants}
    names = list(contestants)
    for number in range(options.rounds + 1):
        rate = machine.ask("rates")
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:  # nobody is always the first
            answer = contestants[name].ask("train", steps=options.steps, watched=False)
            if number:
                rounds[name].append(answer)
        if number:
            rates.append(rate)
    return rates, rounds


def _heading(config: Config) -> str:
    model = config.model
    threads = config.run.threads or available_cores()
    return (
        f"training, d {model.d_model}, {model.heads} heads, {model.encoder_layers}+{model.decoder_layers} layers, "
        f"feed-forward {model.feed_forward}, dropout {model.dropout}, "
        f"vocabulary {config.subword.vocabulary_size:,}, {threads} threads"
    )


def _speed_lines(
    rates: Rounds, rounds: Mapping[str, Rounds], memory: Mapping[str, float], weights: Mapping[str, int]
) -> list[str]:
    """Return tables of speed, of ratios, and of what the machine could do."""
    lines = [
        "  matrix products of this machine, GFLOP/s: "
        + ", ".join(
            f"{kind} {spread([rate[kind] / 1e9 for rate in rates], '{:,.0f}')}" for kind in ("float32", "bf16")
        ),
        "  real target tokens a second, median (lowest to highest round); share of the machine's bf16 and float32 rate",
    ]
    for name, answers in rounds.items():
        speeds = [answer["target_tokens"] / answer["seconds"] for answer in answers]
        tokens = statistics.mean(answer["target_tokens"] for answer in answers)
        shares = {
            kind: statistics.median(
                answer["flops"] / answer["seconds"] / rate[kind] for answer, rate in zip(answers, rates, strict=True)
            )
            for kind in ("bf16", "float32")
        }
        lines.append(
            f"    {name:<36} {spread(speeds, '{:,.0f}'):<28} {shares['bf16']:6.1%} {shares['float32']:6.1%}  "
            f"padding {padding(answers):5.1%}  {tokens:,.0f} tokens a round  "
            f"{memory[name] / 2**20:,.0f} MiB  {weights[name] / 1e6:.1f}M weights"
        )
    if OURS in rounds:
        for name in rounds:
            if name != OURS:
                lines.append(f"    {OURS} ÷ {name:<36} {spread(ratios(rounds[OURS], rounds[name]), '{:.2f}')}×")
    return lines


def ratios(ours: Rounds, theirs: Rounds) -> list[float]:
    """Return in each round how many times more real target tokens a second `ours` trained on."""
    return [
        (a["target_tokens"] / a["seconds"]) / (b["target_tokens"] / b["seconds"])
        for a, b in zip(ours, theirs, strict=True)
    ]


def padding(answers: Rounds) -> float:
    """Return the share of positions, both sides together, that hold no token."""
    return 1 - sum(answer["tokens"] for answer in answers) / sum(answer["positions"] for answer in answers)


def spread(values: Sequence[float], form: str) -> str:
    """Return `median (lowest to highest)`."""
    return "{} ({} to {})".format(*map(form.format, (statistics.median(values), min(values), max(values))))
