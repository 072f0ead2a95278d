"""Recipes for a user's corpus: settings chosen by its size and the device, written with their reasons."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from translator.config import SourceConfig, load_config
from translator.config.loading import config_of
from translator.config.paths import absolute_path
from translator.corpus.reading.pairs import read_pairs
from translator.errors import CorpusError
from translator.recipes.recipe_text import Choice, put_settings, recipe_text, recipe_values, source_values
from translator.run.files import write_text
from translator.run.logging import progress_bar

_WORDS_IN_SENTENCE: Final = 10  # on average, for measuring a corpus

# The settings of configs/cpu-small.yaml, and the size of the corpus with which they were tuned.
_CPU_SENTENCES: Final = 100_000
_CPU_MINUTES: Final = 24
_CPU_UPDATES: Final = 3_650
_CPU_WIDTH: Final = 192
_CPU_TOKENS: Final = 4096  # of a batch

# The same of configs/mizan.yaml.
_GPU_SENTENCES: Final = 1_000_000
_GPU_UPDATES: Final = 60_000

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class CorpusSize:
    """Counts of a raw corpus."""

    pairs: int
    words: int  # of the English side

    @property
    def sentences(self) -> int:
        """The number of sentences of average length with as many words."""
        return max(1, self.words // _WORDS_IN_SENTENCE)


def measure(sources: Sequence[SourceConfig]) -> CorpusSize:
    """Return the counts of `sources`; raises CorpusError as `read_pairs` does."""
    pairs = words = 0
    for source in sources:
        for pair in progress_bar(read_pairs(source), description=f"measuring {source.name}", unit="pairs"):
            if pair.defect is None:
                pairs += 1
                words += len(pair.source.split(" "))
    return CorpusSize(pairs=pairs, words=words)


def _choices_for_gpu(sentences: int) -> list[Choice]:
    """Return the settings that differ from the recipe mizan."""
    # Updates in proportion to the corpus, rounded to hundreds.
    updates = 100 * round(_GPU_UPDATES * sentences / _GPU_SENTENCES / 100)
    updates = min(_GPU_UPDATES, max(2_000, updates))
    tokens = _by_size(sentences, {20_000: 8192}, 32_768)
    return [
        *_model_choices(
            sentences,
            width=_by_size(sentences, {150_000: 256}, 512),
            dropout=_by_size(sentences, {150_000: 0.3}, 0.2),
        ),
        Choice("training.max_steps", updates, "the schedule ends here, or at max_minutes"),
        Choice("training.validate_every", -(-updates // 30), "30 times"),  # rounded up
        Choice("batching.tokens_per_batch", tokens, "enough updates in an epoch"),
        Choice("training.warmup_steps", min(4000, updates // 10), "a tenth of the updates, 4,000 at most"),
    ]


def _choices_for_cpu(sentences: int) -> list[Choice]:
    """Return the settings that differ from cpu-small, which was tuned with a million words on two cores."""
    width = _by_size(sentences, {20_000: 128, 150_000: 192}, 256)
    tokens = _by_size(sentences, {20_000: 2048}, 4096)

    # A small corpus overfits in a long training, and a large one gains less from each extra minute.
    relative_size = sentences / _CPU_SENTENCES
    minutes = round(_CPU_MINUTES * (relative_size if relative_size < 1 else relative_size**0.5))
    minutes = min(120, max(3, minutes))

    # As many updates as fit into the minutes: the time of an update is proportional to width × tokens.
    updates_in_time = _CPU_UPDATES * (minutes / _CPU_MINUTES) * (_CPU_WIDTH / width) * (_CPU_TOKENS / tokens)
    updates = 10 * round(updates_in_time / 10)
    dropout_from = _by_size(sentences, {20_000: 0}, updates // 2)
    return [
        *_model_choices(
            sentences,
            width=width,
            dropout=_by_size(sentences, {10_000: 0.3, 40_000: 0.2}, 0.1),
        ),
        Choice("training.max_steps", updates, "the schedule ends here, or at max_minutes"),
        Choice("training.validate_every", -(-updates // 7), "seven times"),  # rounded up
        Choice("batching.tokens_per_batch", tokens, "enough updates in an epoch"),
        Choice("training.max_minutes", minutes, "24 for a million words; 3 at least, 120 at most"),
        Choice("training.warmup_steps", updates // 12, "a twelfth of the updates"),
        Choice("training.dropout_from", dropout_from, "late, unless the corpus is small"),
        Choice("training.checkpoint_every", updates // 28, "28 checkpoints in all"),
    ]


def _model_choices(sentences: int, width: int, dropout: float) -> list[Choice]:
    vocabulary = _by_size(sentences, {300: 400, 1000: 700, 4000: 1000, 20_000: 2000, 60_000: 4000}, 8000)
    return [
        Choice("subword.vocabulary_size", vocabulary, "small enough that each piece is frequent"),
        Choice("model.d_model", width, "fits the size of the corpus"),
        Choice("model.feed_forward", 4 * width, "four times the width"),
        Choice("model.dropout", dropout, "more for a smaller corpus"),
    ]


def _by_size(sentences: int, limits: Mapping[int, Number], otherwise: Number) -> Number:
    """Return the value of the first limit above `sentences`; if no limit is, `otherwise`."""
    for limit, value in limits.items():
        if sentences < limit:
            return value
    return otherwise


def plan_settings(
    file: Path, sources: Sequence[SourceConfig], size: CorpusSize, *, gpu: bool, direction: str = "en-fa"
) -> tuple[dict[str, Any], list[Choice]]:
    """Return the settings of a recipe for a corpus, by section, and those among them that were chosen for it.

    Args:
        file: where the recipe will be written; its run folder has the same name without an ending.
        sources: the corpus.
        size: that of all sources together.
        gpu: whether the run trains on a GPU.
        direction: `en-fa` or `fa-en`.
    """
    values = recipe_values("mizan" if gpu else "cpu-small")
    # Several corpora differ in style, so the model learns the style of each.
    if len(sources) > 1:
        sources = [source.model_copy(update={"tag": True}) for source in sources]
    values["corpus"] = {"direction": direction, "sources": source_values(sources)}
    choices = _choices_for_gpu(size.sentences) if gpu else _choices_for_cpu(size.sentences)
    if direction == "fa-en":
        choices += leave_english_alone()
    put_settings(values, [Choice("run.directory", str(file.with_suffix("")), ""), *choices])
    return values, choices


def leave_english_alone() -> list[Choice]:
    """Return the choices for a run that reads Persian: augmentation that changes English input is off."""
    kinds = ("typos", "final_punctuation")
    return [Choice(f"training.augmentation.{kind}", 0.0, "changes English input only") for kind in kinds]


def find_recipe(
    folder: Path,
    sources: Sequence[SourceConfig],
    *,
    gpu: bool,
    direction: str = "en-fa",
    overrides: Sequence[str] = (),
) -> tuple[Path, str]:
    """Return the recipe FOLDER/NAME.yaml for `sources`, and a line that describes it; write it if it is missing.

    NAME ends in a number if a recipe for other files or the other direction, or a run folder without a recipe, has
    this name.

    Raises CorpusError or ConfigError: the text, or one of the `overrides`, allows no recipe.
    """
    # 1. Return the recipe of an earlier call, or find a free name.
    name = _name(sources)
    for number in itertools.count(1):
        file = folder / (f"{name}.yaml" if number == 1 else f"{name}-{number}.yaml")
        if file.exists():
            existing = load_config(file).corpus
            has_same_files = _files(existing.sources) == _files(sources)
            if has_same_files and existing.direction == direction:
                advice = "delete it and its run folder to choose the settings again"
                return file, f"{file} exists and is reused; {advice}"
        elif not file.with_suffix("").exists():  # the name is free: no recipe, and no run folder
            break

    # 2. Choose settings by the size of the text.
    size = measure(sources)
    if size.pairs == 0:
        raise CorpusError(
            f"{name}: no pair can be used; check the files, and the settings of `--set` that choose pairs"
        )
    values, choices = plan_settings(file, sources, size, gpu=gpu, direction=direction)
    config_of(values, str(file), overrides)  # raises ConfigError for an override that does not fit, before writing

    # 3. Write the recipe.
    title = (
        f"Chosen for a corpus of {size.pairs:,} pairs. Edit it as needed, and train with:\n"
        f"  translator train --config {file}\n"
        f"A comment tells why a setting was chosen; the others are those of `translator recipe "
        f"{'mizan' if gpu else 'cpu-small'}`, which explains them."
    )
    write_text(file, recipe_text(title, values, choices))
    minutes = values["training"].get("max_minutes")
    time = "not measured on a GPU" if gpu else f"at most {minutes} minutes of training, then evaluation"
    words = size.words / size.pairs
    return file, f"{file}: a recipe for {size.pairs:,} pairs, {words:.1f} English words each; time: {time}"


def as_overrides(sources: Sequence[SourceConfig]) -> list[str]:
    """Return the overrides that put `sources` into a recipe, with a run folder of their name."""
    return [
        f"corpus.sources={json.dumps(source_values(sources), ensure_ascii=False)}",
        f"run.directory=runs/{_name(sources)}",
    ]


def _files(sources: Sequence[SourceConfig]) -> list[tuple[str, ...]]:
    """Return the absolute paths of each source."""
    files = []
    for source in sources:
        paths = (source.path, source.source_path, source.target_path)
        files.append(tuple(absolute_path(path) for path in paths if path is not None))
    return files


def _name(sources: Sequence[SourceConfig]) -> str:
    return "+".join(source.name for source in sources)[:80]
