"""Fine-tuning: a run continues on new text mixed with its own, so that it learns the one and keeps the other."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from translator.config import SourceConfig
from translator.corpus.derived import inherited_sources, training_weights, write_sample
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.errors import InputError
from translator.recipes.corpus_recipe import CorpusSize
from translator.recipes.derived_recipe import derive
from translator.recipes.recipe_text import Choice, recipe_values
from translator.recipes.text_folder import text_folder
from translator.run.folder import RunFolder

LARGEST_REPLAY: Final = 0.99  # share of the training pairs; the number of updates grows with 1 / (1 - share)
_FEWEST_UPDATES: Final = 900
_LARGEST_BATCH: Final = 2048  # tokens: in the same time, small batches gain more
_PASSES: Final = 3  # over the new text, but at least `_FEWEST_UPDATES` updates
_REPLAYED_PAIRS: Final = 50_000  # or as many as the new text has, if more; to prepare all pairs may take minutes
_MOST_TESTED: Final = 500  # pairs held out for testing, of all new corpora together
_TOKENS_A_WORD: Final = 1.5
_LEARNING_RATE_DIVISOR: Final = 3
_VALIDATIONS: Final = 6


def write_fine_tuning(
    parent: RunFolder,
    corpus: PreparedCorpus,
    new_sources: Sequence[SourceConfig],
    sizes: Sequence[CorpusSize],
    folder: Path,
    *,
    replay_share: float,
    recipe: str,
    overrides: Sequence[str],
) -> tuple[Path, list[str]]:
    """Write the recipe of a run that continues `parent` on new text, and the old text that it replays.

    Args:
        parent: the trained run.
        corpus: its prepared text.
        new_sources: the new text, under names that `parent` does not use.
        sizes: one for each new source.
        folder: the folder of the new run; the old text stands beside it, in FOLDER.text.
        replay_share: share of the training pairs drawn from the text of `parent`; at most `LARGEST_REPLAY`.
        recipe: decides training and dropout.
        overrides: the user's settings, as KEY.PATH=VALUE.

    Returns the recipe, and lines that describe it.

    Raises:
        InputError: the new text has no pairs, or a file in FOLDER.text was not made by this command.
        ConfigError: the recipe or an override is wrong.
    """
    new_pairs = sum(size.pairs for size in sizes)
    if new_pairs == 0:
        raise InputError("the new text has no sentence pairs; give files with one sentence per line")

    # 1. Hold out text of each new corpus. The old text gets as many validation pairs as a new corpus, so that the best
    # checkpoint suits both.
    validation, test = held_out_pairs(sizes)
    old_names = corpus.names("validation")
    pairs_of_each = max(1, validation // max(1, len(old_names)))
    old_validation = inherited_sources(corpus, "validation", max_pairs=pairs_of_each)

    # 2. Replay old text. A source is drawn in proportion to its mass, which is its weight × its pairs. The new text has
    # weight 1, so its mass is `trained_pairs`. `factor` multiplies all old weights, to give the old text its share:
    # factor × old mass / (factor × old mass + trained pairs) = replay share.
    replay_folder = folder.with_name(f"{folder.name}.text")
    trained_pairs = new_pairs - (validation + test) * len(new_sources)
    spacing: dict[str, float] = {}  # by source
    weights: dict[str, float] = {}  # by source
    if replay_share > 0:
        old_weights = training_weights(parent.config())
        names = corpus.names("train")
        old_mass = sum(old_weights[name] * corpus.count("train", name) for name in names)
        factor = replay_share / (1 - replay_share) * trained_pairs / old_mass
        copied_pairs = max(_REPLAYED_PAIRS, new_pairs)
        for name in names:
            # Of each source, one pair in `spacing` is copied: about `copied_pairs` in all, shared out by mass. A copied
            # pair stands for `spacing` pairs, so its weight is as many times as large.
            spacing[name] = max(1.0, old_mass / (old_weights[name] * copied_pairs))
            weights[name] = factor * old_weights[name] * spacing[name]
    replayed = inherited_sources(corpus, "train", weights, folder=replay_folder) if weights else []

    # 3. Write the recipe, and then the text that it names.
    changes = fine_tuning_changes(parent, sizes, replay_share, recipe)
    sources = [*new_sources, *replayed, *old_validation, *inherited_sources(corpus, "test")]
    file, line = derive(parent, folder, sources, changes, overrides)
    if spacing:
        with text_folder(replay_folder, [f"{name}.{side}" for name in spacing for side in corpus.sides]):
            write_sample(corpus, spacing, replay_folder)
    updates = {choice.key: choice.value for choice in changes}["training.max_steps"]
    return file, [
        line,
        f"  {new_pairs:,} new pairs and {replay_share:.0%} old text; {updates:,} updates unless --set changes that",
        f"  held out of each new corpus: {validation:,} pairs for validation, {test:,} for testing",
    ]


def held_out_pairs(sizes: Sequence[CorpusSize]) -> tuple[int, int]:
    """Return how many pairs of each new corpus choose the checkpoint, and how many test it; none is trained on.

    A tenth of the smallest corpus is for testing, and half as much for validation.
    """
    smallest = min(size.pairs for size in sizes)
    test = min(_MOST_TESTED // len(sizes), smallest // 10)
    return (test + 1) // 2, test


def fine_tuning_changes(
    parent: RunFolder, sizes: Sequence[CorpusSize], replay_share: float, recipe: str
) -> list[Choice]:
    """Return the settings in which a fine-tuned run differs from `parent`; `write_fine_tuning` has the arguments."""
    config = parent.config()
    validation, test = held_out_pairs(sizes)

    # A batch must hold at least one row of `max_length`.
    tokens_per_batch = min(config.batching.tokens_per_batch, max(_LARGEST_BATCH, config.batching.max_length))
    # As many updates as `_PASSES` over the new text need.
    words = sum(size.words for size in sizes)
    new_tokens_an_update = tokens_per_batch * config.training.accumulation_steps * (1 - replay_share)
    updates = max(_FEWEST_UPDATES, round(_PASSES * _TOKENS_A_WORD * words / new_tokens_an_update))
    interval = -(-updates // _VALIDATIONS)  # rounded up
    recipe_rate = recipe_values(recipe).get("training", {}).get("learning_rate", math.inf)
    rate = min(config.training.learning_rate / _LEARNING_RATE_DIVISOR, recipe_rate)
    start = str(parent.path.resolve())
    return [
        *_changes_of_recipe(recipe),
        Choice("training.initialize_from", start, "the weights to start from"),
        Choice("training.learning_rate", rate, f"a third of the run's, at most that of {recipe}"),
        Choice("training.max_steps", updates, f"{_PASSES} passes over the new text, {_FEWEST_UPDATES} at least"),
        Choice("training.validate_every", interval, f"{_VALIDATIONS} times"),
        Choice("training.checkpoint_every", interval, "with each validation"),
        Choice("training.validation_sentences", max(1, min(50, 2 * validation)), "half new, half old"),
        Choice("subword.models_from", start, "so that no embedding starts afresh"),
        Choice("corpus.split.validation", validation, "of each new corpus"),
        Choice("corpus.split.test", test, "of each new corpus"),
        Choice("batching.tokens_per_batch", tokens_per_batch, "small batches learn more in the same time"),
        Choice("batching.temperature", 1.0, "the weights say how often a source is drawn"),
    ]


def _changes_of_recipe(recipe: str) -> list[Choice]:
    """Return the training settings and the dropout of a recipe."""
    values = recipe_values(recipe)
    training = {f"training.{key}": value for key, value in values.get("training", {}).items()}
    # `copies` teaches the placeholders of the subword models. These models are the run's, so its `copies` stays too.
    for kind, share in training.pop("training.augmentation", {}).items():
        if kind != "copies":
            training[f"training.augmentation.{kind}"] = share
    model = values.get("model", {})
    dropout = {f"model.{key}": value for key, value in model.items() if key.endswith("dropout")}
    return [Choice(key, value, f"as in {recipe}") for key, value in {**training, **dropout}.items()]
