"""The verb fine-tune: continue a run on new text mixed with its own."""

import argparse
import shlex
from typing import TYPE_CHECKING, Final

from translator.cli.arguments import PARENT_RUN, SET, option, place, say, verb
from translator.cli.deriving import compare_runs, open_trained_run, run_verb
from translator.cli.training import train
from translator.errors import InputError
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from translator.config import Config, SourceConfig

_CORPUS: Final = "the new text, in any form that `translator train --corpus` accepts; repeat it for several corpora"
_LONGEST_NAME: Final = 60  # characters of the names of the new text, in the name of the new run


@verb(
    "fine-tune",
    "continue training a run on your text mixed with its own, and compare both models on old and new test text",
    PARENT_RUN,
    option("--corpus PATH", _CORPUS, dest="corpora", action="append", nargs="+", type=place, required=True),
    option("--replay SHARE", "share of pairs from the run's own text (default: 0.8)", type=float, default=0.8),
    option(
        "--recipe NAME",
        "recipe for `training` and dropout; steps and learning rate are computed (default: fine-tune)",
        type=place,
        default="fine-tune",
    ),
    option("--output FOLDER", "folder of the new run (default: RUN-NAME, with the name of the text)", type=place),
    SET,
    examples=("translator fine-tune --run runs/mizan --corpus my.en my.fa",),
)
def _fine_tune(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.corpus.derived import corpus_of_run, test_set_arguments, write_sample
    from translator.corpus.normalizer_file import rules_of_run
    from translator.corpus.sources import corpora_in_arguments, source_files, with_overrides
    from translator.recipes.corpus_recipe import measure
    from translator.recipes.derived_recipe import derived_folder, recipe_file, text_folder, write_derived
    from translator.recipes.fine_tuning import LARGEST_REPLAY, plan_fine_tuning
    from translator.run.folder import RunFolder
    from translator.run.made_files import filled_folder

    # 1. Read the run and the new text.
    if not 0 <= options.replay <= LARGEST_REPLAY:
        raise InputError(f"--replay {options.replay}: the share must be at least 0 and at most {LARGEST_REPLAY}")
    sources = with_overrides(corpora_in_arguments(options.corpora), options.overrides)
    parent = open_trained_run(options.run)
    sources = _with_free_names(sources, parent.config)
    names = "+".join(source.name for source in sources)[:_LONGEST_NAME]
    folder = derived_folder(options.output or f"{parent.folder.path}-{names}", parent.folder)
    corpus = corpus_of_run(parent.config, rules_of_run(parent.folder))
    sizes = [measure([source]) for source in sources]

    # 2. Decide.
    plan = plan_fine_tuning(
        parent.folder,
        corpus,
        sources,
        sizes,
        folder,
        replay_share=options.replay,
        recipe=options.recipe,
        overrides=options.overrides,
    )

    # 3. Write the recipe and the old text, train, and compare.
    inputs = []
    for source in sources:
        inputs += source_files(source)
    recipe = recipe_file(folder)
    with filled_folder(text_folder(folder), inputs, plan.replay.files) as made_files:
        say(write_derived(parent.folder, recipe, plan.config))
        updates = f"{plan.updates:,} updates unless --set changes that"
        say(f"  {plan.new_pairs:,} new pairs and {options.replay:.0%} old text; {updates}")
        write_sample(corpus, plan.replay.spacing, plan.replay.folder, made_files)
        held_out_pairs = f"{plan.held_out.validation:,} pairs for validation, {plan.held_out.test:,} for testing"
        say(f"  held out of each new corpus: {held_out_pairs}")
        run_verb(train, ["--config", str(recipe)], stop)
        tuned = RunFolder.open(folder)
        test_sets = test_set_arguments(corpus_of_run(tuned.config(), rules_of_run(tuned)))
        compare_runs(parent.folder.path, folder, test_sets)
    example = parent.config.corpus.languages[0].example
    say("", "Next:", f'  translator translate --run {shlex.quote(str(folder))} "{example}"')


def _with_free_names(sources: "list[SourceConfig]", config: "Config") -> "list[SourceConfig]":
    """Return the new corpora with names that the run does not have yet."""
    from translator.recipes.derived_recipe import free_name, names_of

    taken_names = names_of(config)
    return [source.model_copy(update={"name": free_name(source.name, taken_names)}) for source in sources]
