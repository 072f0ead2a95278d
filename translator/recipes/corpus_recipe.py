"""Recipes for a user's corpus: settings chosen by its size and the device, written as commented YAML."""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import yaml

from translator.config import Config, SourceConfig, load_config, parse_config
from translator.config.loading import shipped_recipes
from translator.config.paths import absolute_path
from translator.corpus.prepare import prepare_corpus
from translator.corpus.reading import read_pairs
from translator.errors import ConfigError
from translator.run.storage import storage_errors, write_text
from translator.run.workers import processes_for
from translator.subword import VocabularySizeError, prepare_subword

_WORDS: Final = 10  # words of an average sentence, for measuring a corpus
_TUNED: Final = 100_000, 24, 3_650, 192
"""Sentences, minutes, updates and width, from the tuning of configs/cpu-small.yaml."""
_ON_GPU: Final = 1_000_000, 60_000
"""Sentences and updates of configs/mizan.yaml."""


Number = TypeVar("Number", int, float)


class Choice(NamedTuple):
    """A chosen setting, with the reason."""

    key: str
    value: int | float | str
    why: str


@dataclass(frozen=True)
class CorpusSize:
    """Counts of a raw corpus."""

    pairs: int
    words: int  # of the English side
    distinct_words: int  # of the side that has fewer

    @property
    def sentences(self) -> int:
        """The number of sentences of average length with as many words."""
        return max(1, self.words // _WORDS)


def measure(sources: Sequence[SourceConfig]) -> CorpusSize:
    """Return the counts of `sources`; raises CorpusError as `read_pairs` does."""
    pairs = english_words = 0
    distinct_english: set[str] = set()
    distinct_persian: set[str] = set()
    for source in sources:
        for pair in read_pairs(source):
            if pair.defect is not None:
                continue
            words = pair.source.lower().split(" ")
            distinct_english.update(words)
            distinct_persian.update(pair.target.split(" "))
            pairs += 1
            english_words += len(words)
    distinct_words = min(len(distinct_english), len(distinct_persian))
    return CorpusSize(pairs=pairs, words=english_words, distinct_words=distinct_words)


def choose(size: CorpusSize, *, gpu: bool) -> list[Choice]:
    """Return the settings that differ from the base recipe: mizan on a GPU, cpu-small otherwise.

    The figures for a CPU were tuned with a million words on two cores; those for other sizes are scaled from them.
    """
    n = size.sentences
    vocabulary = _below(n, {300: 400, 1000: 700, 4000: 1000, 20_000: 2000, 300_000: 4000}, 8000)
    # Uniform text has fewer pieces; the recipe for a GPU also needs 256 for bytes.
    vocabulary = min(vocabulary, max(456 if gpu else 200, size.distinct_words // 2))
    if gpu:
        sentences, of_all = _ON_GPU
        width, dropout = _below(n, {150_000: 256}, 512), _below(n, {150_000: 0.3}, 0.2)
        steps = min(of_all, max(2_000, 100 * round(of_all * n / sentences / 100)))
        own = [
            Choice("batching.tokens_per_batch", _below(n, {20_000: 8192}, 32_768), "enough updates in an epoch"),
            Choice("training.warmup_steps", min(4000, steps // 10), "a tenth of the updates, 4,000 at most"),
        ]
    else:
        sentences, of_all, tuned_steps, tuned_width = _TUNED
        width, share = _below(n, {20_000: 128, 150_000: 192}, 256), n / sentences
        dropout = _below(n, {10_000: 0.3, 40_000: 0.2, 300_000: 0.15}, 0.1)
        minutes = min(120, max(3, round(of_all * (share if share < 1 else share**0.5))))
        tokens = _below(n, {20_000: 2048}, 4096)
        steps = 10 * round(tuned_steps * minutes / of_all * tuned_width / width * 4096 / tokens / 10)
        own = [
            Choice("batching.tokens_per_batch", tokens, "enough updates in an epoch"),
            Choice("training.max_minutes", minutes, "24 for a million words; 3 at least, 120 at most"),
            Choice("training.warmup_steps", steps // 12, "a twelfth of the updates"),
            Choice("training.dropout_from", _below(n, {20_000: 0}, steps // 4), "late, unless the corpus is small"),
            Choice("training.checkpoint_every", steps // 28, "28 checkpoints in all"),
        ]
    return [
        Choice("subword.vocabulary_size", vocabulary, "small enough that each piece is frequent"),
        Choice("model.d_model", width, "fits the size of the corpus"),
        Choice("model.feed_forward", 4 * int(width), "four times the width"),
        Choice("model.dropout", dropout, "more for a smaller corpus"),
        Choice("training.max_steps", steps, "the schedule ends here, or at max_minutes"),
        Choice("training.validate_every", -(-steps // (30 if gpu else 7)), "30 times" if gpu else "seven times"),
        *own,
    ]


def _below(n: int, limits: Mapping[int, Number], otherwise: Number) -> Number:
    """Return the value of the first limit above `n`."""
    return next((value for limit, value in limits.items() if n < limit), otherwise)


def find_recipe(
    folder: Path,
    sources: Sequence[SourceConfig],
    *,
    gpu: bool,
    direction: str = "en-fa",
    overrides: Sequence[str] = (),
) -> tuple[Path, list[str]]:
    """Return the recipe FOLDER/NAME.yaml for `sources`, and lines that describe it; write it if it is missing.

    NAME ends in a number if a recipe for other files or the other direction, or a run folder without a recipe, has
    this name. A recipe is written after its corpus and its subword models are prepared, with `overrides`, so that it
    has a vocabulary size that suits the text.

    Raises CorpusError, SubwordError or ConfigError: the text, or an override, allows no recipe.
    """
    name = _name(sources)
    for number in itertools.count(1):
        file = folder / (f"{name}.yaml" if number == 1 else f"{name}-{number}.yaml")
        if file.exists():
            there = load_config(file).corpus
            if (_files(there.sources), there.direction) == (_files(sources), direction):
                advice = "delete it and its run folder to choose the settings again"
                return file, [f"{file} exists and is reused; {advice}"]
        elif not file.with_suffix("").exists():
            break

    # 1. Choose settings by the size of the text, and a vocabulary that the text of both sides allows.
    size = measure(sources)
    choices = choose(size, gpu=gpu)
    base = shipped_recipes()["mizan" if gpu else "cpu-small"].read_text(encoding="utf-8")
    text = _recipe_text(base, file, sources, direction, size, choices)
    suitable = _suitable_vocabulary(parse_config(text, str(file), overrides), choices)
    if suitable:
        choices = [*suitable, *(choice for choice in choices if choice.key != "subword.vocabulary_size")]
        text = _recipe_text(base, file, sources, direction, size, choices)

    # 2. Write the recipe.
    parse_config(text, str(file))
    if file.exists():
        raise ConfigError(f"another program has written {file} meanwhile; run the same command again")
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_text(file, text)

    # 3. Describe it.
    described = f"{size.pairs:,} pairs, {size.words / size.pairs:.1f} English words each"
    rows = [f"  {key:<26} {value:>6}   {why}" for key, value, why in choices]
    minutes = next((choice.value for choice in choices if choice.key == "training.max_minutes"), None)
    time = "on a GPU: not measured" if minutes is None else f"at most {minutes} minutes of training, then evaluation"
    return file, [f"{file}: a recipe for {described}", *rows, f"  time: {time}", ""]


def _suitable_vocabulary(config: Config, choices: Sequence[Choice]) -> list[Choice]:
    """Prepare the subword models; return other choices if the text does not allow the chosen vocabulary size."""
    corpus = prepare_corpus(config.corpus, config.evaluation.test_sources)
    corpus = replace(corpus, languages=config.corpus.languages)
    workers = processes_for(config.corpus.workers, corpus.training_bytes())
    try:
        prepare_subword(config.subword, corpus, Path(config.corpus.prepared_directory), workers)
    except VocabularySizeError as error:
        chosen = next(choice.value for choice in choices if choice.key == "subword.vocabulary_size")
        if config.subword.vocabulary_size != chosen:  # an override
            raise
        suitable = [
            Choice("subword.vocabulary_size", error.suitable["vocabulary_size"], "suits the text of both sides")
        ]
        if "joint" in error.suitable:
            suitable.append(Choice("subword.joint", "true", "one side has too little text for a model of its own"))
        return suitable
    return []


def _recipe_text(
    base: str,
    file: Path,
    sources: Sequence[SourceConfig],
    direction: str,
    size: CorpusSize,
    choices: Sequence[Choice],
) -> str:
    """Return `base` with its corpus, its run folder and the chosen settings replaced, each with its comment."""
    section = {"corpus": {"direction": direction, "sources": _described(sources)}}
    corpus = yaml.safe_dump(section, allow_unicode=True, sort_keys=False, width=1000)
    base = base[base.index("\nrun:") :]
    if direction == "fa-en":  # these change the English source
        base = re.sub(r"^    (typos|final_punctuation): .*\n", "", base, flags=re.MULTILINE)
    base = re.sub(r"^corpus:\n(?:[ #].*\n)+", lambda _: corpus, base, count=1, flags=re.MULTILINE)
    directory = Choice("run.directory", json.dumps(str(file.with_suffix("")), ensure_ascii=False), "run folder")
    for key, value, why in (directory, *choices):
        before, head, rest = base.partition(f"\n{key.partition('.')[0]}:")
        setting = f"  {key.partition('.')[2]}: "
        line = f"{setting}{value:<15} # {why}".replace("\\", r"\\")
        written = re.sub(rf"^{setting}.*", line, rest, count=1, flags=re.MULTILINE)
        base = before + head + written
    return (
        f"# Chosen for a corpus of {size.pairs:,} pairs. Edit it as needed, and train with:\n"
        f"#   translator train --config {file}\n{base}"
    )


def as_overrides(sources: Sequence[SourceConfig]) -> list[str]:
    """Return the overrides that put `sources` into a recipe, with a run folder of their name."""
    return [
        f"corpus.sources={json.dumps(_described(sources), ensure_ascii=False)}",
        f"run.directory=runs/{_name(sources)}",
    ]


def _files(sources: Sequence[SourceConfig]) -> list[tuple[str, ...]]:
    paths = ((one.path, one.source_path, one.target_path) for one in sources)
    return [tuple(absolute_path(path) for path in of_one if path is not None) for of_one in paths]


def _described(sources: Sequence[SourceConfig]) -> list[dict[str, str]]:
    return [source.model_dump(mode="json", exclude_defaults=True) for source in sources]


def _name(sources: Sequence[SourceConfig]) -> str:
    return "+".join(source.name for source in sources)[:80]
