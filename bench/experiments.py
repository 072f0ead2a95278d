"""Train the variants of a recipe on the same number of tokens and compare them.

python -m bench.experiments [--config bench/experiments.yaml]            train what is not trained yet, then the table
python -m bench.experiments --table                                      the table of what is finished, as Markdown

Each run is a `translator train` of its own, with one thread. It may be stopped or killed at any time: the same command
goes on. Exit codes are those of `translator`; 1 also when a variant failed and the others went on.
"""

import argparse
import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.awaited import good_end, handed_on
from bench.experiment_plan import Experiments, Trial, load_experiments, recipe_text, trials
from bench.experiment_table import experiment_table
from translator.config import Config
from translator.data import DataHandler, DataPosition
from translator.errors import ConfigError, Interrupted, RunError, TranslatorError
from translator.storage import write_text

Command = Sequence[str]
BATCHES = 500
"""Batches that the number of tokens in one is measured on."""


def main() -> int:
    """Do what the command line asks for and return the exit code."""
    parser = argparse.ArgumentParser(prog="bench.experiments", description="Measure what each switch of training does.")
    parser.add_argument("--config", default="bench/experiments.yaml", metavar="FILE")
    parser.add_argument("--table", action="store_true", help="only print the table of the finished runs")
    options = parser.parse_args()
    try:
        experiments = load_experiments(Path(options.config))
        count = StepCount(experiments.tokens)
        return compare(experiments, lambda trial: count(trial.config), in_process, only_table=options.table)
    except Interrupted as stop:
        return stop.exit_code
    except TranslatorError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2


def compare(
    experiments: Experiments,
    count_steps: Callable[[Trial], int],
    execute: Callable[[Command], int],
    *,
    only: Sequence[str] | None = None,
    only_table: bool = False,
) -> int:
    """Carry out what is not finished, print the table of what is, and return the exit code.

    Args:
        experiments: the file.
        count_steps: returns how many steps a trial takes.
        execute: runs a command and returns its exit code.
        only: names of the variants to be trained; all by default.
        only_table: train nothing.

    Raises:
        ConfigError: a setting of a variant is wrong, or a name in `only` is not one of them.
        Interrupted: a command was stopped.
    """
    planned = list(trials(experiments))  # a mistake in the last variant is better known now than after hours
    if unknown := set(only or ()) - {trial.variant.name for trial in planned}:
        raise ConfigError(f"there is no variant {', '.join(sorted(unknown))} among the experiments")
    wanted = [trial for trial in planned if only is None or trial.variant.name in only]
    code = 0 if only_table else run_all(experiments, wanted, count_steps, execute)
    print("\n".join(experiment_table(experiments, planned)))
    return code


def run_all(
    experiments: Experiments,
    planned: Sequence[Trial],
    count_steps: Callable[[Trial], int],
    execute: Callable[[Command], int],
) -> int:
    """Carry out every trial of `planned` that is not finished, one at a time; the rest is as in `compare`.

    Returns:
        0, or 1 if any failed.

    Raises:
        Interrupted: a command was stopped; nothing more was begun.
    """
    recipe = Path(experiments.directory) / "recipe.yaml"
    write_text(recipe, recipe_text(experiments))
    failed: list[str] = []
    for number, trial in enumerate(planned, 1):
        label = f"[{number}/{len(planned)}] {trial.variant.name}, seed {trial.seed}"
        began = time.monotonic()
        try:
            said = "done" if carry_out(trial, recipe, count_steps(trial), execute) else "finished"
        except RunError as error:
            failed.append(f"{trial.variant.name}-seed{trial.seed}")
            said = str(error)
        print(f"{label}: {said} in {(time.monotonic() - began) / 60:.1f} minutes", file=sys.stderr, flush=True)
    if failed:
        print(f"bench: {len(failed)} failed: {', '.join(failed)}; see log.txt in their folders", file=sys.stderr)
    return 1 if failed else 0


def carry_out(trial: Trial, recipe: Path, steps: int, execute: Callable[[Command], int]) -> bool:
    """Train and score `trial`; return False if that had been done.

    Raises:
        RunError: a command failed.
        Interrupted: it was stopped.
    """
    if is_finished(trial, steps):
        return False
    print(f"{trial.run.path}: {steps} steps", file=sys.stderr, flush=True)
    for command in commands(trial, recipe, steps):
        code = execute(command)
        good_end(code, f"failed with exit code {code}")
    return True


def is_finished(trial: Trial, steps: int) -> bool:
    """Return whether the run of `trial` has been trained for just as many `steps`, and scored."""
    return trial.scored_checkpoint() is not None and trial.run.config().training.max_steps == steps


def commands(trial: Trial, recipe: Path, steps: int) -> Iterator[Command]:
    """Yield the commands that carry out `trial`, to be run until one fails."""
    translator = (sys.executable, "-m", "translator")
    if trial.variant.average is None:
        settings = (*trial.overrides, f"training.max_steps={steps}")
        flags = itertools.chain.from_iterable(("--set", setting) for setting in settings)
        yield (*translator, "train", "--config", str(recipe), *flags)
    else:
        folder = str(trial.run.path)
        yield (*translator, "average", "--run", folder, "--count", str(trial.variant.average), "--of", "last")
        yield (*translator, "evaluate", "--run", folder, "--checkpoint", "averaged")


class StepCount:
    """How many steps make a number of target tokens: it hangs on the text, its subwords and the batches alone."""

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._known: dict[str, int] = {}

    def __call__(self, config: Config) -> int:
        """Return the steps for `config`; its text is prepared if it has not been."""
        parts = (config.corpus, config.subword, config.batching, config.run.seed, config.training.accumulation_steps)
        key = repr(parts)
        if key not in self._known:
            with contextlib.closing(DataHandler(config).train_batches(DataPosition())) as batches:
                counts = [batch.target_tokens for batch, _ in itertools.islice(batches, BATCHES)]
            update = config.training.accumulation_steps * sum(counts) / len(counts)
            self._known[key] = max(1, round(self._tokens / update))
        return self._known[key]


def in_process(command: Command) -> int:
    """Run `command` in a process of its own with one thread, hand stop signals on to it, and return its exit code.

    Its group is its own too, so that Ctrl-C in a terminal reaches it once, and not as the second signal that means
    "at once".
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with (
        subprocess.Popen(command, env=environment, stdout=sys.stderr, start_new_session=True) as process,
        handed_on(process.send_signal),
    ):
        return process.wait()


if __name__ == "__main__":
    sys.exit(main())
