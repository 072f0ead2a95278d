"""Searches of every method with a real model."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.support.searching import search
from translator.config import SearchConfig
from translator.core import EOS, PAD, SOS, UNK
from translator.core.hypothesis import Hypothesis
from translator.core.layers import NetworkSettings
from translator.core.transformer import Transformer

VOCABULARY = 24
SENTENCES = 8
METHODS = [
    SearchConfig(beam_size=4, length_penalty=0.0),
    SearchConfig(beam_size=3, length_normalization="average", min_length_ratio=0.8, no_repeat_ngram=2),
    SearchConfig(method="sampling", temperature=1.2, top_k=12, top_p=0.95),
]
with_every_method = pytest.mark.parametrize("config", METHODS, ids=lambda config: f"{config.method}-{config.beam_size}")

PREFIXES = [[UNK, 9, 9, 9], [], [7], [6, 8] * 8, *[[]] * 4]


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
@torch.no_grad()
def test_hypotheses_begin_with_their_prefix_and_have_the_scores_of_teacher_forcing(
    model: Transformer, source: Tensor, config: SearchConfig
) -> None:
    results = search(model, source, config, count=3, prefixes=PREFIXES)
    for row, prefix, hypotheses in zip(source, PREFIXES, results, strict=True):
        for hypothesis in hypotheses:
            assert list(hypothesis.tokens[: len(prefix)]) == prefix
            assert {PAD, UNK, SOS, EOS}.isdisjoint(hypothesis.tokens[len(prefix) :])
            expected = teacher_forced_scores(model, row, hypothesis)
            assert hypothesis.score == pytest.approx(sum(expected), rel=2e-6, abs=1e-5)
            assert hypothesis.token_scores == pytest.approx(expected, abs=1e-5)


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
