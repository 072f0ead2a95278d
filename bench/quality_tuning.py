"""The short runs by which our recipe is tuned: experiments of equal minutes instead of equal tokens.

python -m bench.quality_tuning [--config bench/quality-tuning.yaml] [--only VARIANT]... [--minutes N] [--table]

The file is one of `bench.experiments` whose recipe has `training.max_minutes` and a schedule that goes by them, in a
plan of more steps than any variant comes to: so the rate falls and dropout begins at the same time for all, however
fast they step; the warm-up is counted in updates. With `--minutes`, folders of their own hold the longer runs.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.experiment_plan import Experiments, load_experiments
from bench.experiments import Command, compare, in_process
from translator.errors import ConfigError, Interrupted, TranslatorError


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
        return compare(
            experiments,
            lambda trial: trial.config.training.max_steps,
            run,
            only=options.only,
            only_table=options.table,
        )
    except Interrupted as stop:
        return stop.exit_code
    except TranslatorError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2


def timed(experiments: Experiments, minutes: float | None) -> Experiments:
    """Return the experiments with `minutes`, in a folder of their own, or as they are.

    Raises:
        ConfigError: neither the recipe nor `minutes` says how long a run takes, or the schedule does not go by minutes.
    """
    training = experiments.recipe.get("training", {})
    if training.get("schedule_clock") != "minutes":
        raise ConfigError(
            "the recipe of the experiments needs training.schedule_clock: minutes, as its runs end with them"
        )
    if minutes is None:
        if training.get("max_minutes") is None:
            raise ConfigError("the recipe of the experiments has no training.max_minutes; add it, or give --minutes")
        return experiments
    recipe = {**experiments.recipe, "training": {**training, "max_minutes": minutes}}
    directory = f"{experiments.directory}-{minutes:g}-minutes"
    return experiments.model_copy(update={"directory": directory, "recipe": recipe})


if __name__ == "__main__":
    sys.exit(main())
