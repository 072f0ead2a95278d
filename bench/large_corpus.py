"""A corpus of any size made of the real ones at hand: pairs in a seeded order, changed so that none repeats another."""

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from translator.config import SourceConfig
from translator.corpus import read_pairs
from translator.errors import CorpusError

SHARED: Final = Path("../shared/data")
LAYOUTS: Final = ("mizan.zip", "tatoeba.zip", "bible.en-fa.zip", "quran.en-fa.zip", "docs.tsv.gz")
_BLOCK: Final = 512
"""Neighbouring lines that stay neighbours, as in a book."""


def write_large_corpus(path: Path, pairs: int, seed: int = 1) -> None:
    """Write `pairs` pairs to the TSV `path`: blocks of the corpora in `../shared/data`, each with words exchanged.

    The first pass over a block leaves it as it is. In later passes about a quarter of the words of each side, two at
    least, are exchanged for words of the same side elsewhere, so that lengths, scripts and spelling stay those of real
    text while hardly any pair is a near-duplicate.

    Raises:
        CorpusError: the corpora are not there.
    """
    real = list(_real_pairs())
    generator = random.Random(seed)
    english = [word for source, _ in real[::7] for word in source.split(" ")]
    persian = [word for _, target in real[::7] for word in target.split(" ")]
    with path.open("w", encoding="utf-8", newline="\n") as output:
        for number, (source, target) in enumerate(islice(_without_end(real, generator), pairs)):
            if number >= len(real):
                source, target = _changed(source, english, generator), _changed(target, persian, generator)
            output.write(f"{source}\t{target}\n")


def _real_pairs() -> Iterator[tuple[str, str]]:
    sources = [SourceConfig(name=name.split(".")[0], path=str(SHARED / name)) for name in LAYOUTS]
    english, persian = (str(SHARED / f"afec.{side}.gz") for side in ("en", "fa"))
    sources.append(SourceConfig(name="afec", source_path=english, target_path=persian))
    if not SHARED.exists():
        raise CorpusError(f"{SHARED} is not there: this benchmark is made of the real corpora in it")
    for source in sources:
        for pair in read_pairs(source):
            if pair.source.strip() and pair.target.strip() and "\t" not in pair.source + pair.target:
                yield pair.source, pair.target


def _without_end(real: list[tuple[str, str]], generator: random.Random) -> Iterator[tuple[str, str]]:
    """Yield all pairs block by block, and then again in another order of blocks, for ever."""
    blocks = list(range(0, len(real), _BLOCK))
    while True:
        generator.shuffle(blocks)
        for start in blocks:
            yield from real[start : start + _BLOCK]


def _changed(text: str, words: list[str], generator: random.Random) -> str:
    parts = text.split(" ")
    for _ in range(2 + len(parts) // 4):
        parts[int(generator.random() * len(parts))] = words[int(generator.random() * len(words))]
    return " ".join(parts)
