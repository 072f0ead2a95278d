"""The same sentence has the same translation, whatever stands beside it in the batch."""

import random
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from translator.config import SearchConfig
from translator.data import collate_source
from translator.model import Transformer
from translator.search import search

DATA = Path("../shared/data")
SAMPLE = Path(__file__).parents[2] / "data/sample/test.tsv"
VOCABULARY = 24
METHODS = [
    SearchConfig(method="greedy", max_length_ratio=1.0),
    SearchConfig(beam_size=3, max_length_ratio=1.0),
    SearchConfig(method="sampling", max_length_ratio=1.0),
]


def ids_of(sentences: Sequence[str]) -> list[list[int]]:
    """A token for each word, of few that there are: lengths and repetitions are those of real text."""
    return [[4 + zlib.crc32(word.encode()) % (VOCABULARY - 4) for word in text.lower().split()] for text in sentences]


def in_batches(
    model: Transformer, rows: list[list[int]], order: Sequence[int], size: int, config: SearchConfig
) -> dict[int, tuple[int, ...]]:
    """The translation of each row, searched in the given order, so many at a time."""
    found: dict[int, tuple[int, ...]] = {}
    for start in range(0, len(order), size):
        numbers = order[start : start + size]
        hypotheses = search(model, collate_source([rows[number] for number in numbers]), config)
        found |= {number: best.tokens for number, (best,) in zip(numbers, hypotheses, strict=True)}
    return found


@pytest.mark.parametrize("config", METHODS, ids=lambda config: config.method)
def test_sentences_of_the_sample(model: Transformer, config: SearchConfig) -> None:
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()[:24]
    rows = ids_of([line.split("\t")[0] for line in lines])
    order = list(range(len(rows)))
    together = in_batches(model, rows, order, 24, config)
    assert len(set(together.values())) > 12
    assert in_batches(model, rows, order, 1, config) == together
    assert in_batches(model, rows, random.Random(1).sample(order, len(order)), 7, config) == together


@pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not in ../shared/data")
@pytest.mark.parametrize("config", METHODS[:2], ids=lambda config: config.method)
def test_500_real_sentences(model: Transformer, config: SearchConfig) -> None:
    sentences: list[str] = []
    for archive, member in (("tatoeba.zip", "en.txt"), ("mizan.zip", "mizan_en.txt")):
        with zipfile.ZipFile(DATA / archive) as corpus:
            lines = corpus.read(member).decode("utf-8").splitlines()
        sentences += [line for line in lines[:: len(lines) // 300] if 0 < len(line.split()) < 25][:250]
    rows = ids_of(sentences)
    assert len(rows) == 500
    by_length = sorted(range(500), key=lambda number: -len(rows[number]))
    together = in_batches(model, rows, by_length, 64, config)
    assert len(set(together.values())) > 250
    shuffled = random.Random(2).sample(by_length, 500)
    assert in_batches(model, rows, shuffled, 50, config) == together
    some = shuffled[:10]
    assert in_batches(model, rows, some, 1, config) == {number: together[number] for number in some}
