"""Training speed of one process and of two that share each update, through `translator train`, in turns."""

import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.options import Options, ratios, spread
from bench.processes import TRANSLATOR, environment
from translator.data import DataHandler
from translator.errors import RunError
from translator.run.folder import RunFolder

CONTESTANTS: Final = {"1 process × 1 thread": (1, 1), "1 process × 2 threads": (1, 2), "2 processes × 1 thread": (2, 1)}
UNCOUNTED: Final = 0.25  # share of a run's first rows in TensorBoard that do not count
STOPPED: Final = 128 + signal.SIGTERM  # exit code of a run that was stopped and has saved


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on the speed of one process and of two.

    Raises:
        ConfigError: the recipe cannot be used.
        RunError: a training failed.
    """
    config = options.load("bench/training.yaml", "bench/training-sample.yaml")
    DataHandler(config).prepare()  # once, for all
    values: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder) / "recipe.yaml"
        recipe.write_text(config.model_dump_json(), encoding="utf-8")
        for number in range(options.rounds):
            for name, (processes, threads) in CONTESTANTS.items():
                run = RunFolder(Path(folder) / f"{number}-{processes}-{threads}")
                values[name].append(_speed(recipe, run, processes, threads, options.seconds))
    yield f"scaling, {options.rounds} rounds of {options.seconds} s of training, real target tokens a second"
    for name, rates in values.items():
        yield f"  {name:<24} {spread(rates, '{:,.0f}')}"
    first = next(iter(values))
    for name in list(values)[1:]:
        yield f"  {name:<24} ÷ {first} {ratios(values[name], values[first])}"


def _speed(recipe: Path, run: RunFolder, processes: int, threads: int, seconds: float) -> float:
    """Train for some seconds, and return the median of the target tokens a second in TensorBoard."""
    never = dict.fromkeys(("max_steps", "validate_every", "checkpoint_every"), 1_000_000)
    training = {**never, "log_every": 5, "processes": processes}
    settings = [f"training.{key}={value}" for key, value in training.items()]
    settings += [f"run.directory={run.path}", f"run.threads={threads}"]
    with subprocess.Popen(
        [*TRANSLATOR, "train", "--config", str(recipe), "--set", *settings],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        while process.poll() is None and not run.info_file.exists():  # it is written when training begins
            time.sleep(0.1)
        try:
            said = process.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            said = process.communicate()[1]
    if process.returncode != STOPPED:
        raise RunError(f"a training ended with exit code {process.returncode}: {said[-500:]}")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run.tensorboard_folder))
    events.Reload()
    if "speed/tokens_per_second" not in events.Tags()["scalars"]:
        raise RunError("training was too short to log its speed; give more --seconds")
    rows = [row.value for row in events.Scalars("speed/tokens_per_second")]
    return float(statistics.median(rows[int(len(rows) * UNCOUNTED) :]))
