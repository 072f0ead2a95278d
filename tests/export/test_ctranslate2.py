"""An exported model gives the same probabilities in CTranslate2, and nearly the same search results as in torch."""

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from export.stand_ins import POST, SMALL, sample_rows, stand_in, taught

from translator.config import SearchConfig
from translator.errors import ConfigError, InputError
from translator.inference.ctranslate2 import Ctranslate2Searcher
from translator.inference.ctranslate2_writer import write_ctranslate2
from translator.inference.torch_searcher import TorchSearcher
from translator.model import Transformer
from translator.search.hypothesis import Rows
from translator.subword import SubwordPair

CPU = torch.device("cpu")
FREE = SearchConfig(method="greedy")
BEAM = SearchConfig(method="beam", beam_size=4)
ARCHITECTURES = [
    (("pre", "post")[number % 2], *chosen, ("none", "target", "all")[(number + number // 3) % 3])
    for number, chosen in enumerate(itertools.product(("relu", "gelu", "swiglu"), ("sinusoidal", "learned", "rotary")))
]
"""Every pair of activation and positions; norm and embedding tying vary over the pairs."""
Engines = tuple[Ctranslate2Searcher, TorchSearcher]


@pytest.mark.parametrize(("norm", "activation", "positions", "tied"), ARCHITECTURES)
def test_every_architecture_gives_the_same_tokens_and_probabilities(
    norm: str, activation: str, positions: str, tied: str, subword: SubwordPair, joint: SubwordPair, tmp_path: Path
) -> None:
    pair = joint if tied == "all" else subword
    changes = {"norm": norm, "activation": activation, "positions": positions, "tied_embeddings": tied}
    config = SMALL.model_copy(update=changes)
    model, rows = stand_in(config, pair), sample_rows(pair, 4)
    write_ctranslate2(tmp_path, model, config, pair)
    engines = Ctranslate2Searcher(tmp_path, pair, config.max_positions, workers=1), TorchSearcher([model], CPU)
    found, own = (engine.find(rows, FREE.model_copy(update={"max_length_ratio": 0.01})) for engine in engines)
    assert [one.tokens for (one,) in found] == [one.tokens for (one,) in own]
    for one, own in zip(*(engine.score(rows, [[20, 60, 33, 7], [5], [], [9, 8]]) for engine in engines), strict=True):
        assert one.token_scores == pytest.approx(own.token_scores, abs=1e-4)


def test_int8_export_scores_are_close_and_the_model_is_unchanged(subword: SubwordPair, tmp_path: Path) -> None:
    config = SMALL.model_copy(update={"activation": "swiglu"})
    model, rows = stand_in(config, subword), sample_rows(subword, 20)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    sizes, scores = [], []
    for name in ("float32", "int8"):
        (tmp_path / name).mkdir()
        write_ctranslate2(tmp_path / name, model, config, subword, name)
        sizes.append((tmp_path / name / "model.bin").stat().st_size)
        engine = Ctranslate2Searcher(tmp_path / name, subword, 128, compute_type=name)
        scores.append([one.score for one in engine.score(rows, [[10, 20, 30, 40]] * 20)])
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert sizes[1] < 0.6 * sizes[0]
    assert scores[1] == pytest.approx(scores[0], rel=0.05) and scores[1] != scores[0]


@pytest.mark.parametrize("reason", ["mkl_malloc: failed to allocate memory", "CUDA failed with error out of memory"])
def test_a_model_that_does_not_fit_into_memory_is_explained(
    reason: str, subword: SubwordPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctranslate2.Translator", Mock(side_effect=RuntimeError(reason)))
    with pytest.raises(ConfigError, match="does not fit into the free memory"):
        Ctranslate2Searcher(tmp_path, subword, 128)


@pytest.mark.parametrize(("row_length", "batch_size"), [(10, 64), (127, 32), (20_000, 1)])
def test_a_batch_of_long_rows_is_bounded_by_its_positions(
    row_length: int, batch_size: int, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = engines
    library_model = Mock()
    monkeypatch.setattr(engine, "_model", library_model)
    rows = [[5] * row_length] * 1_000
    engine._start(rows, BEAM, 0, 20, None, no_doubles=False)
    assert library_model.translate_batch.call_args.kwargs["max_batch_size"] == batch_size


@pytest.fixture(scope="module")
def engines(learnt: Transformer, subword: SubwordPair, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    folder = tmp_path_factory.mktemp("engine")
    write_ctranslate2(folder, learnt, POST, subword)
    theirs = Ctranslate2Searcher(folder, subword, POST.max_positions, workers=2)
    return theirs, TorchSearcher([learnt], CPU)


@pytest.fixture(scope="module")
def rows(subword: SubwordPair) -> list[list[int]]:
    return sample_rows(subword, 30)


def test_a_search_that_is_told_to_stop_starts_no_further_rows(
    engines: Engines, rows: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, started = engines[0], []
    start = engine._start

    def noting(called_rows: Rows, *arguments: Any, **options: Any) -> Sequence[Any]:
        started.append(len(called_rows))
        return start(called_rows, *arguments, **options)

    def stop() -> None:
        if len(started) == 2:
            raise TimeoutError

    monkeypatch.setattr(engine, "_start", noting)
    monkeypatch.setattr(engine, "_rows_between_checks", 4)
    short = FREE.model_copy(update={"max_length_ratio": 0.1})
    with pytest.raises(TimeoutError):
        engine.find(rows, short, check=stop)
    assert started == [4, 4], "of 30 rows"
    monkeypatch.undo()
    assert [one.tokens for (one,) in engine.find(rows, short, check=lambda: None)] == [
        one.tokens for (one,) in engine.find(rows, short)
    ]


@pytest.mark.parametrize(
    "changes",
    [{"max_length_ratio": 0.1, "no_repeat_ngram": 2}, {"min_length_ratio": 1.5, "length_normalization": "average"}],
)
def test_greedy_search_matches_torch_in_tokens_and_scores(
    changes: dict[str, object], engines: Engines, rows: list[list[int]]
) -> None:
    theirs, ours = (engine.find(rows, FREE.model_copy(update=changes)) for engine in engines)
    for (one,), (own,) in zip(theirs, ours, strict=True):
        assert (one.tokens, one.finished) == (own.tokens, own.finished)
        assert one.token_scores == pytest.approx(own.token_scores, abs=1e-4)
        assert one.normalized_score == pytest.approx(own.normalized_score, abs=1e-4)
    unscored = engines[0].find(rows, FREE.model_copy(update=changes), scored=False)
    assert [one.tokens for (one,) in unscored] == [own.tokens for (own,) in ours]


@pytest.mark.parametrize("changes", [{}, {"length_normalization": "average", "max_length_ratio": 0.3}])
def test_beam_search_mostly_matches_torch(changes: dict[str, object], engines: Engines, rows: list[list[int]]) -> None:
    config = BEAM.model_copy(update=changes)
    theirs, ours = (engine.find(rows, config, 3) for engine in engines)
    assert sum(one[0].tokens == own[0].tokens for one, own in zip(theirs, ours, strict=True)) >= 24
    several, single = (engines[0].find(rows, config, count, scored=False) for count in (3, 1))
    assert [one[0].tokens for one in several] == [one[0].tokens for one in single], "the best comes first"
    for found, row in zip(theirs, rows, strict=True):
        rank = [(not one.finished, -one.normalized_score) for one in found]
        assert rank == sorted(rank)
        assert len({one.tokens for one in found}) == 3
        longest = int((len(row) + 1) * config.max_length_ratio) + 10
        assert all(len(one.tokens) + one.finished <= longest for one in found)


def test_no_token_follows_itself_if_doubles_are_forbidden(engines: Engines, rows: list[list[int]]) -> None:
    doubles = [[30, 30, 40]] * len(rows)
    free = engines[1].find(rows, FREE.model_copy(update={"max_length_ratio": 0.1, "min_length_ratio": 1.5}))
    assert any(map(has_double, (one.tokens for (one,) in free)))
    for engine in engines:
        config = FREE.model_copy(update={"max_length_ratio": 0.1})
        found = engine.find(rows, config, no_doubles=True)
        assert not any(map(has_double, (one.tokens for (one,) in found)))
        forced = engine.find(rows, config, 1, doubles, no_doubles=True)
        assert all(one.tokens[:3] == (30, 30, 40) for (one,) in forced), "a forced prefix takes precedence"
        assert not any(has_double(one.tokens[2:]) for (one,) in forced)


def has_double(tokens: tuple[int, ...]) -> bool:
    return any(first == second for first, second in itertools.pairwise(tokens))


def test_beam_search_does_not_stop_before_torch(subword: SubwordPair, rows: list[list[int]], tmp_path: Path) -> None:
    unsure = taught(POST, subword, steps=30)  # the first hypotheses of a beam are seldom its best
    write_ctranslate2(tmp_path, unsure, POST, subword)
    engines = Ctranslate2Searcher(tmp_path, subword, POST.max_positions), TorchSearcher([unsure], CPU)
    config = SearchConfig(method="beam", beam_size=3, length_normalization="average", length_penalty=2.0)
    theirs, ours = (engine.find(rows, config) for engine in engines)
    assert sum(one[0].tokens == own[0].tokens for one, own in zip(theirs, ours, strict=True)) >= 24


def test_forced_prefixes_and_given_targets_score_as_with_torch(engines: Engines, rows: list[list[int]]) -> None:
    prefixes = [[30, 40, 50] if number % 2 else [] for number in range(len(rows))]
    theirs, ours = (engine.find(rows, FREE, 1, prefixes) for engine in engines)
    for (one,), (own,), prefix in zip(theirs, ours, prefixes, strict=True):
        assert list(one.tokens[: len(prefix)]) == prefix and one.tokens == own.tokens
        assert one.score == pytest.approx(own.score, abs=1e-3), "the scores of forced tokens are included"
    targets = [[20 + number] * (number % 5) for number in range(len(rows))]
    given, own_given = (engine.score(rows, targets) for engine in engines)
    for one, own in zip(given, own_given, strict=True):
        assert one.token_scores == pytest.approx(own.token_scores, abs=1e-4)
        assert (one.tokens, one.finished) == (own.tokens, own.finished)


def test_empty_rows_and_concurrent_calls_are_handled(engines: Engines, rows: list[list[int]]) -> None:
    theirs, _ = engines
    assert theirs.find([], FREE) == []
    (empty,), (other,) = theirs.find([[], rows[0]], BEAM)
    assert (empty.tokens, empty.finished, len(empty.token_scores)) == ((), True, 1)
    expected = [theirs.find([row], BEAM)[0][0].tokens for row in rows]
    assert other.tokens == expected[0]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda row: theirs.find([row], BEAM)[0][0].tokens, rows)) == expected


def test_invalid_use_is_rejected(engines: Engines, rows: list[list[int]], subword: SubwordPair, tmp_path: Path) -> None:
    theirs, _ = engines
    with pytest.raises(
        ConfigError, match=r"search\.method is `sampling`, which the ctranslate2 engine cannot reproduce"
    ):
        theirs.find(rows, SearchConfig(method="sampling"))
    for too_long in (lambda: theirs.find([[9] * 128], FREE), lambda: theirs.score([[9]], [[9] * 128])):
        with pytest.raises(InputError, match="a sequence of 129 tokens is longer than the 128 positions"):
            too_long()
    endless = theirs.find([[9] * 127], FREE)[0][0]  # stopped where the positions end
    assert (len(endless.tokens), endless.finished) == (127, False)
    with pytest.raises(ConfigError, match=r"does not support float8 on this machine's cpu, only: .*int8"):
        Ctranslate2Searcher(tmp_path, subword, 128, compute_type="float8")
