"""The verb evaluate."""

import argparse

from translator.cli.arguments import Verbs, add_search, search_overrides
from translator.cli.say import say
from translator.cli.scores import sample_lines, score_table
from translator.signals import StopRequest


def add_verbs(verbs: Verbs) -> None:
    """Add the verb evaluate."""
    evaluate = verbs.add_parser("evaluate", help="score a run on its test sets")
    evaluate.add_argument("--run", required=True, metavar="FOLDER", help="run folder, for example runs/sample")
    evaluate.add_argument("--checkpoint", default="best", help="best (default), last, averaged, or a step number")
    add_search(evaluate)
    evaluate.set_defaults(verb=_evaluate)


def _evaluate(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.evaluation import evaluate_run
    from translator.run_folder import RunFolder

    overrides = search_overrides(options)
    run = RunFolder.open(options.run)
    evaluation = evaluate_run(run, checkpoint=options.checkpoint, overrides=overrides)
    say(*score_table(evaluation.scores), *sample_lines(evaluation.samples))
    say(f"\nWritten to {run.evaluation_folder}")
