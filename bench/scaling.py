"""Several processes: `python -m bench.scaling simulate` looks ahead, `... measure` compares one and two.

`simulate` takes the lengths of real pairs (of `--config`; else Mizan and Tatoeba in `../shared/data`, else the embedded
sample), the real planner and the real sharing of steps, for up to 64 ranks. `measure` trains a recipe with one process
of one thread, one of two, and two of one, turn by turn, through `translator train`.
"""

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench.large_corpus import SHARED
from bench.rank_loads import SHARINGS, LengthPairs, Sizes, loads, own_streams, plan
from bench.rounds import ROUNDS, Rates, ratio
from translator.config import Config, load_config
from translator.data import DataHandler
from translator.data.pair_store import PairStore
from translator.errors import TranslatorError
from translator.run_folder import RunFolder
from translator.text_table import text_table

SAMPLE: Final = "configs/sample.yaml"
WORLDS: Final = (2, 4, 8, 16, 64)
BUDGETS: Final = (4_096, 25_000)
CONTESTANTS: Final = {"1 process × 1 thread": (1, 1), "1 process × 2 threads": (1, 2), "2 processes × 1 thread": (2, 1)}
_WARM_UP: Final = 0.25
"""Share of a run's rows in TensorBoard that do not count."""
_STOPPED: Final = 143
"""Exit code after SIGTERM."""


def real_lengths(config: Config) -> LengthPairs:
    """Return the lengths of the training pairs of `config`, special tokens counted, prepared first if need be."""
    data = DataHandler(config)
    store = PairStore.open(Path(data.token_folder) / "train", data.corpus.names("train"))
    usable = np.maximum(store.source_lengths, store.target_lengths) <= config.batching.max_length
    return LengthPairs(store.source_lengths[usable], store.target_lengths[usable])


def default_config(overrides: list[str]) -> Config:
    """Return the recipe of `SAMPLE`, on Mizan and Tatoeba with 8,000 pieces a side where these are at hand."""
    if not SHARED.exists():
        return load_config(SAMPLE, overrides)
    config = load_config(SAMPLE, overrides).model_dump(mode="json")
    sources = [{"name": name, "path": str(SHARED / f"{name}.zip")} for name in ("mizan", "tatoeba")]
    config["corpus"] |= {"sources": sources}
    config["subword"] |= {"model_type": "unigram", "vocabulary_size": 8000}
    config["evaluation"] |= {"test_sets": []}
    return Config.model_validate_json(json.dumps(config))


def simulate(config: Config, count: int, most_steps: int) -> list[str]:
    """Return the lines of a report on `count` pairs drawn from the lengths of `config`."""
    real = real_lengths(config)
    pairs = real.resampled(count, seed=1)
    sizes = Sizes()
    means = real.source_lengths.mean(), real.target_lengths.mean()
    lines = [
        f"{len(real):,} real pairs, {means[0]:.1f} English and {means[1]:.1f} Persian tokens on average; "
        f"{count:,} drawn from them; at most {most_steps} steps a row"
    ]
    rows = []
    for budget in BUDGETS:
        together = plan(pairs, budget)
        for world in WORLDS:
            apart = own_streams(pairs, budget, world)
            for accumulation in (1, world, world + world // 2, 4 * world):
                ways = [way for way in SHARINGS if way != "own streams" or accumulation % world == 0]
                found = {
                    way: loads(apart if way == "own streams" else together, world, accumulation, way, sizes, most_steps)
                    for way in ways
                    if accumulation <= len(together)
                }
                rows.append([f"{budget:,}", str(world), str(accumulation)])
                for way in SHARINGS:
                    cell = found.get(way)
                    rows[-1] += (
                        [f"{cell.waiting:.1%}", f"{cell.padding:.1%}", f"{cell.pieces:.1f}"] if cell else [""] * 3
                    )
    header = ["budget", "ranks", "batches"]
    header += [f"{way}: {what}" for way in SHARINGS for what in ("waiting", "padding", "pieces")]
    return [*lines, text_table(header, rows)]


def plan_costs(config: Config, counts: Sequence[int]) -> list[str]:
    """Return the lines of a report on the time and memory of planning an epoch of `counts` pairs."""
    real, rows = real_lengths(config), []
    for count in sorted(counts):
        pairs = real.resampled(count, seed=1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began, computed = time.perf_counter(), time.process_time()
        batches = plan(pairs, BUDGETS[-1])
        seconds, computed = time.perf_counter() - began, time.process_time() - computed
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        rows.append(
            [f"{count:,}", f"{len(batches):,}", f"{seconds:.1f} s", f"{computed:.1f} s", f"{grown / 1024:,.0f} MiB"]
        )
    return [text_table(["pairs", "batches of 25,000", "time", "of the processor", "peak memory grew by"], rows)]


def measure_processes(config: Config, seconds: float, rounds: int) -> list[str]:
    """Return the lines of a report on the speed of the trainer with one process and with two, turn by turn."""
    DataHandler(config)  # prepared once, for all
    values: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder) / "recipe.yaml"
        recipe.write_text(config.model_dump_json(), encoding="utf-8")
        for number in range(rounds):
            for name, (processes, threads) in CONTESTANTS.items():
                run = RunFolder(Path(folder) / f"{number}-{processes}-{threads}")
                values[name].append(_speed(recipe, run, processes, threads, seconds))
    one, two_threads, two_processes = (Rates(name, "target tokens/s", row) for name, row in values.items())
    return [
        f"{rounds} rounds, {seconds:.0f} s of training each",
        *map(str, (one, two_threads, two_processes)),
        *(ratio(two_threads, one), ratio(two_processes, one), ratio(two_processes, two_threads)),
    ]


def _speed(recipe: Path, run: RunFolder, processes: int, threads: int, seconds: float) -> float:
    """Train for some seconds, and return the median of the target tokens a second in TensorBoard."""
    settings = {
        "run.directory": run.path,
        "run.threads": threads,
        "training.processes": processes,
        "training.max_steps": 1_000_000,
        "training.validate_every": 1_000_000,
        "training.checkpoint_every": 1_000_000,
        "training.log_every": 5,
    }
    sets = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "translator", "train", "--config", str(recipe), *sets]
    # The number of threads is what is measured: nothing outside may set it too.
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        while process.poll() is None and not run.info_file.exists():  # it is written when training begins
            time.sleep(0.1)
        try:
            told = process.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            told = process.communicate()[1]
    if process.returncode != _STOPPED:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=told)
    rows = _logged(run.tensorboard_folder)
    return statistics.median(rows[int(len(rows) * _WARM_UP) :])


def _logged(folder: Path) -> list[float]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return [row.value for row in events.Scalars("speed/tokens_per_second")]


def main() -> int:
    """Print the report that was asked for."""
    parser = argparse.ArgumentParser(prog="bench.scaling", description="Look at training on several processes.")
    parser.add_argument("part", choices=("simulate", "plan", "measure"))
    parser.add_argument("--config", metavar="FILE", help="default: Mizan and Tatoeba where they are, else the sample")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY.PATH=VALUE")
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_000_000], help="how many to draw (default: 1000000)")
    parser.add_argument("--steps", type=int, default=100, help="steps to look at in each row (default: 100)")
    parser.add_argument("--seconds", type=float, default=30.0, help="of training in each round (default: 30)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    try:
        config = load_config(options.config, options.overrides) if options.config else default_config(options.overrides)
        if options.part == "measure":
            lines = measure_processes(config, options.seconds, options.rounds)
        elif options.part == "plan":
            lines = plan_costs(config, options.pairs)
        else:
            lines = [line for count in options.pairs for line in simulate(config, count, options.steps)]
    except TranslatorError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
