"""The verbs prepare and train."""

import argparse
import itertools
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translator.cli.arguments import say
from translator.config import Config, load_config
from translator.config.loading import check_overrides
from translator.corpus.sources import corpora_in_arguments, source_files, with_overrides
from translator.errors import InputError
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from translator.training.run_training import TrainingOutcome


def prepare(options: argparse.Namespace, stop: StopRequest) -> None:
    """Prepare the text, the subword models and the tokens of a recipe; print counts and the next command."""
    recipe, overrides = _choose_recipe(options)
    config = load_config(recipe, overrides)
    _refuse_missing_text(config)
    # Mistakes of the user are told by now, before torch is imported, which takes seconds.
    from translator.data import DataHandler
    from translator.data.preparation_report import preparation_report, warn_of_few_pairs
    from translator.run.files import prepared_folder, sha256_of_json

    # The same steps as at the beginning of a training, which finds their results and reuses them.
    data = DataHandler(config)
    report = preparation_report(config, data)
    prepared = data.corpus.directory.parent
    page = report.write(prepared_folder(prepared, "report", sha256_of_json(report.to_json())))
    say(report.tables(), "", f"prepared in {prepared}; the report with examples: {page}")
    if config.training.initialize_from is None:
        warn_of_few_pairs(data.corpus)
    say(f"Next: {_train_command(recipe, options)}")


def _train_command(recipe: str, options: argparse.Namespace) -> str:
    """Return the command that trains on what was prepared."""
    arguments = [_program(), "train", "--config", recipe]
    # Without --config, the recipe was written for the corpus, and names it.
    if options.config is not None and options.corpora:
        arguments += ["--corpus", *itertools.chain.from_iterable(options.corpora)]
    if options.overrides:
        arguments += ["--set", *options.overrides]
    return shlex.join(arguments)


def train(options: argparse.Namespace, stop: StopRequest) -> None:
    """Train a run, or resume its training."""
    recipe, overrides = _choose_recipe(options)
    train_recipe(recipe, overrides, stop, allow_changed=options.allow_changed)


def train_recipe(recipe: str, overrides: Sequence[str], stop: StopRequest, *, allow_changed: bool = False) -> None:
    """Train the run of a recipe, in this process or in several that this one starts; print its scores.

    Args:
        recipe: a file, or the name of a shipped recipe.
        overrides: the user's settings, as KEY.PATH=VALUE.
        stop: the signals of this process.
        allow_changed: resume although settings that affect the result have changed.
    """
    config = load_config(recipe, overrides)
    _refuse_missing_text(config)
    # Mistakes of the user are told by now, before torch is imported, which takes seconds.
    from translator.training.launching import errors_end_the_rank, launch, launched
    from translator.training.precision import choose_processes, threads_for
    from translator.training.run_training import train_run

    # If this process is no rank (not launched), it starts one process for each rank, unless one process is enough.
    if not launched():
        processes = choose_processes(config)
        if processes > 1:
            command = ["train", "--config", recipe]
            for override in overrides:
                command += ["--set", override]
            if allow_changed:
                command.append("--allow-changed")
            code = launch(command, processes, stop, threads_for(config.run.threads, processes))
            if code:
                raise SystemExit(code)
            return

    with errors_end_the_rank():
        outcome = train_run(config, stop, allow_changed)
    if outcome.main:  # this is rank 0, the only one with scores
        _print_outcome(outcome, config)


def _refuse_missing_text(config: Config) -> None:
    """Raise CorpusError if a file of the corpus or of a test set is missing or unsuitable."""
    for source in (*config.corpus.sources, *config.evaluation.test_sources):
        source_files(source)


def _print_outcome(outcome: "TrainingOutcome", config: Config) -> None:
    """Print scores, samples, and commands to try with the trained run."""
    from translator.evaluation.terminal_report import format_samples, format_scores

    folder = outcome.run.path
    if outcome.was_finished:
        say(f"{folder} is finished: {outcome.reason}, after {outcome.progress.step} steps.")
        again = f"{_program()} train --config {shlex.quote(str(folder / 'config.yaml'))} --allow-changed"
        # The reason names the setting that ended the training.
        say(f"To continue training, raise that setting: {again} --set KEY=VALUE")
        say("To start a new run, set run.directory or use another recipe.")
    say(*format_scores(outcome.scores), *format_samples(outcome.samples))
    if outcome.scores:
        say(f"\nEvery sentence: {folder / 'evaluation' / 'report.html'}")
    say(f"\nThe run is in {folder} ({outcome.progress.step} steps, {outcome.progress.seconds / 60:.1f} minutes).")
    commands = _next_commands(folder, config.corpus.languages[0].example)
    say("Next:", *(f"  {command}" for command in commands))


def _choose_recipe(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the recipe that the arguments name, or one that fits `--corpus`, which is written first; and overrides.

    Raises InputError: there is neither a recipe nor a corpus.
    """
    if options.corpora:
        return _recipe_for_corpora(options)
    if options.config is None:
        raise InputError("no text is named: give a recipe (--config sample) or your corpus (--corpus my.en my.fa)")
    return options.config, options.overrides


def _recipe_for_corpora(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the recipe and the overrides for `--corpus`; without `--config`, choose and write a recipe."""
    # This import is slow, and only `--corpus` needs it: a wrong key in a recipe is told without it.
    from translator.recipes.corpus_recipe import as_overrides, find_recipe

    # With a recipe, `--corpus` only replaces the sources of the recipe.
    sources = corpora_in_arguments(options.corpora)
    if options.config is not None:
        return options.config, [*as_overrides(sources), *options.overrides]

    # `find_recipe` reads the text before the recipe exists, so overrides of the sources have to apply here already.
    sources = with_overrides(sources, options.overrides)
    check_overrides([*as_overrides(sources), *options.overrides], "the recipe for the corpus")
    from translator.speed.device import choose_device  # imports torch: only after the user's mistakes are told
    from translator.training.launching import launched

    # The choice of a recipe depends on the device, as a GPU allows a larger model, and on the direction.
    overrides_by_key = {}
    for override in options.overrides:
        key, _, value = override.partition("=")
        overrides_by_key[key] = value
    is_gpu = choose_device(overrides_by_key.get("run.device", "auto")).type != "cpu"
    direction = overrides_by_key.get("corpus.direction", "en-fa")
    file, line = find_recipe(Path("runs"), sources, gpu=is_gpu, direction=direction, overrides=options.overrides)
    if not launched():  # each rank under the user's own `torchrun` comes here too, and would print the line again
        say(line, "")
    return str(file), options.overrides


def _program() -> str:
    """Return the command that starts this program; if make started this, `translator` may not be on PATH."""
    return sys.argv[0] if "MAKELEVEL" in os.environ else "translator"


def _next_commands(run: Path, example: str) -> tuple[str, ...]:
    """Return commands to try with a trained run."""
    folder = shlex.quote(str(run))
    program = _program()
    return (
        f"{program} tensorboard {shlex.quote(str(run.parent)) if run.parent.name else folder}",
        f"{program} serve --run {folder}",
        f'{program} translate --run {folder} "{example}"',
    )
