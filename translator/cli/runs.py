"""The verbs that make and evaluate runs: prepare, train, average, evaluate, compare, runs, tensorboard."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from translator.cli.arguments import CONFIG, RUN, RUNS, SEARCH, SET, load_model, option, place, say, search_flags, verb
from translator.errors import InputError
from translator.run.logging import LOGGER
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from translator.evaluation import Evaluation, Score, System
    from translator.inference.translator import Translator

_TEXTS: Final = ("raw", "normalized", "folded")  # in the order of `text_variants`
_METRICS: Final = ("bleu", "bleu_intl", "chrf", "chrf++", "ter")
_TEST_SETS: Final = (
    "test set that replaces the run's own: a zip, a two-column TSV, a TMX, a folder of these, or files as "
    "ENGLISH:PERSIAN[:PERSIAN...], each Persian file a reference; repeat it for several sets"
)
_CORPUS: Final = (
    "your corpus: two text files (English, Persian), a zip, a two-column TSV, a TMX or a folder of these; repeat "
    "it for several. Without --config, a recipe that fits it is written to runs/NAME.yaml"
)
_CHECKPOINTS: Final = "best (default), last, averaged, or a step number; repeat it to evaluate several"
_SYSTEMS: Final = "evaluated run folders, *.sentences.jsonl of an evaluation, or text files; the first is the baseline"
_VARIANTS: Final = "raw (default), normalized (by the rules for Persian), or folded (half-spaces also become spaces)"


@verb(
    "prepare",
    "clean and split a corpus, train its subword models, and store its tokens",
    *(CONFIG, SET),
    examples=("translator prepare --config sample",),
)
def _prepare(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import load_config
    from translator.config.resuming import fingerprint_of
    from translator.corpus.preparation_counts import format_report
    from translator.data import DataHandler
    from translator.data.preparation_report import (
        format_subword_tables,
        preparation_report,
        write_preparation_report,
    )
    from translator.run.folder import prepared_folder

    config = load_config(options.config, options.overrides)
    data = DataHandler(config).prepare()
    report = preparation_report(config, data.corpus, data.subword, data.normalizer, data.report, data.mixture)
    prepared = data.corpus.directory.parent
    _, page = write_preparation_report(report, prepared_folder(prepared, "report", fingerprint_of(report.to_json())))
    say(format_report(report.corpus), "", data.format_report(), "", format_subword_tables(report.subwords))
    say("", f"prepared in {prepared}; the report with examples: {page}")


@verb(
    "train",
    "prepare, train (or resume training), and evaluate",
    option("--config FILE", "YAML recipe, or the name of a shipped one (translator recipe); optional with --corpus"),
    option("--corpus PATH", _CORPUS, dest="corpora", action="append", nargs="+", type=place, default=[]),
    SET,
    option("--allow-changed", "resume although settings that affect the result have changed", action="store_true"),
    examples=(
        "translator train --config sample",
        "translator train --corpus my.en my.fa",
        "translator train --config my.yaml --set training.max_steps=2000 run.directory=runs/short",
    ),
)
def _train(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import load_config
    from translator.training.launching import launch, launched, reported_by_launcher
    from translator.training.precision import choose_processes, threads_for
    from translator.training.run_training import train_run

    recipe, overrides = options.config, options.overrides
    if options.corpora:
        recipe, overrides = _with_corpora(options)
    elif recipe is None:
        raise InputError("nothing to train: give a recipe (--config sample) or your corpus (--corpus my.en my.fa)")
    config = load_config(recipe, overrides)
    if not launched():
        processes, why = choose_processes(config)
        if processes > 1:
            LOGGER.info("training.processes: %d (%s)", processes, why)
            if code := launch(options.arguments, processes, stop, threads_for(config.run.threads, processes)):
                raise SystemExit(code)
            return
    with reported_by_launcher():
        outcome = train_run(config, stop, options.allow_changed)
    if not outcome.main:
        return
    from translator.evaluation.terminal_report import format_samples, format_scores

    folder = outcome.run.path
    if outcome.was_finished:
        say(f"{folder} is finished: {outcome.reason}, after {outcome.progress.step} steps.")
        say("To continue training, raise that setting. To start a new run, set run.directory or use another recipe.")
    say(*format_scores(outcome.scores), *format_samples(outcome.samples))
    say(f"\nThe run is in {folder} ({outcome.progress.step} steps, {outcome.progress.seconds / 60:.1f} minutes).")
    example = config.corpus.languages[0].example
    say("Next:", *(f"  {command}" for command in _next_commands(folder, example)))


def _with_corpora(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the recipe and the overrides for `--corpus`; without `--config`, choose and write a recipe."""
    from translator.corpus.sources import corpora_in_arguments, with_overrides
    from translator.model.device import choose_device
    from translator.recipes.corpus_recipe import as_overrides, find_recipe
    from translator.training.launching import launched

    sources = corpora_in_arguments(options.corpora)
    if options.config is not None:
        return options.config, [*as_overrides(sources), *options.overrides]
    # The text is read before the recipe exists, so overrides of the sources have to apply here already.
    sources = with_overrides(sources, options.overrides)
    given = dict(override.partition("=")[::2] for override in options.overrides)
    gpu = choose_device(given.get("run.device", "auto")).type != "cpu"
    direction = given.get("corpus.direction", "en-fa")
    file, lines = find_recipe(Path("runs"), sources, gpu=gpu, direction=direction, overrides=options.overrides)
    if not launched():
        say(*lines)
    return str(file), options.overrides


def _next_commands(run: Path, example: str) -> tuple[str, ...]:
    """Return commands to try with a trained run; if make started this, use make, as `translator` may not be on PATH."""
    folder, sentence = shlex.quote(str(run)), f'"{example}"'
    if "MAKELEVEL" in os.environ:
        evaluate = f"make evaluate RUN={folder} SEARCH=beam BEAM=5"
        return "make tensorboard", evaluate, f"make translate RUN={folder} TEXT={sentence}"
    return (
        f"translator tensorboard {shlex.quote(str(run.parent)) if run.parent.name else folder}",
        f"translator evaluate --run {folder} --search beam --beam 5",
        f"translator translate --run {folder} {sentence}",
    )


@verb(
    "average",
    "average the weights of several checkpoints of a run into a new checkpoint `averaged`",
    RUN,
    option("--count K", "number of checkpoints (default: 5)", type=int, default=5),
    option(
        "--of", "which checkpoints: the newest (last, default) or the best", choices=("last", "best"), default="last"
    ),
    examples=("translator average --run runs/mizan --of best --count 5",),
)
def _average(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.checkpoint.manager import average_run

    say(average_run(options.run, options.count, options.of))


@verb(
    "runs",
    "list runs with state, best score and speed",
    option("folder FOLDER", "folder that holds the runs (default: runs)", nargs="?", default="runs"),
)
def _runs(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.run.folder import format_run_list

    say(format_run_list(options.folder))


@verb(
    "tensorboard",
    "start TensorBoard for all runs in a folder",
    option("folder FOLDER", "folder of the runs (default: runs)", nargs="?", type=place, default="runs"),
    option("--port N", "port on this machine (default: 6006)", type=int, default=6006),
    examples=("translator tensorboard experiments --port 6007",),
)
def _tensorboard(options: argparse.Namespace, stop: StopRequest) -> None:
    if not Path(options.folder).is_dir():
        raise InputError(f"{options.folder} is not a folder; name the folder that holds the runs, for example runs")
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", options.folder, "--port", str(options.port)]
    os.execv(sys.executable, command)  # TensorBoard is a separate program, which replaces this process


@verb(
    "evaluate",
    "translate test sets with one or several runs, then score and diagnose the translations",
    RUNS,
    option("--ensemble", "combine the runs into one system", action="store_true"),
    option("--checkpoint NAME", _CHECKPOINTS, dest="checkpoints", action="append"),
    option("--test-set [NAME=]PATH", _TEST_SETS, dest="test_sets", action="append", type=place, default=[]),
    option("--split", "split of the run's own text to evaluate (default: test)", choices=("test", "validation")),
    option("--robustness", "also score each test set with noisy input, such as typos", action="store_true"),
    *SEARCH,
    option("--no-report", "do not write report.html", action="store_true"),
    option("--output FOLDER", "folder for report.html (default: the evaluation folder of the first run)"),
    examples=(
        "translator evaluate --run runs/sample --search beam --beam 5",
        "translator evaluate --run runs/a --run runs/b --test-set mine=test.en:test.fa",
    ),
)
def _evaluate(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = search_flags(options)
    if options.robustness:
        overrides.append("evaluation.robustness=true")
    if options.test_sets and options.split is not None:
        raise InputError("--split selects the run's own text, and --test-set another text; leave out one of them")
    if options.output is not None and options.no_report:
        raise InputError("--output and --no-report contradict each other; leave out one of them")
    from translator.evaluation import System, evaluate_systems
    from translator.inference.exported import is_export
    from translator.run.folder import RunFolder
    from translator.training.event_file import show_test_scores

    found = [RunFolder.open(folder) for folder in dict.fromkeys(options.runs)]
    if is_export(found[0].path) and not options.test_sets:
        raise InputError(f"{found[0].path} is an export and has no test set; give one: --test-set ENGLISH:PERSIAN")
    if options.ensemble and len(found) < 2:
        raise InputError("--ensemble needs at least two runs: --run FOLDER --run FOLDER")
    groups = [tuple(found)] if options.ensemble else [(run,) for run in found]

    def load(system: "System", overrides: Sequence[str]) -> "Translator":
        folders = [run.path for run in system.runs]
        return load_model(folders, options.engine, system.checkpoint, options.device, overrides)

    checkpoints = dict.fromkeys(options.checkpoints or ["best"])
    evaluation = evaluate_systems(
        [System(group, checkpoint) for group in groups for checkpoint in checkpoints],
        test_sets=options.test_sets,
        split=options.split or "test",
        overrides=overrides,
        load=load,
        report=not options.no_report,
        output=None if options.output is None else Path(options.output),
    )
    own = not options.test_sets and options.split != "validation"
    for run in found:  # scores of an ensemble, or of runs that share a name, do not belong to one run
        if not options.ensemble and [one.path.name for one in found].count(run.path.name) == 1:
            scores = [score for one in evaluation.sets if one.system == run.path.name for score in one.all_scores]
            show_test_scores(run.tensorboard_folder, scores, own=own and run == found[0])
    _print_evaluation(evaluation)


def _print_evaluation(evaluation: "Evaluation") -> None:
    from translator.evaluation.results import distinct_labels
    from translator.evaluation.terminal_report import (
        format_comparison,
        format_diagnosis,
        format_robustness,
        format_samples,
        format_scores,
    )

    labels = distinct_labels(evaluation.sets)
    by_system: dict[str, list[Score]] = {}
    for label, one in zip(labels, evaluation.sets, strict=True):
        by_system.setdefault(label, []).extend(one.scores)
    for name, scores in by_system.items():
        say(*([name] if len(by_system) > 1 else []), *format_scores(scores), "")
    say(*(f"not computed: {line}" for line in evaluation.missing))
    for label, one in zip(labels, evaluation.sets, strict=True):
        say(*format_robustness(one, label))
    for label, diagnosis in zip(labels, evaluation.diagnoses, strict=True):
        say("", *format_diagnosis(diagnosis, label))
    for comparison in evaluation.comparisons:
        say("", *format_comparison(comparison))
    say(*format_samples(evaluation.samples), "", *(f"Written to {folder}" for folder in evaluation.folders))
    if evaluation.report is not None:
        say(f"For a browser: {evaluation.report}")


@verb(
    "compare",
    "test whether one system is significantly better than another, and show sentences that differ",
    option("systems SYSTEM", _SYSTEMS, nargs="+", type=place),
    option("--source FILE", "source text, when systems are text files"),
    option("--reference FILE", "references, when systems are text files", action="extend", nargs="+", default=[]),
    option("--test-set NAME", "compare only on these test sets (default: all)", action="extend", nargs="+", default=[]),
    option("--checkpoint NAME", "checkpoint of the runs (default: the one evaluated last)"),
    option("--search-label LABEL", "search settings of the runs, for example beam-5 (default: the last evaluated)"),
    option("--metrics", "default: all but bleu_intl", nargs="+", choices=_METRICS, default=["bleu", *_METRICS[2:]]),
    option("--text", _VARIANTS, nargs="+", choices=_TEXTS, default=["raw"]),
    option("--samples N", "bootstrap resamples, or 0 (default: 1000)", type=int, default=1000),
    option("--trials N", "randomisation trials, or 0 (default: 10000)", type=int, default=10_000),
    option("--examples N", "example sentences per direction (default: 10)", type=int, default=10),
    option("--json FILE", "also write all results to FILE as JSON"),
    examples=("translator compare runs/a runs/b",),
)
def _compare(options: argparse.Namespace, stop: StopRequest) -> None:
    for name in ("samples", "trials", "examples"):
        if getattr(options, name) < 0:
            raise InputError(f"--{name} {getattr(options, name)} is negative; give 0 to switch it off")
    if options.samples == options.trials == 0:
        raise InputError("--samples 0 and --trials 0 leave no significance test; raise one of them")
    from translator.config import NormalizationConfig
    from translator.evaluation.compare import compare_systems
    from translator.evaluation.system_files import languages_of, read_systems
    from translator.evaluation.terminal_report import format_comparison
    from translator.evaluation.text_variants import text_variants
    from translator.run.storage import refuse_input_as_output, write_output

    if options.json is not None:
        inputs = [*map(Path, options.systems), *map(Path, options.reference)]
        if options.source is not None:
            inputs.append(Path(options.source))
        for system in options.systems:
            inputs += Path(system).glob("evaluation/*.json*")
        refuse_input_as_output(inputs, options.json)
    systems = read_systems(
        options.systems,
        source=options.source,
        references=options.reference,
        test_sets=options.test_set,
        checkpoint=options.checkpoint,
        search=options.search_label,
    )
    found: list[dict[str, Any]] = []
    for sets in systems:
        languages = languages_of(text for texts in sets[0].references for text in texts)
        variants = dict(zip(_TEXTS, text_variants(NormalizationConfig(), languages), strict=True))
        comparison = compare_systems(
            sets,
            metrics=options.metrics,
            variants=[variants[name] for name in dict.fromkeys(options.text)],
            samples=options.samples,
            trials=options.trials,
            examples=options.examples,
            description=f"comparing on {sets[0].test_set}",
        )
        say(*([""] if found else []), *format_comparison(comparison))
        found.append(comparison.to_json())
    if options.json is not None:
        write_output(options.json, json.dumps(found, ensure_ascii=False, indent=2) + "\n")
        say("", f"Written to {options.json}")
