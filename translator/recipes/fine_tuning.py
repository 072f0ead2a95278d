"""Fine-tuning: a run continues on new text mixed with its own, so that it learns the one and keeps the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from translator.config import Config, SourceConfig
from translator.corpus.derived import inherited_sources, training_weights
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.errors import InputError
from translator.recipes.corpus_recipe import CorpusSize
from translator.recipes.derived_recipe import derived_config, text_folder
from translator.recipes.settings import shipped_settings
from translator.run.folder import RunFolder

LARGEST_REPLAY: Final = 0.99  # share of the training text: the updates grow with 1 / (1 - share)
_FEWEST_UPDATES: Final = 900
_LARGEST_BATCH: Final = 2048  # tokens: in the same time, small batches gain more
_PASSES: Final = 3  # over the new text, but at least `_FEWEST_UPDATES` updates
_REPLAYED_PAIRS: Final = 50_000  # or all if fewer; more if the new text has more: preparing all takes minutes
_MOST_TESTED: Final = 500  # pairs held out for testing, of all new corpora together
_TOKENS_A_WORD: Final = 1.5
_LEARNING_RATE_DIVISOR: Final = 3
_VALIDATIONS: Final = 6


class HeldOut(NamedTuple):
    """Pairs of each new corpus that are not trained on."""

    validation: int  # they only choose the checkpoint
    test: int


class Replay(NamedTuple):
    """How the text of the parent run is drawn again, by the names of its sources."""

    weights: Mapping[str, float]
    spacing: Mapping[str, float]  # one training pair in so many is copied
    folder: Path  # of the copies

    @property
    def files(self) -> list[Path]:
        """The copies."""
        return [self.folder / f"{name}.{side}" for name in self.weights for side in ("en", "fa")]


@dataclass(frozen=True)
class FineTuningPlan:
    """All that decides a fine-tuned run."""

    config: Config
    new_pairs: int
    updates: int  # unless the user sets another number
    held_out: HeldOut
    replay: Replay


def plan_fine_tuning(
    parent: RunFolder,
    corpus: PreparedCorpus,
    new_sources: Sequence[SourceConfig],
    sizes: Sequence[CorpusSize],
    folder: Path,
    *,
    replay_share: float,
    recipe: str,
    overrides: Sequence[str],
) -> FineTuningPlan:
    """Return the plan of a run that continues `parent` on new text.

    Args:
        parent: the trained run.
        corpus: its prepared text.
        new_sources: the new text, under names that `parent` does not use.
        sizes: one for each new source.
        folder: the folder of the new run.
        replay_share: share of the training pairs drawn from the text of `parent`; at most `LARGEST_REPLAY`.
        recipe: decides training and dropout.
        overrides: the user's settings, as KEY.PATH=VALUE.

    Raises:
        InputError: the new text has no pairs.
        ConfigError: the recipe or an override is wrong.
    """
    parent_config = parent.config()
    new_pairs = sum(size.pairs for size in sizes)
    if new_pairs == 0:
        raise InputError("the new text has no sentence pairs; give files with one sentence per line")

    # 1. Hold out text of each new corpus. Old and new text have equal shares of the validation text, so that the best
    # checkpoint suits both.
    held_out = _held_out(sizes)
    old_names = corpus.names("validation")
    old_validation_pairs = max(1, held_out.validation // max(1, len(old_names)))
    old_validation = inherited_sources(corpus, "validation", max_pairs=old_validation_pairs)

    # 2. Replay old text.
    trained_pairs = new_pairs - (held_out.validation + held_out.test) * len(new_sources)
    replay = _replay(parent_config, corpus, new_pairs, trained_pairs, replay_share, text_folder(folder))
    replayed: list[SourceConfig] = []
    if replay.weights:
        replayed = inherited_sources(corpus, "train", replay.weights.__getitem__, folder=replay.folder)

    # 3. Train as many updates as the new text needs.
    batch = min(parent_config.batching.tokens_per_batch, max(_LARGEST_BATCH, parent_config.batching.max_length))
    words = sum(size.words for size in sizes)
    new_tokens_an_update = batch * parent_config.training.accumulation_steps * (1 - replay_share)
    updates = max(_FEWEST_UPDATES, round(_PASSES * _TOKENS_A_WORD * words / new_tokens_an_update))
    changes = {
        **_recipe_settings(recipe),
        "training.learning_rate": parent_config.training.learning_rate / _LEARNING_RATE_DIVISOR,
        "training.max_steps": updates,
        "training.validate_every": -(-updates // _VALIDATIONS),
        "training.checkpoint_every": -(-updates // _VALIDATIONS),
        "training.initialize_from": str(parent.path.resolve()),
        "subword.models_from": str(parent.path.resolve()),
        "training.validation_sentences": max(1, min(50, 2 * held_out.validation)),
        "corpus.split.validation": held_out.validation,
        "corpus.split.test": held_out.test,
        "batching.tokens_per_batch": batch,
        "batching.temperature": 1.0,
    }
    sources = [*new_sources, *replayed, *old_validation, *inherited_sources(corpus, "test")]
    return FineTuningPlan(
        config=derived_config(parent, folder, sources, changes, overrides),
        new_pairs=new_pairs,
        updates=updates,
        held_out=held_out,
        replay=replay,
    )


def _held_out(sizes: Sequence[CorpusSize]) -> HeldOut:
    """Return a tenth of the smallest new corpus for testing, and half as much for validation."""
    smallest = min(size.pairs for size in sizes)
    test = min(_MOST_TESTED // len(sizes), smallest // 10)
    return HeldOut(validation=(test + 1) // 2, test=test)


def _replay(
    parent_config: Config,
    corpus: PreparedCorpus,
    new_pairs: int,
    trained_pairs: int,
    share: float,
    folder: Path,
) -> Replay:
    """Return how old text is drawn: in proportion to weight × pairs, while the new text has weight 1."""
    folder = folder / corpus.fingerprint
    if share == 0:
        return Replay(weights={}, spacing={}, folder=folder)
    weight = training_weights(parent_config)
    names = corpus.names("train")
    mass = sum(weight(name) * corpus.count("train", name) for name in names)
    factor = share / (1 - share) * trained_pairs / mass
    copied_pairs = max(_REPLAYED_PAIRS, new_pairs)
    weights: dict[str, float] = {}
    spacing: dict[str, float] = {}
    for name in names:
        # Each copied pair stands for `spacing` pairs, so its weight is as many times as large.
        spacing[name] = max(1.0, mass / (weight(name) * copied_pairs))
        weights[name] = factor * weight(name) * spacing[name]
    return Replay(weights=weights, spacing=spacing, folder=folder)


def _recipe_settings(recipe: str) -> dict[str, Any]:
    """Return the training settings and the dropout of a recipe."""
    values = shipped_settings(recipe, "training")
    # The placeholders come with the subword models of the run, and so does the share of pairs that teaches to copy.
    values.pop("training.augmentation.copies", None)
    for key, value in shipped_settings(recipe, "model").items():
        if key.endswith("dropout"):
            values[key] = value
    return values
