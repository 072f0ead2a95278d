"""The verbs prepare and train."""

import argparse
import itertools
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from translator.cli.arguments import SET, option, place, say, verb
from translator.errors import InputError
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from translator.config import Config
    from translator.training.run_training import TrainingOutcome

_CORPUS: Final = (
    "your corpus: two text files (English, Persian), a zip, TSV, CSV, JSON Lines, Parquet or TMX, or a folder "
    "of these; repeat it for several. Without --config, a recipe that fits it is written to runs/NAME.yaml"
)


_RECIPE: Final = (
    option(
        "--config FILE",
        "YAML recipe, or the name of a shipped one (translator recipe); optional with --corpus",
        type=place,
    ),
    option("--corpus PATH", _CORPUS, dest="corpora", action="append", nargs="+", type=place, default=[]),
    SET,
)


@verb(
    "prepare",
    "clean and split a corpus, train its subword models, and store its tokens",
    *_RECIPE,
    examples=("translator prepare --config sample", "translator prepare --corpus my.en my.fa"),
)
def _prepare(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import load_config

    recipe = _choose_recipe(options)
    config = load_config(recipe.name, recipe.overrides)
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
    say(f"Next: {_train_command(recipe.name, options)}")


def _train_command(recipe: str, options: argparse.Namespace) -> str:
    """Return the command that trains on what was prepared; of make if make started this."""
    files: list[str] = []
    if options.config is not None:  # else the recipe was written for the corpus, and names it
        files = list(itertools.chain.from_iterable(options.corpora))

    if "MAKELEVEL" in os.environ:
        words = ["make train", f"CONFIG={shlex.quote(recipe)}"]
        if files:
            words.append(f"CORPUS={shlex.quote(shlex.join(files))}")
        if options.overrides:
            words.append(f"SET={shlex.quote(' '.join(options.overrides))}")
        return " ".join(words)

    arguments = ["translator", "train", "--config", recipe]
    if files:
        arguments += ["--corpus", *files]
    if options.overrides:
        arguments += ["--set", *options.overrides]
    return shlex.join(arguments)


@verb(
    "train",
    "prepare, train (or resume training), and evaluate",
    *_RECIPE,
    option("--allow-changed", "resume although settings that affect the result have changed", action="store_true"),
    examples=(
        "translator train --config sample",
        "translator train --corpus my.en my.fa",
        "translator train --config my.yaml --set training.max_steps=2000 run.directory=runs/short",
    ),
)
def train(options: argparse.Namespace, stop: StopRequest) -> None:
    """Train a run, in this process or in several that this one starts."""
    from translator.config import load_config

    recipe = _choose_recipe(options)
    config = load_config(recipe.name, recipe.overrides)
    _refuse_missing_text(config)
    # Mistakes of the user are told by now, before torch is imported, which takes seconds.
    from translator.training.launching import errors_end_the_rank, launch, launched
    from translator.training.precision import choose_processes, threads_for
    from translator.training.run_training import train_run

    # A first process starts one for each rank, unless one is enough.
    if not launched():
        processes = choose_processes(config)
        if processes > 1:
            if code := launch(options.arguments, processes, stop, threads_for(config.run.threads, processes)):
                raise SystemExit(code)
            return

    with errors_end_the_rank():
        outcome = train_run(config, stop, options.allow_changed)
    if outcome.main:
        _print_outcome(outcome, config)


def _refuse_missing_text(config: "Config") -> None:
    """Raise CorpusError if a file of the corpus or of a test set is missing or unsuitable."""
    from translator.corpus.sources import source_files

    for source in (*config.corpus.sources, *config.evaluation.test_sources):
        source_files(source)


def _print_outcome(outcome: "TrainingOutcome", config: "Config") -> None:
    """Print scores, samples, and commands to try with the trained run."""
    from translator.evaluation.terminal_report import format_samples, format_scores

    folder = outcome.run.path
    if outcome.was_finished:
        say(f"{folder} is finished: {outcome.reason}, after {outcome.progress.step} steps.")
        again = f"{_program()} train --config {shlex.quote(str(folder / 'config.yaml'))} --allow-changed"
        say(f"To continue training, raise that setting: {again} --set KEY=VALUE")
        say("To start a new run, set run.directory or use another recipe.")
    say(*format_scores(outcome.scores), *format_samples(outcome.samples))
    if outcome.scores:
        say(f"\nEvery sentence: {folder / 'evaluation' / 'report.html'}")
    say(f"\nThe run is in {folder} ({outcome.progress.step} steps, {outcome.progress.seconds / 60:.1f} minutes).")
    commands = _next_commands(folder, config.corpus.languages[0].example)
    say("Next:", *(f"  {command}" for command in commands))


class _Recipe(NamedTuple):
    name: str  # a file, or the name of a shipped recipe
    overrides: list[str]


def _choose_recipe(options: argparse.Namespace) -> _Recipe:
    """Return the recipe that the arguments name, or one that fits `--corpus`, which is written first.

    Raises InputError: there is neither a recipe nor a corpus.
    """
    if options.corpora:
        return _recipe_for_corpora(options)
    if options.config is None:
        raise InputError("no text is named: give a recipe (--config sample) or your corpus (--corpus my.en my.fa)")
    return _Recipe(name=options.config, overrides=options.overrides)


def _recipe_for_corpora(options: argparse.Namespace) -> _Recipe:
    """Return the recipe and the overrides for `--corpus`; without `--config`, choose and write a recipe."""
    from translator.config.loading import check_overrides
    from translator.corpus.sources import corpora_in_arguments, with_overrides
    from translator.recipes.corpus_recipe import as_overrides, find_recipe

    # With a recipe, `--corpus` only replaces the sources of the recipe.
    sources = corpora_in_arguments(options.corpora)
    if options.config is not None:
        return _Recipe(name=options.config, overrides=[*as_overrides(sources), *options.overrides])

    # The text is read before the recipe exists, so overrides of the sources have to apply here already.
    sources = with_overrides(sources, options.overrides)
    check_overrides([*as_overrides(sources), *options.overrides], "the recipe for the corpus")
    from translator.speed.device import choose_device
    from translator.training.launching import launched

    # A GPU allows a larger model, and the direction decides the languages, so both are needed before the recipe.
    overrides_by_key = dict(override.partition("=")[::2] for override in options.overrides)
    is_gpu = choose_device(overrides_by_key.get("run.device", "auto")).type != "cpu"
    direction = overrides_by_key.get("corpus.direction", "en-fa")
    file, lines = find_recipe(Path("runs"), sources, gpu=is_gpu, direction=direction, overrides=options.overrides)
    if not launched():
        say(*lines)
    return _Recipe(name=str(file), overrides=options.overrides)


def _program() -> str:
    """Return the command that starts this program; if make started this, `translator` may not be on PATH."""
    return sys.argv[0] if "MAKELEVEL" in os.environ else "translator"


def _next_commands(run: Path, example: str) -> tuple[str, ...]:
    """Return commands to try with a trained run; if make started this, use make, as `translator` may not be on PATH."""
    folder, sentence = shlex.quote(str(run)), f'"{example}"'
    # `make` sets this variable for its commands.
    if "MAKELEVEL" in os.environ:
        return (
            "make tensorboard",
            f"make serve RUN={folder}",
            f"make translate RUN={folder} TEXT={sentence}",
        )
    return (
        f"translator tensorboard {shlex.quote(str(run.parent)) if run.parent.name else folder}",
        f"translator serve --run {folder}",
        f"translator translate --run {folder} {sentence}",
    )
