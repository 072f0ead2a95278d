"""The verbs of a few lines: average, tensorboard, download, recipe, doctor."""

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Final

from translator.cli.arguments import chosen_run, say
from translator.config.loading import shipped_recipes
from translator.corpus.download import download_dataset
from translator.corpus.public_corpora import dataset_table, find_dataset
from translator.doctor import examine
from translator.errors import InputError, TranslatorError
from translator.run.logging import LOGGER
from translator.run.output_paths import write_output
from translator.run.signals import StopRequest
from translator.run.text import text_table, wrapped

_SCHEMA: Final = re.compile(r"(?<=^# yaml-language-server: \$schema=).*")
"""Where a recipe names the schema from which an editor completes and checks its keys."""
_COMMENT_LINE: Final = re.compile(r"^# (?!yaml-language)(.*)", re.MULTILINE)  # but not that with the schema


def average(options: argparse.Namespace, stop: StopRequest) -> None:
    """Average the weights of several checkpoints of a run."""
    run = chosen_run(options.run)
    from translator.checkpoint.averaging import average_run  # imports torch: only after the user's mistakes are told

    say(average_run(run, options.count, options.of))


def tensorboard(options: argparse.Namespace, stop: StopRequest) -> None:
    """Replace this process by TensorBoard, which is a program of its own."""
    # Without this check, TensorBoard would start and show an empty page.
    if not Path(options.folder).is_dir():
        raise InputError(f"{options.folder} is not a folder; name the folder that holds the runs, for example runs")
    program = [sys.executable, "-m", "tensorboard.main"]
    os.execv(sys.executable, [*program, "--logdir", options.folder, "--port", str(options.port)])


def download(options: argparse.Namespace, stop: StopRequest) -> None:
    """Download a public corpus, or list all."""
    if not options.dataset:
        say(dataset_table())
        return
    folder = Path(options.folder)
    path = download_dataset(options.dataset, folder)
    say(f"{path} is ready: {' '.join(find_dataset(options.dataset).arguments(folder))}")


def recipe(options: argparse.Namespace, stop: StopRequest) -> None:
    """List the shipped recipes, or print or copy one."""
    recipes = shipped_recipes()
    if options.name is None:
        for name, file in recipes.items():
            # A recipe begins with a comment that says what it is for.
            comments = _COMMENT_LINE.findall(file.read_text(encoding="utf-8"))
            say(name, *wrapped(comments[0]))
        return
    if options.name not in recipes:
        raise InputError(f"unknown recipe `{options.name}`; shipped recipes: {', '.join(recipes)}")
    file = recipes[options.name]
    text = file.read_text(encoding="utf-8")
    if options.output is None:
        say(text.rstrip("\n"))
        return

    output = Path(options.output)
    if output.exists():
        raise InputError(f"{output} exists; choose another file, or remove it first")
    output.parent.mkdir(parents=True, exist_ok=True)
    # The copy names the schema by its absolute path, so that an editor finds it wherever the copy is.
    write_output(output, _SCHEMA.sub(lambda schema: str((file.parent / schema[0]).resolve()), text))
    say(f"{output} is written. Next:", f"  translator train --config {output}")


def doctor(options: argparse.Namespace, stop: StopRequest) -> None:
    """Print what this machine has, and what training lacks."""
    LOGGER.info("examining this machine")
    findings = examine(Path.cwd())
    say(text_table(("", "what", "found"), findings, text_columns=3))
    # The exit code tells a script whether this machine can train.
    problems = [name for verdict, name, _ in findings if verdict == "wrong"]
    if problems:
        raise TranslatorError(f"training is impossible on this machine: {', '.join(problems)}; see the table above")
    say("", "Training works on this machine: translator train --config sample")
