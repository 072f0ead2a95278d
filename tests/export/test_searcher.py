"""The engine ctranslate2 finds what our own search finds, and says what it cannot do."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from export.stand_ins import POST, sample_rows

from translator.config import SearchConfig
from translator.errors import ConfigError, InputError
from translator.export import Ctranslate2Searcher
from translator.export.ctranslate2_weights import write_ctranslate2
from translator.inference import TorchSearcher
from translator.model import Transformer
from translator.special_tokens import EOS
from translator.subword import SubwordPair

GREEDY = SearchConfig(method="greedy")
BEAM = SearchConfig(method="beam", beam_size=4)


@pytest.fixture(scope="module")
def engines(
    learnt: Transformer, subword: SubwordPair, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Ctranslate2Searcher, TorchSearcher]:
    folder = tmp_path_factory.mktemp("engine")
    write_ctranslate2(folder, learnt, POST, subword)
    theirs = Ctranslate2Searcher(folder, subword, POST.max_positions, workers=2)
    return theirs, TorchSearcher([learnt], torch.device("cpu"))


@pytest.fixture(scope="module")
def rows(subword: SubwordPair) -> list[list[int]]:
    return sample_rows(subword, 30)


@pytest.mark.parametrize(
    "config",
    [
        GREEDY,
        GREEDY.model_copy(update={"max_length_ratio": 0.1}),
        GREEDY.model_copy(update={"min_length_ratio": 1.5, "length_normalization": "average"}),
        GREEDY.model_copy(update={"no_repeat_ngram": 2}),
    ],
)
def test_greedy_search_is_the_same_with_the_same_scores(
    config: SearchConfig, engines: tuple[Ctranslate2Searcher, TorchSearcher], rows: list[list[int]]
) -> None:
    theirs, ours = (engine.find(rows, config) for engine in engines)
    for (one,), (own,) in zip(theirs, ours, strict=True):
        assert (one.tokens, one.finished) == (own.tokens, own.finished)
        assert one.token_scores == pytest.approx(own.token_scores, abs=1e-4)
        assert one.normalized_score == pytest.approx(own.normalized_score, abs=1e-4)


@pytest.mark.parametrize(
    "changes", [{}, {"length_normalization": "average"}, {"length_penalty": 0.0}, {"max_length_ratio": 0.3}]
)
def test_beam_search_agrees_on_most(
    changes: dict[str, object], engines: tuple[Ctranslate2Searcher, TorchSearcher], rows: list[list[int]]
) -> None:
    config = BEAM.model_copy(update=changes)
    theirs, ours = (engine.find(rows, config, 3) for engine in engines)
    assert all(len(found) == 3 for found in theirs)
    same = sum(one[0].tokens == own[0].tokens for one, own in zip(theirs, ours, strict=True))
    assert same >= 24
    for found, row in zip(theirs, rows, strict=True):
        rank = [(not one.finished, -one.normalized_score) for one in found]
        assert rank == sorted(rank)
        assert len({one.tokens for one in found}) == 3
        longest = int((len(row) + 1) * config.max_length_ratio) + 10
        assert all(len(one.tokens) + one.finished <= longest for one in found)


def test_forced_beginnings(engines: tuple[Ctranslate2Searcher, TorchSearcher], rows: list[list[int]]) -> None:
    prefixes = [[30, 40, 50] if number % 2 else [] for number in range(len(rows))]
    theirs, ours = (engine.find(rows, GREEDY, 1, prefixes) for engine in engines)
    for (one,), (own,), prefix in zip(theirs, ours, prefixes, strict=True):
        assert list(one.tokens[: len(prefix)]) == prefix
        assert one.tokens == own.tokens
        assert one.score == pytest.approx(own.score, abs=1e-3), "forced tokens count"


def test_given_targets_have_the_same_scores(
    engines: tuple[Ctranslate2Searcher, TorchSearcher], rows: list[list[int]]
) -> None:
    targets = [[20 + number] * (number % 5) for number in range(len(rows))]
    theirs, ours = (engine.score(rows, targets) for engine in engines)
    for one, own in zip(theirs, ours, strict=True):
        assert one.token_scores == pytest.approx(own.token_scores, abs=1e-4)
        assert (one.tokens, one.finished) == (own.tokens, own.finished)


def test_a_row_without_tokens(engines: tuple[Ctranslate2Searcher, TorchSearcher], rows: list[list[int]]) -> None:
    theirs, _ = engines
    assert theirs.find([], GREEDY) == []
    (empty,), (other,) = theirs.find([[], rows[0]], BEAM)
    assert empty.tokens == ()
    assert empty.finished
    assert len(empty.token_scores) == 1
    assert other.tokens == theirs.find([rows[0]], BEAM)[0][0].tokens


def test_many_threads_use_one(engines: tuple[Ctranslate2Searcher, TorchSearcher], rows: list[list[int]]) -> None:
    theirs, _ = engines
    expected = [theirs.find([row], BEAM)[0][0].tokens for row in rows]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda row: theirs.find([row], BEAM)[0][0].tokens, rows))
    assert found == expected


def test_what_it_cannot_do(
    engines: tuple[Ctranslate2Searcher, TorchSearcher], rows: list[list[int]], subword: SubwordPair, tmp_path: Path
) -> None:
    theirs, _ = engines
    with pytest.raises(ConfigError, match=r"search\.method is `sampling`, which the engine ctranslate2 cannot repeat"):
        theirs.find(rows, SearchConfig(method="sampling"))
    with pytest.raises(ConfigError, match="a beam of 4 cannot find 5 translations"):
        theirs.find(rows, BEAM, 5)
    with pytest.raises(InputError, match="a sequence of 129 tokens is longer than the 128 positions"):
        theirs.find([[9] * 128], GREEDY)
    with pytest.raises(InputError, match="a sequence of 129 tokens is longer than the 128 positions"):
        theirs.score([[9]], [[9] * 128])
    assert len(theirs.find([[9] * 127], GREEDY)[0][0].tokens) <= 128
    assert theirs.max_positions == 128
    assert theirs.score([[9] * 127], [[9] * 127])[0].tokens[-1] != EOS
    with pytest.raises(
        ConfigError, match=r"ctranslate2 cannot compute in float8 on this machine's cpu, only in: .*int8"
    ):
        Ctranslate2Searcher(tmp_path, subword, 128, compute_type="float8")
