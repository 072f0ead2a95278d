"""Train the variants of a recipe with several seeds and compare them on validation text.

Each run is a separate `translator train`, then an `evaluate --split validation` of its last checkpoint. It can be
stopped at any time: the same command resumes. Runs with one thread can be trained in parallel with `--only`.
"""

import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bench.options import FailedError, Options
from bench.processes import TRANSLATOR, run_command
from bench.scores import markdown_table
from translator.config import Config, load_config
from translator.errors import ConfigError, RunError

PLAN: Final = "bench/experiments.yaml"
METRICS: Final = ("bleu", "chrf")
PROGRESS: Final = ("step", "seconds", "target_tokens")
Model = TypeVar("Model", bound=BaseModel)
SeedResults = dict[int, Mapping[str, float]]  # figures by seed, see `read_result`


class Variant(BaseModel):
    """The recipe with some settings changed."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(pattern=r"^[\w-]+$")]
    about: str
    settings: tuple[str, ...] = ()
    average: Annotated[int, Field(ge=1)] | None = None
    """Without training: score the mean of this number of the baseline's last checkpoints."""


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
    run: Path  # of the baseline for an average
    settings: tuple[str, ...]
    config: Config

    @property
    def checkpoint(self) -> str:
        """The name of the scored checkpoint."""
        return "averaged" if self.variant.average else "last"

    @property
    def log(self) -> Path:
        """The file of the output of its commands."""
        return self.run.with_suffix(".log")

    @property
    def result(self) -> Path:
        """The file of the scores, with the settings they belong to."""
        return self.run / f"validation-{self.checkpoint}.json"


def bench(options: Options) -> Iterator[str]:
    """Train and score all unfinished trials, and yield the table.

    Raises:
        ConfigError: the file or a setting of a variant is invalid.
        FailedError: a variant failed; the others were completed.
        Interrupted: a command was stopped.
    """
    plan = read_yaml(Path(options.config or PLAN), Plan)
    names = options.chosen(variant.name for variant in plan.variants)
    planned = list(trials(plan, options.overrides))
    failed = []
    requested = [trial for trial in planned if trial.variant.name in names and not options.table]
    for number, trial in enumerate(requested, 1):
        if read_result(trial) is not None:
            continue
        began = time.monotonic()
        label = f"{trial.variant.name}-seed{trial.seed}"
        print(f"[{number}/{len(requested)}] {label}: see {trial.log}", file=sys.stderr, flush=True)
        try:
            carry_out(plan, trial)
        except RunError as error:
            failed.append(label)
            print(f"bench: {label}: {error}", file=sys.stderr)
        minutes = (time.monotonic() - began) / 60
        print(f"    {minutes:.1f} minutes", file=sys.stderr, flush=True)
    yield from table(plan, planned)
    if failed:
        raise FailedError(f"{len(failed)} failed: {', '.join(failed)}")


def read_yaml(path: Path, kind: type[Model]) -> Model:
    """Return a YAML file as a `kind`; raise ConfigError, with all errors, if it is unreadable or invalid."""
    try:
        return kind.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    except ValidationError as error:
        lines = [f"{path} is invalid:"]
        for mistake in error.errors(include_url=False):
            key_path = ".".join(map(str, mistake["loc"]))
            lines.append(f"  {key_path}: {mistake['msg']}")
        raise ConfigError("\n".join(lines)) from error


def trials(plan: Plan, overrides: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield every trial in execution order: all variants with one seed, then all with the next."""
    for seed in plan.seeds:
        for variant in plan.variants:
            trained = plan.variants[0] if variant.average else variant
            run = Path(plan.directory) / f"{trained.name}-seed{seed}"
            settings = (
                *plan.settings,
                *overrides,
                *trained.settings,
                f"run.seed={seed}",
                f"run.directory={run}",
            )
            yield Trial(
                variant=variant,
                seed=seed,
                run=run,
                settings=settings,
                config=load_config(plan.recipe, list(settings)),
            )


def carry_out(plan: Plan, trial: Trial) -> None:
    """Train and score `trial`.

    Raises:
        RunError: a command failed.
        Interrupted: it was stopped.
    """
    # 1. Train, or average.
    run = ["--run", str(trial.run)]
    threads = trial.config.run.threads or None
    if trial.variant.average:
        count = str(trial.variant.average)
        run_command([*TRANSLATOR, "average", *run, "--count", count, "--of", "last"], trial.log, threads)
    else:
        run_command([*TRANSLATOR, "train", "--config", plan.recipe, "--set", *trial.settings], trial.log, threads)

    # 2. Score.
    split = ["--split", "validation", "--checkpoint", trial.checkpoint, "--no-report"]
    run_command([*TRANSLATOR, "evaluate", *run, *split], trial.log, threads)
    all_scores = json.loads((trial.run / "evaluation" / "scores.json").read_text(encoding="utf-8"))
    scores = []
    for score in all_scores:
        is_of_average = score["checkpoint"] == "averaged"
        if score["test_set"] == "validation" and is_of_average == (trial.checkpoint == "averaged"):
            scores.append(score)

    # 3. Keep the scores with the settings that they belong to.
    state = json.loads((trial.run / "checkpoints" / "last" / "state.json").read_text(encoding="utf-8"))
    result = {
        "config": trial.config.model_dump(mode="json"),
        "scores": scores,
        "progress": state["state"]["progress"],
    }
    trial.result.write_text(json.dumps(result), encoding="utf-8")


def read_result(trial: Trial) -> dict[str, float] | None:
    """Return each metric's mean over the test sets and the training numbers of a finished trial, else None."""
    if not trial.result.is_file():
        return None
    result: dict[str, Any] = json.loads(trial.result.read_text(encoding="utf-8"))
    if result["config"] != json.loads(trial.config.model_dump_json()):
        advice = "name another `directory` in the plan"
        print(f"bench: {trial.run} was trained with other settings and is excluded; {advice}", file=sys.stderr)
        return None
    figures: dict[str, float] = {}
    for metric in METRICS:
        scores = []
        for score in result["scores"]:
            if score["metric"] == metric and score["normalization"] == "raw":
                scores.append(score["score"])
        figures[metric] = statistics.fmean(scores)
    for key in PROGRESS:
        figures[key] = float(result["progress"][key])
    return figures


def table(plan: Plan, planned: Sequence[Trial]) -> Iterator[str]:
    """Yield the table of all finished trials: means over the test sets, and scores of each seed."""
    results_of_variant: dict[str, SeedResults] = {}
    for trial in planned:
        result = read_result(trial)
        if result is not None:
            results_of_variant.setdefault(trial.variant.name, {})[trial.seed] = result
    if not results_of_variant:
        yield "No experiment is finished yet."
        return
    baseline = results_of_variant.get(plan.variants[0].name, {})
    rows = []
    for variant in plan.variants:
        results = results_of_variant.get(variant.name)
        if results is not None:
            rows.append(_row(variant, results, {} if results is baseline else baseline))
    header = ["variant", "seeds", "BLEU", "BLEU − baseline", "chrF", "chrF − baseline", "chrF of each seed"]
    yield from markdown_table([*header, "steps", "seconds", "target tokens"], rows)
    yield "\nValidation text (training.validation_sentences), means over the seeds; the weights after the last update."
    yield "In brackets, the difference for each seed: if their signs differ, the difference may be noise."


def _row(variant: Variant, results: SeedResults, baseline: SeedResults) -> list[str]:
    """Return a row of the table; differences are means over the seeds that `baseline` has too, and may be none."""
    row = [variant.about, ", ".join(map(str, results))]
    for metric in METRICS:
        row.append(f"{_mean(results, metric):.2f}")
        differences = []
        for seed, result in results.items():
            if seed in baseline:
                differences.append(result[metric] - baseline[seed][metric])
        row.append(_difference(differences))
    row.append(", ".join(f"{result['chrf']:.2f}" for result in results.values()))
    for key in PROGRESS:
        row.append(f"{_mean(results, key):,.0f}")
    return row


def _difference(differences: Sequence[float]) -> str:
    """Return the mean of the differences, with those of the seeds in brackets if there are several; `–` for none."""
    if not differences:
        return "–"
    mean = f"{statistics.fmean(differences):+.2f}"
    if len(differences) == 1:
        return mean
    of_seeds = ", ".join(f"{difference:+.2f}" for difference in differences)
    return f"{mean} ({of_seeds})"


def _mean(results: SeedResults, key: str) -> float:
    return statistics.fmean(result[key] for result in results.values())
