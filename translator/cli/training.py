"""The verb train."""

import argparse
import os
import shlex
import sys
from pathlib import Path

from translator.cli.arguments import Verbs, add_config
from translator.cli.say import say
from translator.cli.scores import sample_lines, score_table
from translator.signals import StopRequest
from translator.training.launch import launch, launched


def add_verbs(verbs: Verbs) -> None:
    """Add the verb train."""
    summary = "prepare, train (or go on training), and evaluate"
    train = verbs.add_parser("train", help=summary, description=summary)
    add_config(train)
    train.add_argument(
        "--allow-changed",
        action="store_true",
        help="go on with settings that make the run end otherwise than it would have",
    )
    train.set_defaults(verb=_train)


def _train(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import load_config
    from translator.training.choices import choose_processes, threads_for
    from translator.training.run import train_run

    config = load_config(options.config, options.overrides)
    if not launched():
        processes, why = choose_processes(config)
        if processes > 1:
            print(f"training.processes: {processes} ({why})", file=sys.stderr)
            code = launch(options.arguments, processes, stop, threads_for(config.run.threads, processes))
            if code:
                raise SystemExit(code)
            return
    outcome = train_run(config, stop, options.allow_changed)
    if not outcome.tells:
        return
    folder = outcome.run.path
    if outcome.was_finished:
        say(
            f"{folder} is finished: {outcome.reason}, after {outcome.progress.step} steps.",
            "To train it longer, raise that setting; for a new run, set run.directory or run another recipe.",
        )
    say(*score_table(outcome.scores), *sample_lines(outcome.samples))
    say(
        f"\nThe run is in {folder} ({outcome.progress.step} steps, {outcome.progress.seconds / 60:.1f} minutes).",
        "Next:",
        *(f"  {command}" for command in _next_commands(folder)),
    )


def _next_commands(run: Path) -> tuple[str, ...]:
    """Return what to do with a trained run: by make if that is how it was trained, since `translator` may be hidden."""
    folder = shlex.quote(str(run))
    if "MAKELEVEL" in os.environ:
        return (
            "make tensorboard",
            f"make evaluate RUN={folder} SEARCH=beam BEAM=5",
            f'make translate RUN={folder} TEXT="The children are at school."',
        )
    return (
        f"translator tensorboard {shlex.quote(str(run.parent)) if run.parent.name else folder}",
        f"translator evaluate --run {folder} --search beam --beam 5",
        f'translator translate --run {folder} "The children are at school."',
    )
