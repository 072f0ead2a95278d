"""Preparation at scale: seconds of each stage and peak memory for corpora of several sizes, each in a new process.

`python -m bench.preparation RECIPE` prepares a recipe, given as JSON, and prints the time of its stages.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from bench.options import Options
from bench.processes import environment, family, memory_of
from translator.config import Config, SourceConfig, SubwordConfig, parse_config
from translator.corpus.reading.pairs import read_pairs
from translator.errors import CorpusError, RunError
from translator.run.logging import STAGES
from translator.run.text import text_table

SIZES: Final = (1_000_000, 4_000_000)
SHARED: Final = Path("../shared/data")
LAYOUTS: Final = ("mizan.zip", "tatoeba.zip", "bible.en-fa.zip", "quran.en-fa.zip", "docs.tsv.gz")
BLOCK: Final = 512  # consecutive lines that stay together, as in a book
POLL: Final = 0.1  # seconds between two measurements of memory


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on preparing corpora of several sizes with the settings of a recipe.

    Raises:
        ConfigError: the recipe is invalid, or a size is not a number.
        CorpusError: the real corpora are missing.
        RunError: preparation failed.
    """
    config = options.load("configs/sample.yaml")
    sizes = [int(size) for size in options.only] or SIZES
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            corpus = Path(folder) / f"{size}.tsv"
            write_large_corpus(corpus, size)
            measured.append(_measure(config, corpus, Path(folder) / f"prepared-{size}"))
            corpus.unlink()
    stage_names = [stage["name"] for stage in measured[0]["stages"]]
    header = ["pairs read", "kept", *stage_names, "in all", "pairs/s", "memory"]
    rows = []
    for size, result in zip(sizes, measured, strict=True):
        row = [f"{size:,}", f"{result['kept']:,}"]
        for stage in result["stages"]:
            pairs_per_second = size / max(stage["seconds"], 1e-9)
            row.append(f"{stage['seconds']:.1f} s {pairs_per_second:,.0f}/s")
        row.append(f"{result['seconds']:.1f} s")
        row.append(f"{size / result['seconds']:,.0f}")
        row.append(f"{result['peak'] / 2**20:,.0f} MiB")
        rows.append(row)
    yield "preparation, nothing reused; peak memory of all processes together (PSS)"
    yield text_table(header, rows)


def _measure(config: Config, corpus: Path, prepared: Path) -> dict[str, Any]:
    """Prepare `corpus` in another process; return its stages, seconds, pairs kept and peak memory in bytes."""
    recipe = config.model_dump(mode="json")
    recipe["corpus"]["sources"] = [{"name": "large", "path": str(corpus)}]
    recipe["corpus"]["prepared_directory"] = str(prepared)
    recipe["subword"] = SubwordConfig().model_dump(mode="json")  # 8,000 pieces per side, for every recipe
    recipe["training"]["augmentation"]["copies"] = 0  # needs placeholders, which these subwords do not have
    recipe["evaluation"]["test_sets"] = []
    command = [sys.executable, "-m", "bench.preparation", json.dumps(recipe)]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(map(memory_of, family(process.pid))))
            time.sleep(POLL)
        seconds = time.perf_counter() - began
        assert process.stdout is not None
        answer = process.stdout.read()
    if process.returncode:
        raise RunError(f"preparation ended with exit code {process.returncode}; its error is above")
    return {**json.loads(answer), "seconds": seconds, "peak": peak}


def write_large_corpus(path: Path, pairs: int, seed: int = 1) -> None:
    """Write `pairs` pairs to the TSV `path`: blocks of the corpora in `../shared/data` in random order, repeated.

    From the second pass, random words of the same side replace about a quarter of the words of each side. So lengths
    and spelling stay realistic, with few near-duplicates.

    Raises CorpusError: the corpora are missing.
    """
    real_pairs = list(_real_pairs())
    generator = random.Random(seed)
    english_words: list[str] = []
    persian_words: list[str] = []
    for english, persian in real_pairs[::7]:
        english_words += english.split(" ")
        persian_words += persian.split(" ")
    block_starts = list(range(0, len(real_pairs), BLOCK))
    written_pairs = 0
    with path.open("w", encoding="utf-8", newline="\n") as output:
        while written_pairs < pairs:
            generator.shuffle(block_starts)
            for english, persian in islice(_pairs_in_blocks(real_pairs, block_starts), pairs - written_pairs):
                if written_pairs >= len(real_pairs):
                    english = _with_other_words(english, english_words, generator)
                    persian = _with_other_words(persian, persian_words, generator)
                output.write(f"{english}\t{persian}\n")
                written_pairs += 1


def _pairs_in_blocks(pairs: Sequence[tuple[str, str]], starts: Sequence[int]) -> Iterator[tuple[str, str]]:
    for start in starts:
        yield from pairs[start : start + BLOCK]


def _real_pairs() -> Iterator[tuple[str, str]]:
    sources = [SourceConfig(name=name.split(".")[0], path=str(SHARED / name)) for name in LAYOUTS]
    english, persian = (str(SHARED / f"afec.{side}.gz") for side in ("en", "fa"))
    sources.append(SourceConfig(name="afec", source_path=english, target_path=persian))
    if not SHARED.exists():
        raise CorpusError(f"{SHARED} is missing: this benchmark uses the real corpora in it")
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


if __name__ == "__main__":
    # Imported here, because worker processes import this file too, and PyTorch takes them seconds.
    from translator.data import DataHandler

    data = DataHandler(parse_config(sys.argv[1], "recipe"))
    kept_pairs = 0
    for source in data.corpus.report.sources:
        kept_pairs += sum(source.kept.values())
    stages = [{"name": name, "seconds": seconds} for name, seconds in STAGES.items()]
    print(json.dumps({"stages": stages, "kept": kept_pairs}))
