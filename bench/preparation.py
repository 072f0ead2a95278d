"""Preparation at scale: seconds and peak memory of `translator prepare` for corpora of several sizes."""

import random
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Final

from bench.options import Options
from bench.processes import TRANSLATOR, environment, family, memory_of
from translator.config import load_config
from translator.corpus.reading.pairs import read_pairs

SIZES: Final = ("1000000", "4000000")
CORPORA: Final = "bench/cpu-small-four-corpora.yaml"  # a recipe with sources of real text
BLOCK: Final = 512  # consecutive lines that stay together, as in a book
POLL: Final = 0.1  # seconds between two measurements of memory
SETTINGS: Final = (
    "subword.vocabulary_size=8000",
    "subword.placeholders=0",
    "training.augmentation.copies=0",  # these need placeholders
    "evaluation.test_sets=[]",
)
"""What is measured, whatever the recipe has."""


def bench(options: Options) -> Iterator[str]:
    """Yield a line on each size, with the settings of a recipe."""
    yield "preparation, nothing reused; peak memory of all processes together (PSS)"
    for size in options.only or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            write_corpus(Path(folder) / "large.tsv", int(size))
            settings = [f"corpus.sources=[{{name: large, path: {folder}/large.tsv}}]", *SETTINGS]
            settings += [f"corpus.prepared_directory={folder}/prepared", f"run.directory={folder}/run"]
            recipe = ["--config", options.config or "configs/sample.yaml"]
            command = [*TRANSLATOR, "prepare", *recipe, "--set", *options.overrides, *settings]
            seconds, peak = _measure(command)
        yield f"  {int(size):>9,} pairs: {seconds:.1f} s, {int(size) / seconds:,.0f} a second; {peak / 2**20:,.0f} MiB"


def _measure(command: Sequence[str]) -> tuple[float, int]:
    """Run a command; return its seconds and its peak of memory."""
    began = time.perf_counter()
    peak = 0
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(memory_of, family(process.pid))))
            time.sleep(POLL)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - began, peak


def write_corpus(path: Path, count: int) -> None:
    """Write `count` pairs to the TSV `path`: blocks of the corpora of `CORPORA` in random order, repeated.

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
    for source in load_config(CORPORA).corpus.sources:
        for pair in read_pairs(source):
            if pair.source.strip() and pair.target.strip() and "\t" not in pair.source + pair.target:
                yield pair.source, pair.target


def _with_other_words(text: str, words: list[str], generator: random.Random) -> str:
    parts = text.split(" ")
    for _ in range(2 + len(parts) // 4):
        parts[int(generator.random() * len(parts))] = words[int(generator.random() * len(words))]
    return " ".join(parts)
