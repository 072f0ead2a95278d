"""Sampling: its draws, its truncation, and its noise."""

from collections import Counter
from pathlib import Path

import pytest
import torch
import yaml

from tests.support.known_model import KnownModel, sources
from translator.config import SearchConfig
from translator.core import EOS, PAD
from translator.search.token_sampling import draw, probabilities, sample_hypotheses, uniform_noise

TRUNCATIONS = yaml.safe_load(Path(__file__).with_name("truncation.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", range(5))
def test_draws_depend_neither_on_the_batch_nor_on_the_number_of_draws(seed: int) -> None:
    model = KnownModel(seed)
    config = SearchConfig(temperature=1.3, seed=seed)
    names, limits = [12, 10, 13, 11], [6, 8, 1, 3]
    results = sample_hypotheses(model, sources(*names), torch.tensor(limits), config, 3)
    for name, limit, hypotheses in zip(names, limits, results, strict=True):
        alone, more_draws = (
            sample_hypotheses(model, sources(name), torch.tensor([limit]), config, count)[0] for count in (3, 5)
        )
        assert alone == hypotheses
        assert alone == more_draws[:3]


def test_tokens_are_drawn_in_proportion_to_their_probability() -> None:
    distributions = torch.tensor([[0, 0.2, 0.3, 0.5, 0]] * 1000, dtype=torch.float64)
    noise = torch.linspace(0, 1 - 2.0**-53, 1000, dtype=torch.float64)  # the extremes draw the first and the last
    assert Counter(draw(distributions, noise).tolist()) == {1: 200, 2: 300, 3: 500}


@pytest.mark.parametrize(("top_k", "top_p", "temperature", "expected"), TRUNCATIONS)
def test_truncation_keeps_the_likeliest_tokens(
    top_k: int, top_p: float, temperature: float, expected: list[float]
) -> None:
    logits = torch.tensor([[0.1, 0.2, 0.2, 0.5]]).log()
    config = SearchConfig(top_k=top_k, top_p=top_p, temperature=temperature)
    truncated = probabilities(logits, torch.zeros_like(logits, dtype=torch.bool), config)
    assert truncated[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_the_noise_is_the_same_on_every_machine() -> None:
    source = torch.tensor([[5, 6, EOS, PAD], [5, 6, 7, EOS], [8, EOS, PAD, PAD]])
    expected = [0.7221312613312465, 0.9959387866659966, 0.7393496623647781]
    assert uniform_noise(source, 1, 1, 2)[:, 0, 1].tolist() == expected
