"""The verb evaluate."""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translator.cli.arguments import Verbs, add_engine, add_runs, add_search, search_overrides
from translator.cli.say import say
from translator.cli.scores import sample_lines, score_table, slice_table
from translator.errors import InputError
from translator.signals import StopRequest

if TYPE_CHECKING:
    from translator.evaluation import System
    from translator.inference import Translator


def add_verbs(verbs: Verbs) -> None:
    """Add the verb evaluate."""
    summary = "translate test sets with a run, or several, and score and diagnose the translations"
    evaluate = verbs.add_parser("evaluate", help=summary, description=summary)
    add_runs(evaluate, "several are compared with the first")
    evaluate.add_argument("--ensemble", action="store_true", help="the runs translate together, as one system")
    evaluate.add_argument(
        "--checkpoint",
        dest="checkpoints",
        action="append",
        metavar="NAME",
        help="best (default), last, averaged, or a step number; several are systems of their own",
    )
    evaluate.add_argument(
        "--test-set",
        dest="test_sets",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="in place of the run's own: a zip, a two-column TSV, a folder of these, or files as "
        "ENGLISH:PERSIAN[:PERSIAN...], each Persian one a reference; again for another set",
    )
    evaluate.add_argument(
        "--split",
        choices=("test", "validation"),
        default="test",
        help="of the run's own: what was held out for testing (default), or what training validates on",
    )
    add_search(evaluate)
    add_engine(evaluate)
    evaluate.add_argument("--no-report", action="store_true", help="write no report.html")
    evaluate.add_argument(
        "--output", metavar="FOLDER", help="where to put report.html (default: the first run's evaluation folder)"
    )
    evaluate.set_defaults(verb=_evaluate)


def _evaluate(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = search_overrides(options)
    if options.test_sets and options.split != "test":
        raise InputError(
            f"--split {options.split} is of the run's own sentences, and --test-set names others; leave out one"
        )
    if options.output is not None and options.no_report:
        raise InputError("--output says where to put the report, and --no-report that there is none; leave out one")
    from translator.evaluation import Score, System, evaluate_systems
    from translator.evaluation.comparison import distinct_labels, format_comparison
    from translator.evaluation.diagnosis import format_diagnosis
    from translator.export.index import is_export
    from translator.run_folder import RunFolder
    from translator.training.monitor import show_test_scores

    runs = [RunFolder.open(folder) for folder in dict.fromkeys(options.runs)]
    if is_export(runs[0].path) and not options.test_sets:
        raise InputError(
            f"{runs[0].path} is an export, which has no sentences of its own; name some: --test-set ENGLISH:PERSIAN"
        )
    if options.ensemble and len(runs) < 2:
        raise InputError("--ensemble needs two runs or more: --run FOLDER --run FOLDER")
    groups = [tuple(runs)] if options.ensemble else [(run,) for run in runs]
    checkpoints = list(dict.fromkeys(options.checkpoints or ["best"]))

    def load(system: "System", overrides: Sequence[str]) -> "Translator":
        from translator.export import load_translator

        folders = [run.path for run in system.runs]
        return load_translator(
            folders, options.engine, checkpoint=system.checkpoint, device=options.device, overrides=overrides
        )

    evaluation = evaluate_systems(
        [System(group, checkpoint) for group in groups for checkpoint in checkpoints],
        test_sets=options.test_sets,
        split=options.split,
        overrides=overrides,
        load=load,
        report=not options.no_report,
        output=None if options.output is None else Path(options.output),
    )
    own = not options.test_sets and options.split == "test"
    for run in runs:  # of an ensemble, and of runs of one name, nobody knows whose the scores are
        if not options.ensemble and [one.path.name for one in runs].count(run.path.name) == 1:
            scores = [score for one in evaluation.sets if one.system == run.path.name for score in one.scores]
            show_test_scores(run.tensorboard_folder, scores, own=own and run == runs[0])
    labels = distinct_labels(evaluation.sets)
    by_system: dict[str, list[Score]] = {}
    for label, one in zip(labels, evaluation.sets, strict=True):
        by_system.setdefault(label, []).extend(one.scores)
    for name, scores in by_system.items():
        say(*([name] if len(by_system) > 1 else []), *score_table(scores), "")
    for line in evaluation.missing:
        say(f"not computed: {line}")
    say("", *slice_table(evaluation.slices, labels))
    for label, diagnosis in zip(labels, evaluation.diagnoses, strict=True):
        say("", *itertools.takewhile(bool, format_diagnosis(diagnosis, examples=0, system=label)))  # the table alone
    for comparison in evaluation.comparisons:
        say("", *format_comparison(comparison))
    say(*sample_lines(evaluation.samples), "")
    for folder in evaluation.folders:
        say(f"Written to {folder}")
    if evaluation.report is not None:
        say(f"For a browser: {evaluation.report}")
