"""The short runs by which our recipe is tuned: experiments of equal minutes instead of equal tokens.

python -m bench.quality_tuning [--config bench/quality-tuning.yaml] [--only VARIANT]... [--minutes N] [--table]

The file is one of `bench.experiments` whose recipe has `training.max_minutes`. A trial of a few seconds measures how
fast a variant steps, so that its schedule ends with its minutes; the speed is kept beside the runs, and a run that was
stopped goes on with the same schedule. With `--minutes`, folders of their own hold the longer runs.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench.experiment_plan import Experiments, Trial, load_experiments, recipe_text, trials
from bench.experiment_table import experiment_table
from bench.experiments import STOPPED, Command, commands, in_process, is_finished
from bench.quality_contestant import Trained
from translator.errors import ConfigError, TranslatorError
from translator.storage import write_text

STEPS_SHARE: Final = 0.95
"""Of the steps that the speed makes of the minutes, so many are planned: saving and validating take time too."""
SPEED_SECONDS: Final = 15
"""Of training, by which the speed of a variant is measured."""


def main(arguments: Sequence[str] | None = None, run: Callable[[Command], int] = in_process) -> int:
    """Do what the command line asks for and return the exit code.

    Args:
        arguments: of the command line; the process's own by default.
        run: carries out a command.
    """
    parser = argparse.ArgumentParser(prog="bench.quality_tuning", description="Tune our recipe by short runs.")
    parser.add_argument("--config", default="bench/quality-tuning.yaml", metavar="FILE")
    parser.add_argument("--only", action="append", metavar="VARIANT", help="this variant; again for another")
    parser.add_argument("--minutes", type=float, metavar="N", help="of each run (default: as in the file)")
    parser.add_argument("--table", action="store_true", help="only the table of what is finished")
    options = parser.parse_args(arguments)
    try:
        experiments = timed(load_experiments(Path(options.config)), options.minutes)
        planned = list(trials(experiments))
        wanted = [trial for trial in planned if options.only is None or trial.variant.name in options.only]
        unknown = set(options.only or ()) - {trial.variant.name for trial in planned}
        if unknown:
            raise ConfigError(f"{options.config} has no variant {', '.join(sorted(unknown))}")
        code = 0 if options.table else run_all(experiments, wanted, run)
        if code not in STOPPED:
            print("\n".join(experiment_table(experiments, planned)))
    except TranslatorError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return code


def timed(experiments: Experiments, minutes: float | None) -> Experiments:
    """Return the experiments with `minutes`, in a folder of their own, or as they are.

    Raises:
        ConfigError: neither the recipe nor `minutes` says how long a run takes.
    """
    training = experiments.recipe.get("training", {})
    if minutes is None:
        if training.get("max_minutes") is None:
            raise ConfigError("the recipe of the experiments has no training.max_minutes; add it, or give --minutes")
        return experiments
    recipe = {**experiments.recipe, "training": {**training, "max_minutes": minutes}}
    directory = f"{experiments.directory}-{minutes:g}-minutes"
    return experiments.model_copy(update={"directory": directory, "recipe": recipe})


def run_all(experiments: Experiments, planned: Sequence[Trial], run: Callable[[Command], int]) -> int:
    """Carry out every trial that is not finished; return 0, the code of a stopped command, or 1 if any failed."""
    folder = Path(experiments.directory)
    recipe = folder / "recipe.yaml"
    write_text(recipe, recipe_text(experiments))
    failed: list[str] = []
    for number, trial in enumerate(planned, 1):
        label = f"[{number}/{len(planned)}] {trial.variant.name}, seed {trial.seed}"
        began = time.monotonic()
        code, steps = planned_steps(trial, folder, run)
        if not code and is_finished(trial, steps):
            print(f"{label}: finished", file=sys.stderr)
            continue
        code = code or next(filter(None, map(run, commands(trial, recipe, steps))), 0)
        if code in STOPPED:
            return code
        if code:
            failed.append(f"{trial.variant.name}-seed{trial.seed}")
        said = f"failed with exit code {code}" if code else f"done, {steps} steps"
        print(f"{label}: {said} in {(time.monotonic() - began) / 60:.1f} minutes", file=sys.stderr, flush=True)
    if failed:
        print(f"bench: {len(failed)} failed: {', '.join(failed)}; see log.txt in their folders", file=sys.stderr)
    return 1 if failed else 0


def planned_steps(trial: Trial, folder: Path, run: Callable[[Command], int]) -> tuple[int, int]:
    """Return an exit code, and how many steps the minutes of `trial` make; measured once."""
    minutes = trial.config.training.max_minutes
    assert minutes is not None
    name = Path(trial.config.run.directory).name
    result, recipe = folder / "speeds" / f"{name}.json", folder / "speeds" / f"{name}.config.json"
    if not result.is_file():
        write_text(recipe, trial.config.model_dump_json())
        code = run((sys.executable, "-m", "bench.quality_speed", str(recipe), str(SPEED_SECONDS), str(result)))
        if code:
            return code, 0
    speed = Trained.from_json(json.loads(result.read_text(encoding="utf-8")))
    return 0, max(1, int(speed.steps / speed.seconds * 60 * minutes * STEPS_SHARE))


if __name__ == "__main__":
    sys.exit(main())
