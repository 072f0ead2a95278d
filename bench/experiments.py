"""Train the variants of a recipe with several seeds and compare them on validation text.

Each run is a separate `translator train`, then an `evaluate --split validation` of its last checkpoint. It can be
stopped at any time: the same command resumes. Runs with one thread can be trained in parallel with `--only`.
"""

import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field

from bench.options import FailedError, Options, markdown_table
from bench.processes import TRANSLATOR, run_command
from translator.config import Config, load_config
from translator.config.resuming import compare_settings
from translator.errors import ConfigError, RunError

PLAN: Final = "bench/experiments.yaml"
METRICS: Final = ("bleu", "chrf")
PROGRESS: Final = ("step", "seconds", "target_tokens")
Model = TypeVar("Model", bound=BaseModel)
Figures = dict[str, float]
"""The scores and the training numbers of a run, by the names in `METRICS` and `PROGRESS`."""


class Variant(BaseModel):
    """The recipe with some settings changed."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(pattern=r"^[\w-]+$")]
    about: str
    settings: tuple[str, ...] = ()


class Plan(BaseModel):
    """The file of experiments; the first variant is the baseline, and names are unique."""

    model_config = ConfigDict(extra="forbid")
    directory: str
    recipe: str
    settings: tuple[str, ...] = ()
    """Changes of the recipe shared by all variants."""
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    variants: Annotated[tuple[Variant, ...], Field(min_length=1)]


@dataclass(frozen=True)
class Trial:
    """One variant with one seed."""

    variant: Variant
    seed: int
    run: Path
    settings: tuple[str, ...]
    config: Config


def bench(options: Options) -> Iterator[str]:
    """Train and score all unfinished trials, and yield the table.

    Raises:
        ConfigError: the file or a setting of a variant is invalid.
        FailedError: a variant failed; the others were completed.
        Interrupted: a command was stopped.
    """
    plan = read_yaml(Path(options.config or PLAN), Plan)
    names = [] if options.table else options.chosen(variant.name for variant in plan.variants)
    planned = list(trials(plan, options.overrides))
    failed = []
    for trial in planned:
        if trial.variant.name not in names or read_figures(trial) is not None:
            continue
        log = trial.run.with_suffix(".log")
        print(f"bench: {trial.run.name}: see {log}", file=sys.stderr, flush=True)
        try:
            carry_out(plan, trial, log)
        except RunError as error:
            failed.append(trial.run.name)
            print(f"bench: {trial.run.name}: {error}", file=sys.stderr)
    yield from table(plan, planned)
    if failed:
        raise FailedError(f"{len(failed)} failed: {', '.join(failed)}")


def read_yaml(path: Path, kind: type[Model]) -> Model:
    """Return a YAML file as a `kind`; raise ConfigError, with all mistakes, if it is unreadable or invalid."""
    try:
        return kind.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error


def trials(plan: Plan, overrides: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield every trial in execution order: all variants with one seed, then all with the next."""
    for seed in plan.seeds:
        for variant in plan.variants:
            run = Path(plan.directory) / f"{variant.name}-seed{seed}"
            own_settings = (f"run.seed={seed}", f"run.directory={run}")
            settings = (*plan.settings, *overrides, *variant.settings, *own_settings)
            config = load_config(plan.recipe, list(settings))
            yield Trial(variant=variant, seed=seed, run=run, settings=settings, config=config)


def carry_out(plan: Plan, trial: Trial, log: Path) -> None:
    """Train and score `trial`.

    Raises:
        RunError: a command failed.
        Interrupted: it was stopped.
    """
    threads = trial.config.run.threads or None
    run_command([*TRANSLATOR, "train", "--config", plan.recipe, "--set", *trial.settings], log, threads)
    scored = ["--run", str(trial.run), "--split", "validation", "--checkpoint", "last", "--no-report"]
    run_command([*TRANSLATOR, "evaluate", *scored], log, threads)


def read_figures(trial: Trial) -> Figures | None:
    """Return the figures of a finished trial, else None."""
    # 1. The scores, which the trial gets last.
    scores_file = trial.run / "evaluation" / "scores.json"
    scores = json.loads(scores_file.read_text(encoding="utf-8")) if scores_file.is_file() else []
    figures: Figures = {}
    for score in scores:
        if score["test_set"] == "validation" and score["normalization"] == "raw":
            figures[score["metric"]] = score["score"]
    if not figures:
        return None

    # 2. A run of another plan does not count.
    if compare_settings(load_config(trial.run / "config.yaml"), trial.config):
        advice = "name another `directory` in the plan"
        print(f"bench: {trial.run} was trained with other settings and is excluded; {advice}", file=sys.stderr)
        return None

    # 3. How far it has trained.
    state = json.loads((trial.run / "checkpoints" / "last" / "state.json").read_text(encoding="utf-8"))
    for key in PROGRESS:
        figures[key] = state["state"]["progress"][key]
    return figures


def table(plan: Plan, planned: Sequence[Trial]) -> Iterator[str]:
    """Yield the table of all finished trials: means over the seeds, and scores of each seed."""
    results: dict[str, dict[int, Figures]] = {variant.name: {} for variant in plan.variants}
    for trial in planned:
        figures = read_figures(trial)
        if figures is not None:
            results[trial.variant.name][trial.seed] = figures
    baseline = results[plan.variants[0].name]
    rows = []
    for variant in plan.variants:
        of_seeds = results[variant.name]
        if of_seeds:
            rows.append(_row(variant, of_seeds, {} if of_seeds is baseline else baseline))
    if not rows:
        yield "No experiment is finished yet."
        return
    header = ["variant", "seeds", "BLEU", "BLEU − baseline", "chrF", "chrF − baseline", "chrF of each seed"]
    yield from markdown_table([*header, "steps", "seconds", "target tokens"], rows)
    yield "\nValidation text (training.validation_sentences), means over the seeds; the weights after the last update."
    yield "In brackets, the difference for each seed: if their signs differ, the difference may be noise."


def _row(variant: Variant, of_seeds: dict[int, Figures], baseline: dict[int, Figures]) -> list[str]:
    """Return a row of the table; differences are means over the seeds that `baseline` has too, and may be none."""
    means = {key: statistics.fmean(figures[key] for figures in of_seeds.values()) for key in (*METRICS, *PROGRESS)}
    row = [variant.about, ", ".join(map(str, of_seeds))]
    for metric in METRICS:
        shared = sorted(of_seeds.keys() & baseline.keys())
        differences = [of_seeds[seed][metric] - baseline[seed][metric] for seed in shared]
        row += [f"{means[metric]:.2f}", _difference(differences)]
    row.append(", ".join(f"{figures['chrf']:.2f}" for figures in of_seeds.values()))
    return [*row, *(f"{means[key]:,.0f}" for key in PROGRESS)]


def _difference(differences: Sequence[float]) -> str:
    """Return the mean of the differences, with those of the seeds in brackets if there are several; `–` for none."""
    if not differences:
        return "–"
    of_seeds = ", ".join(f"{difference:+.2f}" for difference in differences)
    mean = f"{statistics.fmean(differences):+.2f}"
    return f"{mean} ({of_seeds})" if len(differences) > 1 else mean
