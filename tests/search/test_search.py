"""Search with a real model, and the search that a configuration asks for."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.support.known_model import KnownModel, assert_same_hypotheses, sources
from tests.support.search_settings import beam
from tests.support.searching import search
from translator.config import SearchConfig
from translator.core import EOS, PAD, SOS, UNK
from translator.core.hypothesis import Hypothesis
from translator.core.layers import NetworkSettings
from translator.core.search import beam_search
from translator.core.transformer import Transformer
from translator.search.token_sampling import sample_hypotheses

VOCABULARY = 24
SENTENCES = 12
METHODS = [
    SearchConfig(method="greedy"),
    SearchConfig(beam_size=4, length_penalty=0.0),
    SearchConfig(beam_size=3, length_normalization="average", min_length_ratio=0.8, no_repeat_ngram=2),
    SearchConfig(method="sampling", temperature=1.2, top_k=12, top_p=0.95),
]
with_every_method = pytest.mark.parametrize("config", METHODS, ids=lambda config: f"{config.method}-{config.beam_size}")
by_name = pytest.mark.parametrize("method", ["greedy", "beam", "sampling"])

PREFIXES = [[UNK, 9, 9, 9], [], [7], [6, 8] * 8, *[[]] * 8]


def count_of(config: SearchConfig) -> int:
    return 1 if config.method == "greedy" else 3


@pytest.fixture(scope="module")
def model() -> Transformer:
    """Random weights, strong enough that sentences differ, with EOS made likelier so that lengths vary."""
    torch.manual_seed(5)
    settings = NetworkSettings(32, 4, 2, 2, feed_forward=64, tied_embeddings="none", max_positions=48)
    model = Transformer(settings, VOCABULARY, VOCABULARY)
    assert model.own_head is not None
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.25 * torch.randn_like(weight))
        model.own_head.weight[EOS] += 0.3 * model.own_head.weight[5:].mean(0) + 0.2
    return model.eval()


@pytest.fixture(scope="module")
def source() -> Tensor:
    rows = torch.randint(4, VOCABULARY, (SENTENCES, 11), generator=torch.Generator().manual_seed(3))
    ends = (3 + torch.arange(SENTENCES) % 8).unsqueeze(1)
    places = torch.arange(11)
    return rows.masked_fill(places == ends, EOS).masked_fill(places > ends, PAD)


def teacher_forced_scores(model: Transformer, source: Tensor, hypothesis: Hypothesis) -> list[float]:
    """Return the log-probability of each token of `hypothesis`, from one pass over all of them."""
    labels = [*hypothesis.tokens, EOS] if hypothesis.finished else [*hypothesis.tokens]
    target_input = torch.tensor([[SOS, *labels[:-1]]])
    without_pad = source[source != PAD].unsqueeze(0)
    log_probabilities = model(without_pad, target_input)[0].log_softmax(-1)
    return [log_probabilities[place, label].item() for place, label in enumerate(labels)]


@with_every_method
@pytest.mark.parametrize("prefixes", [[], PREFIXES], ids=["free", "forced"])
@torch.no_grad()
def test_search_scores_equal_those_of_teacher_forcing(
    model: Transformer, source: Tensor, config: SearchConfig, prefixes: list[list[int]]
) -> None:
    results = search(model, source, config, count=count_of(config), prefixes=prefixes)
    for row, hypotheses in zip(source, results, strict=True):
        for hypothesis in hypotheses:
            expected = teacher_forced_scores(model, row, hypothesis)
            assert hypothesis.score == pytest.approx(sum(expected), abs=1e-5)
            assert hypothesis.token_scores == pytest.approx(expected, abs=1e-5)


@with_every_method
def test_different_sentences_have_different_outputs(model: Transformer, source: Tensor, config: SearchConfig) -> None:
    results = search(model, source, config)
    assert len({hypotheses[0].tokens for hypotheses in results}) > SENTENCES // 2


@with_every_method
def test_outputs_begin_with_their_prefixes(model: Transformer, source: Tensor, config: SearchConfig) -> None:
    results = search(model, source, config, count=count_of(config), prefixes=PREFIXES)
    for prefix, hypotheses in zip(PREFIXES, results, strict=True):
        for hypothesis in hypotheses:
            assert list(hypothesis.tokens[: len(prefix)]) == prefix


@with_every_method
def test_special_tokens_are_produced_only_if_forced(model: Transformer, source: Tensor, config: SearchConfig) -> None:
    results = search(model, source, config, count=count_of(config), prefixes=PREFIXES)
    for prefix, hypotheses in zip(PREFIXES, results, strict=True):
        for hypothesis in hypotheses:
            assert {PAD, UNK, SOS, EOS}.isdisjoint(hypothesis.tokens[len(prefix) :])


@with_every_method
def test_a_sentence_alone_has_the_hypotheses_that_it_has_in_a_batch(
    model: Transformer, source: Tensor, config: SearchConfig
) -> None:
    count = count_of(config)
    together = search(model, source, config, count=count)
    for row, expected in zip(source, together, strict=True):
        (alone,) = search(model, row[row != PAD].unsqueeze(0), config, count=count)
        assert_same_hypotheses(alone, expected)


@with_every_method
def test_the_order_of_a_batch_does_not_matter(model: Transformer, source: Tensor, config: SearchConfig) -> None:
    forwards = search(model, source, config, count=count_of(config))
    backwards = search(model, source.flip(0), config, count=count_of(config))
    for hypotheses, expected in zip(reversed(backwards), forwards, strict=True):
        assert_same_hypotheses(hypotheses, expected)


class RefusesFloat64(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Fails on any float64 result, which Apple's GPUs cannot compute."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is not torch.ops.aten.lift_fresh.default:  # lifts the noise, drawn on the CPU
            for leaf in tree_leaves(result):
                assert not isinstance(leaf, Tensor) or leaf.dtype != torch.float64, func
        return result


@with_every_method
@torch.no_grad()
def test_search_without_float64_finds_the_same_tokens(
    model: Transformer, source: Tensor, config: SearchConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = search(model, source, config)
    for function in ("core.search.widest_float", "search.token_sampling.widest_float"):
        monkeypatch.setattr(f"translator.{function}", lambda device: torch.float32)
    with RefusesFloat64():  # type: ignore[no-untyped-call]
        results = search(model, source, config)
    for (hypothesis,), (expected_hypothesis,) in zip(results, expected, strict=True):
        assert hypothesis.tokens == expected_hypothesis.tokens


@with_every_method
@pytest.mark.parametrize(
    ("ratios", "limit"), [({"max_length_ratio": 100.0}, 48), ({"max_length_ratio": 0.01, "min_length_ratio": 0.0}, 10)]
)
def test_no_output_exceeds_the_length_limit_or_the_models_positions(
    model: Transformer, source: Tensor, config: SearchConfig, ratios: dict[str, float], limit: int
) -> None:
    results = search(model, source, config.model_copy(update=ratios))
    lengths = [len(hypothesis.tokens) + hypothesis.finished for (hypothesis,) in results]
    assert max(lengths) <= limit
    if config.method == "greedy":
        assert max(lengths) == limit, "this model repeats itself for ever on some sentence"


SOURCE = sources(10, 11, 12)
LONGEST = torch.tensor([14, 14, 14])  # twice the length of two tokens, plus ten


def test_the_method_greedy_is_a_beam_of_one() -> None:
    config = SearchConfig(method="greedy")
    model = KnownModel(4)
    assert search(model, SOURCE, config) == beam_search(model, SOURCE, LONGEST, beam(1))


def test_the_method_beam_has_the_configured_width_and_penalty() -> None:
    config = SearchConfig(beam_size=3, length_penalty=0.3, length_normalization="average")
    model = KnownModel(4)
    assert search(model, SOURCE, config, count=3) == beam_search(model, SOURCE, LONGEST, beam(3, 0.3, "average"), 3)


def test_the_method_sampling_has_the_configured_distribution() -> None:
    config = SearchConfig(method="sampling", temperature=0.7, top_k=3, top_p=0.9, seed=8)
    model = KnownModel(4)
    assert search(model, SOURCE, config, count=2) == sample_hypotheses(model, SOURCE, LONGEST, config, 2)


@by_name
def test_search_of_an_empty_batch_returns_an_empty_list(method: str) -> None:
    config = SearchConfig.model_validate({"method": method, "min_length_ratio": 0.5, "no_repeat_ngram": 2})
    assert search(KnownModel(1), torch.empty(0, 4, dtype=torch.long), config) == []
