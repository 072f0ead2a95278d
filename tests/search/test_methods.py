"""The search that a configuration asks for."""

import pytest
import torch
from known_model import KnownModel, sources

from translator.config import SearchConfig
from translator.errors import CheckpointError, ConfigError, InputError
from translator.search import (
    AveragePenalty,
    Distribution,
    GnmtPenalty,
    beam_search,
    greedy_search,
    longest_outputs,
    sample,
    search,
)
from translator.special_tokens import EOS

SOURCE = sources(10, 11, 12)
LENGTHS = longest_outputs(SOURCE, 2.0, 50)


def test_greedy() -> None:
    found = search(KnownModel(4), SOURCE, SearchConfig(method="greedy", length_penalty=0.3))
    expected = greedy_search(KnownModel(4), SOURCE, LENGTHS, GnmtPenalty(0.3))
    assert found == [[hypothesis] for hypothesis in expected]


def test_beam() -> None:
    config = SearchConfig(beam_size=3, length_penalty=0.3, length_normalization="average")
    for count in (1, 3):
        found = search(KnownModel(4), SOURCE, config, count=count)
        assert found == beam_search(KnownModel(4), SOURCE, LENGTHS, 3, AveragePenalty(0.3), count)
        assert [len(hypotheses) for hypotheses in found] == [count] * 3


def test_sampling() -> None:
    config = SearchConfig(method="sampling", temperature=0.7, top_k=3, top_p=0.9, seed=8)
    found = search(KnownModel(4), SOURCE, config, count=2)
    assert found == sample(KnownModel(4), SOURCE, LENGTHS, Distribution(0.7, 3, 0.9), 8, 2)


@pytest.mark.parametrize("method", ["greedy", "beam", "sampling"])
def test_lengths_follow_the_source(method: str) -> None:
    source = torch.tensor([[10, 4, 4, 4, 4, 4, EOS], [11, EOS, 0, 0, 0, 0, 0]])
    config = SearchConfig.model_validate({"method": method, "min_length_ratio": 1.9, "max_length_ratio": 2.0})
    for seed in range(10):
        (longer,), (shorter,) = search(KnownModel(seed), source, config)
        assert 13 <= len(longer.tokens) + longer.finished <= 24  # 1.9 and 2.0 times 7, and 10 more
        assert 3 <= len(shorter.tokens) + shorter.finished <= 14


@pytest.mark.parametrize("method", ["greedy", "beam", "sampling"])
def test_ngrams_come_once(method: str) -> None:
    config = SearchConfig.model_validate({"method": method, "min_length_ratio": 5.0, "max_length_ratio": 9.0})
    for size in (0, 1, 2):
        found = search(KnownModel(4), SOURCE, config.model_copy(update={"no_repeat_ngram": size}))
        for (hypothesis,) in found:
            ngrams = list(zip(*(hypothesis.tokens[start:] for start in range(size or 1)), strict=False))
            assert (len(set(ngrams)) == len(ngrams)) == (size > 0)


@pytest.mark.parametrize("method", ["greedy", "beam", "sampling"])
def test_prefixes_go_before_lengths_and_ngrams(method: str) -> None:
    config = SearchConfig.model_validate({"method": method, "no_repeat_ngram": 1})
    prefixes = [[4, 4, 5, 5], [], [6] * 30]
    for prefix, (hypothesis,) in zip(prefixes, search(KnownModel(4), SOURCE, config, prefixes=prefixes), strict=True):
        assert list(hypothesis.tokens[: len(prefix)]) == prefix
        assert len(hypothesis.tokens) <= max(14, len(prefix) + 10)
        rest = hypothesis.tokens[len(prefix) :]
        assert len(set(rest) - set(prefix)) == len(rest)


def test_one_hypothesis_is_all_that_greedy_search_has() -> None:
    with pytest.raises(ConfigError, match=r"`search\.method: greedy` finds one translation of a sentence, not 3; use"):
        search(KnownModel(4), SOURCE, SearchConfig(method="greedy"), count=3)


def test_a_beam_has_no_more_hypotheses_than_its_width() -> None:
    with pytest.raises(ConfigError, match=r"a beam of 5 cannot find 6 .* set `search\.beam_size` to 6 or more"):
        search(KnownModel(4), SOURCE, SearchConfig(), count=6)


def test_no_hypothesis_is_too_few() -> None:
    with pytest.raises(InputError, match="0 translations of a sentence cannot be found; ask for 1 or more"):
        search(KnownModel(4), SOURCE, SearchConfig(method="sampling"), count=0)


@pytest.mark.parametrize("method", ["greedy", "beam", "sampling"])
def test_a_model_that_has_diverged_is_named_as_such(method: str) -> None:
    class Diverged(KnownModel):
        def logits(self, name: int, prefix: tuple[int, ...]) -> torch.Tensor:
            return super().logits(name, prefix) * float("nan")

    with pytest.raises(CheckpointError, match=r"probabilities that are not numbers .* take an earlier checkpoint"):
        search(Diverged(1), SOURCE, SearchConfig.model_validate({"method": method}))


@pytest.mark.parametrize("method", ["greedy", "beam", "sampling"])
def test_no_rows(method: str) -> None:
    config = SearchConfig.model_validate({"method": method, "min_length_ratio": 0.5, "no_repeat_ngram": 2})
    assert search(KnownModel(1), torch.empty(0, 4, dtype=torch.long), config, prefixes=[]) == []
