"""The short runs by which our recipe is tuned: experiments of equal minutes instead of equal tokens.

python -m bench.quality_tuning [--config bench/quality-tuning.yaml] [--only VARIANT]... [--minutes N] [--table]

The file is one of `bench.experiments` whose recipe has `training.max_minutes`. A trial of a few seconds measures how
fast a variant steps, so that its schedule ends with its minutes; the speed is kept beside the runs, and a run that was
stopped goes on with the same schedule. With `--minutes`, folders of their own hold the longer runs.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from bench.awaited import good_end
from bench.experiment_plan import Experiments, Trial, load_experiments
from bench.experiments import Command, compare, in_process
from bench.quality_contestant import Trained
from translator.errors import ConfigError, Interrupted, TranslatorError
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
        count = StepsOfMinutes(Path(experiments.directory) / "speeds", run)
        return compare(experiments, count, run, only=options.only, only_table=options.table)
    except Interrupted as stop:
        return stop.exit_code
    except TranslatorError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2


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


class StepsOfMinutes:
    """How many steps the minutes of a trial make; its speed is measured once and kept in a folder."""

    def __init__(self, folder: Path, run: Callable[[Command], int]) -> None:
        self._folder = folder
        self._run = run

    def __call__(self, trial: Trial) -> int:
        """Return the steps.

        Raises:
            Interrupted: the measurement was stopped.
            RunError: it failed.
        """
        minutes = trial.config.training.max_minutes
        assert minutes is not None
        name = Path(trial.config.run.directory).name
        result, recipe = self._folder / f"{name}.json", self._folder / f"{name}.config.json"
        if not result.is_file():
            write_text(recipe, trial.config.model_dump_json())
            command = (sys.executable, "-m", "bench.quality_speed", str(recipe), str(SPEED_SECONDS), str(result))
            code = self._run(command)
            good_end(code, f"the trial of its speed failed with exit code {code}")
        speed = Trained.from_json(json.loads(result.read_text(encoding="utf-8")))
        return max(1, int(speed.steps / speed.seconds * 60 * minutes * STEPS_SHARE))


if __name__ == "__main__":
    sys.exit(main())
