"""The search figures: every contestant gets the same sentences, and every output the length that was asked for."""

import io
import itertools
import json
from pathlib import Path

import pytest
from conftest import Recipe

from bench.options import Options
from bench.search import Task, _write, bench_search
from bench.search_contest import obey
from bench.search_engines import Batch, Ctranslate2Engine, MarianEngine, OurEngine, batches_of, share_of
from translator.errors import ConfigError

POST_NORM = ["model.norm=post", "model.tied_embeddings=target"]


@pytest.fixture
def folder(tiny: Recipe, tmp_path: Path) -> Path:
    """Return a folder with the weights, exports and sentences of an untrained model."""
    assert not _write(tiny(*POST_NORM), tmp_path / "search")
    return tmp_path / "search"


def rows_of(folder: Path) -> list[list[int]]:
    rows: list[list[int]] = json.loads((folder / "rows.json").read_text())
    return rows[:6]


def test_batches_hold_every_row_once_and_lengths_fit_their_sources() -> None:
    rows = [[7] * length for length in (3, 30, 7, 8, 15, 16, 1)]
    for forced in (True, False):
        batches = batches_of(rows, 2, forced)
        assert sorted(len(row) for batch in batches for row in batch.rows) == sorted(map(len, rows))
        assert all(len(batch.rows) <= 2 for batch in batches)
        for batch in batches:
            if forced:
                assert batch.length is not None and batch.length % 8 == 0
                assert all(batch.length - 8 < len(row) + 1 <= batch.length for row in batch.rows)
            else:
                assert batch.length is None and batch.longest == 2 * (max(map(len, batch.rows)) + 1) + 10


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_shares_hold_every_batch_once_and_weigh_alike(parts: int) -> None:
    batches = batches_of([[5] * length for length in (1, 3, 3, 8, 9, 17, 20, 30, 31, 2, 2, 60)], 2, True)
    shares = [share_of(batches, part, parts) for part in range(parts)]
    assert sorted(map(id, itertools.chain(*shares))) == sorted(map(id, batches))
    loads = [sum(batch.longest * (len(batch.rows) + 16) for batch in share) for share in shares]
    assert max(loads) - min(loads) <= max(batch.longest * (len(batch.rows) + 16) for batch in batches)


@pytest.mark.parametrize("beam", [1, 3])
def test_all_contestants_give_outputs_of_the_forced_length(folder: Path, beam: int) -> None:
    pytest.importorskip("ctranslate2")
    pytest.importorskip("transformers")
    batch = Batch(rows_of(folder), 9)
    for engine in (OurEngine(folder, "float32"), Ctranslate2Engine(folder, "float32", 1, 1), MarianEngine(folder)):
        assert engine.find([batch], beam) == 9 * len(batch.rows), type(engine).__name__


def test_parts_share_the_batches(folder: Path) -> None:
    rows = rows_of(folder)
    engine = OurEngine(folder, "float32")
    sentences = []
    for part in range(2):
        answers = io.StringIO()
        obey(io.StringIO(Task("greedy", True).command(1)), answers, engine, rows, part, 2)
        sentences.append(json.loads(answers.getvalue())["sentences"])
    assert sum(sentences) == len(rows) and abs(sentences[0] - sentences[1]) <= 1


def test_an_unknown_contestant_is_named() -> None:
    with pytest.raises(ConfigError, match="no contestant Fairseq; there are: translator float32"):
        next(bench_search(Options(only=["Fairseq"])))
