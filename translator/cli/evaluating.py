"""The verb evaluate."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.cli.arguments import (
    FORMAT,
    RUNS,
    SEARCH,
    chosen_runs,
    load_model,
    option,
    place,
    say,
    search_flags,
    verb,
)
from translator.errors import InputError
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from translator.evaluation import Evaluation, Score, System
    from translator.evaluation.tables import Form
    from translator.inference.translator import Translator
    from translator.run.folder import RunFolder

_TEST_SETS: Final = (
    "test set that replaces the run's own: a zip, TSV, CSV, JSON Lines, Parquet or TMX, a folder of these, or "
    "files as ENGLISH:PERSIAN[:PERSIAN...], each Persian file a reference; repeat it for several sets"
)
_CHECKPOINTS: Final = "best (default), last, averaged, or a step number; repeat it to evaluate several"


@verb(
    "evaluate",
    "translate test sets with one or several runs, then score the translations and count mistakes",
    RUNS,
    option("--ensemble", "combine the runs into one system", action="store_true"),
    option("--checkpoint NAME", _CHECKPOINTS, dest="checkpoints", action="append"),
    option("--test-set [NAME=]PATH", _TEST_SETS, dest="test_sets", action="append", type=place, default=[]),
    option("--split", "split of the run's own text to evaluate (default: test)", choices=("test", "validation")),
    option("--robustness", "also score each test set with noisy input, such as typos", action="store_true"),
    *SEARCH,
    FORMAT,
    option("--no-report", "do not write report.html", action="store_true"),
    option("--output FOLDER", "folder for report.html (default: the evaluation folder of the first run)", type=place),
    examples=(
        "translator evaluate --run runs/sample --search beam --beam 5",
        "translator evaluate --run runs/a --run runs/b --test-set mine=test.en:test.fa",
    ),
)
def _evaluate(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = search_flags(options)
    if options.robustness:
        overrides.append("evaluation.robustness=true")
    # Refuse what contradicts itself before anything is loaded.
    if options.test_sets and options.split is not None:
        raise InputError("--split selects the run's own text, and --test-set another text; leave out one of them")
    if options.output is not None and options.no_report:
        raise InputError("--output and --no-report contradict each other; leave out one of them")
    from translator.evaluation import evaluate_systems
    from translator.run.folder import RunFolder

    runs = [RunFolder(folder) for folder in chosen_runs(list(dict.fromkeys(options.runs)))]
    _check_runs(runs, options)

    def load(system: "System", overrides: Sequence[str]) -> "Translator":
        folders = [run.path for run in system.runs]
        return load_model(folders, options.engine, system.checkpoint, options.device, overrides)

    evaluation = evaluate_systems(
        _systems(runs, options),
        test_sets=options.test_sets,
        split=options.split or "test",
        overrides=overrides,
        load=load,
        report=not options.no_report,
        output=None if options.output is None else Path(options.output),
    )
    if not options.ensemble:  # the scores of an ensemble do not belong to one run
        _show_in_tensorboard(evaluation, runs, options)
    _print_evaluation(evaluation, options.format)


def _check_runs(runs: "Sequence[RunFolder]", options: argparse.Namespace) -> None:
    """Raise InputError if the runs cannot be evaluated as the arguments say."""
    from translator.inference.exported import is_export

    first = runs[0].path
    if is_export(first) and not options.test_sets:
        raise InputError(f"{first} is an export and has no test set; give one: --test-set ENGLISH:PERSIAN")
    if options.ensemble and len(runs) < 2:
        raise InputError("--ensemble needs at least two runs: --run FOLDER --run FOLDER")


def _systems(runs: "Sequence[RunFolder]", options: argparse.Namespace) -> "list[System]":
    """Return the systems to evaluate: each run, or all as one ensemble, with each checkpoint."""
    from translator.evaluation import System

    groups = [tuple(runs)] if options.ensemble else [(run,) for run in runs]
    checkpoints = list(dict.fromkeys(options.checkpoints or ["best"]))
    systems = []
    for group in groups:
        systems += [System(group, checkpoint) for checkpoint in checkpoints]
    return systems


def _show_in_tensorboard(evaluation: "Evaluation", runs: "Sequence[RunFolder]", options: argparse.Namespace) -> None:
    """Write the scores of each run to its TensorBoard; runs that share a name cannot be told apart and get none."""
    from translator.training.monitoring.event_file import show_test_scores

    is_own_text = not options.test_sets and options.split != "validation"
    names = [run.path.name for run in runs]
    for run in runs:
        name = run.path.name
        if names.count(name) > 1:
            continue
        scores: list[Score] = []
        for scored_set in evaluation.sets:
            if scored_set.system == name:
                scores += scored_set.all_scores
        show_test_scores(run.tensorboard_folder, scores, has_own_set=is_own_text and run == runs[0])


def _print_evaluation(evaluation: "Evaluation", form: "Form") -> None:
    """Print the tables; as text, also what differs between the systems, samples, and what was written."""
    from translator.evaluation.terminal_report import format_differences, format_evaluation, format_samples

    say(*format_evaluation(evaluation.systems_of_sets, evaluation.comparisons, form))
    if form != "text":  # another program reads the tables
        return
    for comparison in evaluation.comparisons:
        say(*format_differences(comparison))
    say(*(f"not computed: {line}" for line in evaluation.missing))
    say(*format_samples(evaluation.samples), "", *(f"Written to {folder}" for folder in evaluation.folders))
    if evaluation.report is not None:
        say(f"For a browser: {evaluation.report}")
