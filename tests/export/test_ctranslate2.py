"""An exported model gives the same probabilities in CTranslate2, and nearly the same search results as in torch."""

import itertools
import operator
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from tests.support.export_stand_ins import POST, SMALL, sample_rows, stand_in, taught
from translator.config import SearchConfig
from translator.core.hypothesis import Hypothesis
from translator.errors import ConfigError
from translator.inference.engines.ctranslate2 import Ctranslate2Searcher
from translator.inference.engines.ctranslate2_writer import write_ctranslate2
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.search.request import SearchRequest
from translator.subword import SubwordPair

CPU = torch.device("cpu")
FREE = SearchConfig(method="greedy")
SHORT = FREE.model_copy(update={"max_length_ratio": 0.1})
BEAM = SearchConfig(method="beam", beam_size=4)
ARCHITECTURES = [
    ("pre", "relu", "sinusoidal", "none"),
    ("post", "gelu", "learned", "target"),
    ("pre", "swiglu", "rotary", "all"),
    ("post", "swiglu", "rotary", "target"),
]


def tokens_of(hypotheses: Sequence[Hypothesis]) -> list[tuple[int, ...]]:
    return [hypothesis.tokens for hypothesis in hypotheses]


def best_of(n_best: Sequence[Sequence[Hypothesis]]) -> list[Hypothesis]:
    return [hypotheses[0] for hypotheses in n_best]


@pytest.mark.parametrize(("norm", "activation", "positions", "tied"), ARCHITECTURES)
def test_every_architecture_gives_the_same_tokens_and_probabilities(
    norm: str, activation: str, positions: str, tied: str, subword: SubwordPair, joint: SubwordPair, tmp_path: Path
) -> None:
    pair = joint if tied == "all" else subword
    changes = {"norm": norm, "activation": activation, "positions": positions, "tied_embeddings": tied}
    config = SMALL.model_copy(update=changes)
    model = stand_in(config, pair)
    write_ctranslate2(tmp_path, model, config, pair)
    searcher = Ctranslate2Searcher(tmp_path, pair, config.max_positions, workers=1)
    reference = TorchSearcher([model], CPU)

    # The same tokens are found ...
    rows = sample_rows(pair, 4)
    shortest = FREE.model_copy(update={"max_length_ratio": 0.01})
    hypotheses = best_of(searcher.find(SearchRequest(rows, shortest)))
    expected = best_of(reference.find(SearchRequest(rows, shortest)))
    assert tokens_of(hypotheses) == tokens_of(expected)

    # ... and any tokens have the same probabilities.
    targets = [[20, 60, 33, 7], [5], [], [9, 8]]
    scored = searcher.score(rows, targets, BEAM.settings)
    for target, hypothesis, other in zip(targets, scored, reference.score(rows, targets, BEAM.settings), strict=True):
        assert list(hypothesis.tokens) == target
        assert hypothesis.token_scores == pytest.approx(other.token_scores, abs=1e-4)


def test_a_beam_mostly_has_the_lists_of_torch_and_those_of_single_sentences(
    subword: SubwordPair, rows: list[list[int]], tmp_path: Path
) -> None:
    """The model is unsure: the first hypotheses of a beam are seldom its best."""
    unsure = taught(POST, subword)
    write_ctranslate2(tmp_path, unsure, POST, subword)
    searcher = Ctranslate2Searcher(tmp_path, subword, POST.max_positions, workers=2)
    by_average = SearchConfig(beam_size=3, length_normalization="average", length_penalty=2.0)
    for search, count in ((by_average, 3), (SearchConfig(beam_size=3), 1)):
        request = SearchRequest(rows, search, count)
        lists = list(map(tokens_of, searcher.find(request)))
        reference = list(map(tokens_of, TorchSearcher([unsure], CPU).find(request)))
        singles = [tokens_of(searcher.find(request.select([number]))[0]) for number in range(len(rows))]
        for others in (reference, singles):
            assert sum(map(operator.eq, lists, others)) >= 26
        assert len(set(map(tuple, lists))) > 3, "sentences differ"


@pytest.fixture(scope="module")
def exported(subword: SubwordPair, tmp_path_factory: pytest.TempPathFactory) -> Ctranslate2Searcher:
    folder = tmp_path_factory.mktemp("engine")
    write_ctranslate2(folder, stand_in(POST, subword), POST, subword)
    return Ctranslate2Searcher(folder, subword, POST.max_positions, workers=2)


@pytest.fixture(scope="module")
def rows(subword: SubwordPair) -> list[list[int]]:
    return sample_rows(subword, 30)


def test_a_search_that_may_be_stopped_finds_the_same_one_batch_at_a_time(
    exported: Ctranslate2Searcher, rows: list[list[int]]
) -> None:
    config = SHORT.model_copy(update={"batch_size": 4})
    stoppable = SearchRequest(rows, config, check=lambda: None)
    assert len(list(exported.batches(stoppable))) == 8
    unchecked = exported.find(replace(stoppable, check=None))
    assert tokens_of(best_of(exported.find(stoppable))) == tokens_of(best_of(unchecked))
    with pytest.raises(TimeoutError):
        exported.find(replace(stoppable, check=Mock(side_effect=TimeoutError)))


def doubles(hypotheses: Sequence[Hypothesis], after: int) -> int:
    """Return how often a token follows itself, from position `after` on."""
    count = 0
    for hypothesis in hypotheses:
        for first, second in itertools.pairwise(hypothesis.tokens[after:]):
            count += first == second
    return count


def test_only_a_forced_prefix_may_double_a_token_if_doubles_are_forbidden(
    exported: Ctranslate2Searcher, rows: list[list[int]]
) -> None:
    # Every second row has a prefix.
    prefixes: list[list[int]] = [[], [30, 30, 40]] * (len(rows) // 2)
    config = SHORT.model_copy(update={"min_length_ratio": 1.5})
    free = SearchRequest(rows, config, 1, prefixes)
    assert doubles(best_of(exported.find(free)), after=2) > 0
    hypotheses = best_of(exported.find(replace(free, no_doubles=True)))
    assert doubles(hypotheses, after=2) == 0
    for hypothesis, prefix in zip(hypotheses, prefixes, strict=True):
        assert list(hypothesis.tokens[: len(prefix)]) == prefix


def test_an_empty_row_has_an_empty_hypothesis(exported: Ctranslate2Searcher, rows: list[list[int]]) -> None:
    empty, neighbour = best_of(exported.find(SearchRequest([[], rows[0]], BEAM)))
    assert empty.tokens == ()
    assert empty.finished
    assert len(empty.token_scores) == 1, "that of EOS"
    assert [neighbour.tokens] == tokens_of(best_of(exported.find(SearchRequest([rows[0]], BEAM))))


def test_a_search_stops_where_the_positions_end(exported: Ctranslate2Searcher) -> None:
    # The model is not to end by itself.
    endless = FREE.model_copy(update={"min_length_ratio": 1.0})
    ((hypothesis,),) = exported.find(SearchRequest([[9] * 127], endless))
    assert len(hypothesis.tokens) == 127
    assert not hypothesis.finished


def test_an_unsupported_precision_is_refused(subword: SubwordPair, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"does not support float8 on this machine's cpu, only: .*int8.*; choose another search.precision",
    ):
        Ctranslate2Searcher(tmp_path, subword, 128, compute_type="float8")
