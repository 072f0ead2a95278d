"""The verb fine-tune: continue a run on new text mixed with its own."""

import argparse
import shlex
from typing import Final

from translator.cli.arguments import say
from translator.cli.deriving import compare_runs, open_trained_run
from translator.cli.training import train_recipe
from translator.corpus.derived import corpus_of_run, test_set_arguments
from translator.corpus.normalizer.normalizer_file import rules_of_run
from translator.corpus.sources import corpora_in_arguments, with_overrides
from translator.errors import InputError
from translator.recipes.corpus_recipe import measure
from translator.recipes.derived_recipe import derived_folder, free_name, names_of
from translator.recipes.fine_tuning import LARGEST_REPLAY, write_fine_tuning
from translator.run.folder import RunFolder
from translator.run.signals import StopRequest

_LONGEST_NAME: Final = 60  # characters of the names of the new text, in the name of the new run


def fine_tune(options: argparse.Namespace, stop: StopRequest) -> None:
    """Continue the training of a run on new text, and compare both models."""
    # 1. Read the run and the new text, which gets names that the run does not have yet.
    if not 0 <= options.replay <= LARGEST_REPLAY:
        raise InputError(f"--replay {options.replay}: the share must be at least 0 and at most {LARGEST_REPLAY}")
    sources = with_overrides(corpora_in_arguments(options.corpora), options.overrides)
    parent = open_trained_run(options.run)
    taken_names = names_of(parent.config())
    sources = [source.model_copy(update={"name": free_name(source.name, taken_names)}) for source in sources]
    names = "+".join(source.name for source in sources)[:_LONGEST_NAME]
    folder = derived_folder(options.output or f"{parent.path}-{names}", parent)
    corpus = corpus_of_run(parent.config(), rules_of_run(parent))
    sizes = [measure([source]) for source in sources]

    # 2. Write the recipe and the old text, and train.
    recipe, lines = write_fine_tuning(
        parent,
        corpus,
        sources,
        sizes,
        folder,
        replay_share=options.replay,
        recipe=options.recipe,
        overrides=options.overrides,
    )
    say(*lines, "", f"translator train --config {shlex.quote(str(recipe))}", "")
    train_recipe(str(recipe), (), stop)

    # 3. Compare both models on old and new test text.
    tuned = RunFolder.open(folder)
    compare_runs(parent.path, folder, test_set_arguments(corpus_of_run(tuned.config(), rules_of_run(tuned))))
    example = parent.config().corpus.languages[0].example
    say("", "Next:", f'  translator translate --run {shlex.quote(str(folder))} "{example}"')
