"""Weights from counts: tables against plain definitions, and a model that translates words before its first update."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
import torch

from translator.config import ModelConfig
from translator.model import Transformer
from translator.special_tokens import EOS, SOS
from translator.training import count_initialization
from translator.training.count_initialization import (
    initialize_from_counts,
    neighbour_vectors,
    translation_probabilities,
)

WORDS = 9
"""Words 4 to 12 of the source; word n is 16 - n on the other side, where the order is reversed."""
RANDOM = np.random.default_rng(1)
SOURCES = [RANDOM.integers(4, 4 + WORDS, RANDOM.integers(1, 5)).astype(np.int32) for _ in range(200)]
PAIRS = [(source, (16 - source[::-1]).astype(np.int32)) for source in SOURCES]


def plain_model_1(rounds: int) -> dict[tuple[int, int], float]:
    """Expectation maximization, one pair of words after the other."""
    table: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts: Counter[tuple[int, int]] = Counter()
        for source, target in PAIRS:
            for word in target.tolist():
                sides = [0, *source.tolist()]  # 0 is the empty word
                whole = sum(table[side, word] for side in sides)
                for side in sides:
                    counts[side, word] += table[side, word] / whole
        sums: dict[int, float] = defaultdict(float)
        for (side, _), count in counts.items():
            sums[side] += count
        table = defaultdict(float, {place: count / sums[place[0]] for place, count in counts.items()})
    return table


def test_translation_probabilities_are_those_of_model_1(monkeypatch: pytest.MonkeyPatch) -> None:
    table = translation_probabilities(PAIRS, 13, 13)
    plain = plain_model_1(count_initialization.ROUNDS)
    for source in range(4, 13):
        assert table[source].argmax() == 16 - source and table[source].sum() == pytest.approx(1.0)
        for target in range(4, 13):
            assert table[source, target] == pytest.approx(plain[source, target], abs=1e-5)
    monkeypatch.setattr(count_initialization, "_LINKS", 50)
    np.testing.assert_allclose(translation_probabilities(PAIRS, 13, 13), table, atol=1e-5)


def test_vectors_of_neighbours_have_their_information_as_product() -> None:
    sentences = [target for _, target in PAIRS]
    pairs = Counter((one, other) for row in sentences for one, other in zip([SOS, *row], [*row, EOS], strict=True))
    before, after = Counter[int](), Counter[int]()
    for (one, other), count in pairs.items():
        before[one] += count
        after[other] += count
    whole = sum((after[piece] + 1) ** 0.75 for piece in range(13))
    inputs, outputs = neighbour_vectors(sentences, 13, 16)
    for one in range(13):
        for other in range(13):
            share = pairs[one, other] / (before[one] + 1) / ((after[other] + 1) ** 0.75 / whole)
            expected = math.log(max(share, 1.0))
            assert float(inputs[one] @ outputs[other]) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_model_translates_words_before_its_first_update(norm: str) -> None:
    torch.manual_seed(1)
    sizes = {"d_model": 32, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 64, "dropout": 0.0}
    model = Transformer(ModelConfig.model_validate({**sizes, "tied_embeddings": "none", "norm": norm}), 13, 13).eval()
    initialize_from_counts(model, PAIRS)
    words = torch.arange(4, 13)
    source = torch.stack((words, torch.full_like(words, EOS)), dim=1)
    logits = model(source, torch.full((WORDS, 1), SOS))[:, 0, 4:]
    assert (logits.argmax(dim=1) + 4 == 16 - words).float().mean() > 0.8
