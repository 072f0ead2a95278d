"""Preparation at scale: seconds of each stage and peak memory for corpora of several sizes, each in a new process."""

import contextlib
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

from bench.options import Options
from bench.processes import family, memory_of
from translator.config import Config, SourceConfig, SubwordConfig
from translator.corpus.reading.pairs import read_pairs
from translator.errors import ConfigError, CorpusError
from translator.run.logging import STAGES
from translator.run.text import text_table
from translator.run.workers import WorkerPool

SIZES: Final = ("1000000", "4000000")
SHARED: Final = Path("../shared/data")
LAYOUTS: Final = ("mizan.zip", "tatoeba.zip", "bible.en-fa.zip", "quran.en-fa.zip", "docs.tsv.gz")
BLOCK: Final = 512  # consecutive lines that stay together, as in a book
POLL: Final = 0.1  # seconds between two measurements of memory


def bench(options: Options) -> Iterator[str]:
    """Yield a table on preparing corpora of several sizes with the settings of a recipe.

    Raises:
        ConfigError: the recipe is invalid, or a size is not a number.
        CorpusError: the real corpora are missing.
    """
    config = options.load("configs/sample.yaml")
    rows = []
    stages: dict[str, float] = {}
    for size in options.only or SIZES:
        if not size.isdigit():
            raise ConfigError(f"`--only {size}` is no number of pairs")
        pairs = int(size)
        with tempfile.TemporaryDirectory() as folder:
            write_corpus(Path(folder) / "large.tsv", pairs)
            began = time.perf_counter()
            kept_pairs, stages, peak = _measure(_recipe(config, Path(folder)))
            stages["in all"] = time.perf_counter() - began
        speeds = [f"{seconds:.1f} s {pairs / max(seconds, 1e-9):,.0f}/s" for seconds in stages.values()]
        rows.append([f"{pairs:,}", f"{kept_pairs:,}", *speeds, f"{peak / 2**20:,.0f} MiB"])
    yield "preparation, nothing reused; peak memory of all processes together (PSS)"
    yield text_table(["pairs read", "kept", *stages, "memory"], rows)


def _recipe(config: Config, folder: Path) -> Config:
    """Return the recipe with the corpus in `folder`, and with 8,000 pieces per side, whatever it has."""
    recipe = config.model_dump(mode="json")
    recipe["corpus"]["sources"] = [{"name": "large", "path": str(folder / "large.tsv")}]
    recipe["corpus"]["prepared_directory"] = str(folder / "prepared")
    recipe["subword"] = SubwordConfig().model_dump(mode="json")
    recipe["training"]["augmentation"]["copies"] = 0  # needs placeholders, which these subwords do not have
    recipe["evaluation"]["test_sets"] = []
    return Config.model_validate(recipe)


def _measure(config: Config) -> tuple[int, dict[str, float], int]:
    """Prepare a recipe in another process; return the pairs kept, the seconds of each stage and the peak of memory."""
    with contextlib.closing(WorkerPool(_preparer, processes=1)) as pool:
        prepared = pool.submit(config)
        peak = 0
        while not prepared.done():
            _, *processes = family(os.getpid())
            peak = max(peak, sum(map(memory_of, processes)))
            time.sleep(POLL)
        kept_pairs, stages = prepared.result()
        return kept_pairs, stages, peak


def _preparer() -> Callable[[Config], tuple[int, dict[str, float]]]:
    # Imported here, because the worker processes of the preparation import this file too, and PyTorch takes seconds.
    from translator.data import DataHandler

    def prepare(config: Config) -> tuple[int, dict[str, float]]:
        report = DataHandler(config).corpus.report
        return sum(sum(source.kept.values()) for source in report.sources), STAGES

    return prepare


def write_corpus(path: Path, count: int) -> None:
    """Write `count` pairs to the TSV `path`: blocks of the corpora in `../shared/data` in random order, repeated.

    From the second pass, random words of the same side replace about a quarter of the words of each side. So lengths
    and spelling stay realistic, with few near-duplicates.

    Raises CorpusError: the corpora are missing.
    """
    real_pairs = list(_real_pairs())
    blocks = [real_pairs[begin : begin + BLOCK] for begin in range(0, len(real_pairs), BLOCK)]
    english_words = " ".join(english for english, _ in real_pairs[::7]).split(" ")
    persian_words = " ".join(persian for _, persian in real_pairs[::7]).split(" ")
    generator = random.Random(1)
    written = 0
    with path.open("w", encoding="utf-8", newline="\n") as output:
        while written < count:
            generator.shuffle(blocks)
            for english, persian in islice(chain.from_iterable(blocks), count - written):
                if written >= len(real_pairs):
                    english = _with_other_words(english, english_words, generator)
                    persian = _with_other_words(persian, persian_words, generator)
                output.write(f"{english}\t{persian}\n")
                written += 1


def _real_pairs() -> Iterator[tuple[str, str]]:
    if not SHARED.exists():
        raise CorpusError(f"{SHARED} is missing: this benchmark uses the real corpora in it")
    sources = [SourceConfig(name=name.split(".")[0], path=str(SHARED / name)) for name in LAYOUTS]
    english, persian = (str(SHARED / f"afec.{side}.gz") for side in ("en", "fa"))
    sources.append(SourceConfig(name="afec", source_path=english, target_path=persian))
    for source in sources:
        for pair in read_pairs(source):
            has_text = pair.source.strip() and pair.target.strip()
            if has_text and "\t" not in pair.source + pair.target:
                yield pair.source, pair.target


def _with_other_words(text: str, words: list[str], generator: random.Random) -> str:
    parts = text.split(" ")
    for _ in range(2 + len(parts) // 4):
        parts[int(generator.random() * len(parts))] = words[int(generator.random() * len(words))]
    return " ".join(parts)
