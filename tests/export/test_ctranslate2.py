"""An exported model gives the same probabilities in CTranslate2, and nearly the same search results as in torch."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import pytest
import torch

from tests.support.export_stand_ins import POST, SMALL, sample_rows, stand_in, taught
from translator.config import SearchConfig
from translator.core.hypothesis import Hypothesis
from translator.core.transformer import Transformer
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
    ("post", "relu", "learned", "target"),
    ("pre", "relu", "rotary", "all"),
    ("post", "gelu", "sinusoidal", "target"),
    ("pre", "gelu", "learned", "all"),
    ("post", "gelu", "rotary", "none"),
    ("pre", "swiglu", "sinusoidal", "all"),
    ("post", "swiglu", "learned", "none"),
    ("pre", "swiglu", "rotary", "target"),
]
"""Every pair of activation and positions; norm and embedding tying vary over the pairs."""


class Engines(NamedTuple):
    """The same model in both engines."""

    exported: Ctranslate2Searcher
    torch: TorchSearcher


def tokens_of(hypotheses: Sequence[Hypothesis]) -> list[tuple[int, ...]]:
    return [hypothesis.tokens for hypothesis in hypotheses]


def best_of(n_best: Sequence[Sequence[Hypothesis]]) -> list[Hypothesis]:
    return [hypotheses[0] for hypotheses in n_best]


def equal_count(n_best: Sequence[Sequence[Hypothesis]], expected: Sequence[Sequence[Hypothesis]]) -> int:
    """Return for how many rows the best hypotheses have the same tokens."""
    pairs = zip(best_of(n_best), best_of(expected), strict=True)
    return sum(hypothesis.tokens == reference.tokens for hypothesis, reference in pairs)


def assert_same(hypotheses: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> None:
    """Check tokens and endings, and the score of each token to four digits."""
    for hypothesis, reference in zip(hypotheses, expected, strict=True):
        assert hypothesis.tokens == reference.tokens
        assert hypothesis.finished == reference.finished
        assert hypothesis.token_scores == pytest.approx(reference.token_scores, abs=1e-4)


@pytest.mark.parametrize(("norm", "activation", "positions", "tied"), ARCHITECTURES)
def test_every_architecture_gives_the_same_tokens_and_probabilities(
    norm: str, activation: str, positions: str, tied: str, subword: SubwordPair, joint: SubwordPair, tmp_path: Path
) -> None:
    pair = joint if tied == "all" else subword
    changes = {"norm": norm, "activation": activation, "positions": positions, "tied_embeddings": tied}
    config = SMALL.model_copy(update=changes)
    model = stand_in(config, pair)
    write_ctranslate2(tmp_path, model, config, pair)
    exported = Ctranslate2Searcher(tmp_path, pair, config.max_positions, workers=1)
    reference = TorchSearcher([model], CPU)

    # The same tokens are found ...
    rows = sample_rows(pair, 4)
    shortest = FREE.model_copy(update={"max_length_ratio": 0.01})
    hypotheses = best_of(exported.find(SearchRequest(rows, shortest)))
    expected = best_of(reference.find(SearchRequest(rows, shortest)))
    assert tokens_of(hypotheses) == tokens_of(expected)

    # ... and any tokens have the same probabilities.
    targets = [[20, 60, 33, 7], [5], [], [9, 8]]
    assert_same(exported.score(rows, targets, BEAM.settings), reference.score(rows, targets, BEAM.settings))


@pytest.fixture(scope="module")
def engines(learnt: Transformer, subword: SubwordPair, tmp_path_factory: pytest.TempPathFactory) -> Engines:
    folder = tmp_path_factory.mktemp("engine")
    write_ctranslate2(folder, learnt, POST, subword)
    exported = Ctranslate2Searcher(folder, subword, POST.max_positions, workers=2)
    return Engines(exported=exported, torch=TorchSearcher([learnt], CPU))


@pytest.fixture(scope="module")
def rows(subword: SubwordPair) -> list[list[int]]:
    return sample_rows(subword, 30)


def test_a_search_stops_when_its_check_raises(engines: Engines, rows: list[list[int]]) -> None:
    with pytest.raises(TimeoutError):
        engines.exported.find(SearchRequest(rows, SHORT, check=Mock(side_effect=TimeoutError)))


def test_a_search_that_may_be_stopped_has_one_batch_at_a_time(engines: Engines) -> None:
    config = SHORT.model_copy(update={"batch_size": 4})
    rows = [[5, 6, 7]] * 32
    assert len(list(engines.exported.batches(SearchRequest(rows, config)))) == 1
    assert len(list(engines.exported.batches(SearchRequest(rows, config, check=lambda: None)))) == 8


def test_a_search_that_may_be_stopped_finds_the_same(engines: Engines, rows: list[list[int]]) -> None:
    checked = engines.exported.find(SearchRequest(rows, SHORT, check=lambda: None))
    unchecked = engines.exported.find(SearchRequest(rows, SHORT))
    assert tokens_of(best_of(checked)) == tokens_of(best_of(unchecked))


@pytest.mark.parametrize(
    "changes",
    [{"max_length_ratio": 0.1, "no_repeat_ngram": 2}, {"min_length_ratio": 1.5, "length_normalization": "average"}],
)
def test_greedy_search_matches_torch_in_tokens_and_scores(
    changes: dict[str, object], engines: Engines, rows: list[list[int]]
) -> None:
    config = FREE.model_copy(update=changes)
    hypotheses = best_of(engines.exported.find(SearchRequest(rows, config)))
    expected = best_of(engines.torch.find(SearchRequest(rows, config)))
    assert_same(hypotheses, expected)
    for hypothesis, reference in zip(hypotheses, expected, strict=True):
        assert hypothesis.normalized_score == pytest.approx(reference.normalized_score, abs=1e-4)

    # Without scores, the tokens are the same.
    unscored = best_of(engines.exported.find(SearchRequest(rows, config, scored=False)))
    assert tokens_of(unscored) == tokens_of(expected)


@pytest.fixture(scope="module", params=[{}, {"length_normalization": "average", "max_length_ratio": 0.3}])
def beam_config(request: pytest.FixtureRequest) -> SearchConfig:
    return BEAM.model_copy(update=request.param)


@pytest.fixture(scope="module")
def n_best(beam_config: SearchConfig, engines: Engines, rows: list[list[int]]) -> list[list[Hypothesis]]:
    """Three hypotheses for each row, from CTranslate2."""
    return engines.exported.find(SearchRequest(rows, beam_config, 3))


def test_beam_search_mostly_matches_torch(
    beam_config: SearchConfig, n_best: list[list[Hypothesis]], engines: Engines, rows: list[list[int]]
) -> None:
    assert equal_count(n_best, engines.torch.find(SearchRequest(rows, beam_config, 3))) >= 24


def test_the_best_of_several_hypotheses_is_the_single_one(
    beam_config: SearchConfig, engines: Engines, rows: list[list[int]]
) -> None:
    three = engines.exported.find(SearchRequest(rows, beam_config, 3, scored=False))
    single = engines.exported.find(SearchRequest(rows, beam_config, 1, scored=False))
    assert tokens_of(best_of(three)) == tokens_of(best_of(single))


def test_hypotheses_are_ranked_by_ending_and_normalized_score(n_best: list[list[Hypothesis]]) -> None:
    for hypotheses in n_best:
        ranks = [(not hypothesis.finished, -hypothesis.normalized_score) for hypothesis in hypotheses]
        assert ranks == sorted(ranks)


def test_no_hypothesis_exceeds_the_length_limit(
    beam_config: SearchConfig, n_best: list[list[Hypothesis]], rows: list[list[int]]
) -> None:
    for hypotheses, row in zip(n_best, rows, strict=True):
        longest = int((len(row) + 1) * beam_config.max_length_ratio) + 10
        for hypothesis in hypotheses:
            assert len(hypothesis.tokens) + hypothesis.finished <= longest


def double_count(hypotheses: Sequence[Hypothesis], after: int = 0) -> int:
    """Return how often a token follows itself, from position `after` on."""
    count = 0
    for hypothesis in hypotheses:
        for first, second in itertools.pairwise(hypothesis.tokens[after:]):
            count += first == second
    return count


def test_tokens_follow_themselves_if_doubles_are_allowed(engines: Engines, rows: list[list[int]]) -> None:
    config = SHORT.model_copy(update={"min_length_ratio": 1.5})
    assert double_count(best_of(engines.torch.find(SearchRequest(rows, config)))) > 0


@pytest.mark.parametrize("name", Engines._fields)
def test_no_token_follows_itself_if_doubles_are_forbidden(name: str, engines: Engines, rows: list[list[int]]) -> None:
    engine = getattr(engines, name)
    config = SHORT.model_copy(update={"min_length_ratio": 1.5})
    assert double_count(best_of(engine.find(SearchRequest(rows, config, no_doubles=True)))) == 0


@pytest.mark.parametrize("name", Engines._fields)
def test_a_forced_prefix_may_double_a_token(name: str, engines: Engines, rows: list[list[int]]) -> None:
    prefix = [30, 30, 40]
    engine = getattr(engines, name)
    prefixes = [prefix] * len(rows)
    hypotheses = best_of(engine.find(SearchRequest(rows, SHORT, 1, prefixes, no_doubles=True)))
    for hypothesis in hypotheses:
        assert list(hypothesis.tokens[:3]) == prefix
    assert double_count(hypotheses, after=2) == 0


def test_beam_search_does_not_stop_before_torch(subword: SubwordPair, rows: list[list[int]], tmp_path: Path) -> None:
    unsure = taught(POST, subword, steps=30)  # the first hypotheses of a beam are seldom its best
    write_ctranslate2(tmp_path, unsure, POST, subword)
    exported = Ctranslate2Searcher(tmp_path, subword, POST.max_positions)
    config = SearchConfig(method="beam", beam_size=3, length_normalization="average", length_penalty=2.0)
    expected = TorchSearcher([unsure], CPU).find(SearchRequest(rows, config))
    assert equal_count(exported.find(SearchRequest(rows, config)), expected) >= 24


def test_forced_prefixes_are_scored_as_with_torch(engines: Engines, rows: list[list[int]]) -> None:
    # Every second row has a prefix.
    prefixes: list[list[int]] = [[] for _ in rows]
    for number in range(1, len(rows), 2):
        prefixes[number] = [30, 40, 50]

    hypotheses = best_of(engines.exported.find(SearchRequest(rows, SHORT, 1, prefixes)))
    expected = best_of(engines.torch.find(SearchRequest(rows, SHORT, 1, prefixes)))
    assert tokens_of(hypotheses) == tokens_of(expected)
    for hypothesis, prefix in zip(hypotheses, prefixes, strict=True):
        assert list(hypothesis.tokens[: len(prefix)]) == prefix
    for hypothesis, reference in zip(hypotheses, expected, strict=True):
        assert hypothesis.score == pytest.approx(reference.score, abs=1e-3), "forced tokens are included"


def test_an_empty_row_has_an_empty_hypothesis(engines: Engines, rows: list[list[int]]) -> None:
    empty, neighbour = best_of(engines.exported.find(SearchRequest([[], rows[0]], BEAM)))
    assert empty.tokens == ()
    assert empty.finished
    assert len(empty.token_scores) == 1, "that of EOS"
    assert neighbour.tokens == best_tokens(engines, rows[0])


def best_tokens(engines: Engines, row: list[int]) -> tuple[int, ...]:
    return engines.exported.find(SearchRequest([row], BEAM))[0][0].tokens


def test_a_search_stops_where_the_positions_end(engines: Engines) -> None:
    endless = engines.exported.find(SearchRequest([[9] * 127], FREE))[0][0]
    assert len(endless.tokens) == 127
    assert not endless.finished


def test_an_unsupported_precision_is_refused(subword: SubwordPair, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"does not support float8 on this machine's cpu, only: .*int8"):
        Ctranslate2Searcher(tmp_path, subword, 128, compute_type="float8")
