"""Weights from counts: tables against plain definitions, and a model that translates words before its first update."""

import itertools
from collections import defaultdict
from typing import Literal

import numpy as np
import pytest
import torch

from translator.core import EOS, SOS
from translator.core.layers import NetworkSettings, NormOrder
from translator.core.transformer import Transformer
from translator.speed import count_initialization
from translator.speed.count_initialization import (
    initialize_from_counts,
    neighbour_vectors,
    translation_probabilities,
)
from translator.subword.block_encoding import FlatRows

WORDS = 9
"""Source words 4 to 12, each followed by one of two; a target has the word 16 - n for each n, in reverse order."""
RANDOM = np.random.default_rng(1)
STEPS = [np.append(RANDOM.integers(0, WORDS), RANDOM.choice((1, 4), RANDOM.integers(0, 6))) for _ in range(300)]
SOURCES = [(4 + steps.cumsum() % WORDS).astype(np.int32) for steps in STEPS]
PAIRS = [(source, (16 - source[::-1]).astype(np.int32)) for source in SOURCES]
SOURCE_ROWS = FlatRows.of([source.tolist() for source, _ in PAIRS])
TARGET_ROWS = FlatRows.of([target.tolist() for _, target in PAIRS])


def plain_model_1(rounds: int) -> dict[tuple[int, int], float]:
    """Return the probability of each target word given a source word, by IBM Model 1 as Brown et al. define it."""
    table: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        # Each target word is shared among the words of its source, in proportion to the table so far.
        for source, target in PAIRS:
            source_words = [0, *source.tolist()]  # 0 is the empty word
            for target_word in target.tolist():
                total = sum(table[source_word, target_word] for source_word in source_words)
                for source_word in source_words:
                    counts[source_word, target_word] += table[source_word, target_word] / total

        # The probabilities of a source word sum to 1.
        sums: dict[int, float] = defaultdict(float)
        for (source_word, _), count in counts.items():
            sums[source_word] += count
        table = defaultdict(float)
        for (source_word, target_word), count in counts.items():
            table[source_word, target_word] = count / sums[source_word]
    return table


@pytest.mark.parametrize("links", [count_initialization._LINKS, 50])
def test_translation_probabilities_are_those_of_ibm_model_1_for_any_number_of_links_at_a_time(
    links: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(count_initialization, "_LINKS", links)
    table = translation_probabilities(SOURCE_ROWS, TARGET_ROWS, 13, 13)
    plain = plain_model_1(count_initialization.ROUNDS)
    for source, target in itertools.product(range(4, 13), repeat=2):
        assert table[source, target] == pytest.approx(plain[source, target], abs=1e-5)


def test_neighbour_vectors_match_a_plain_svd_of_mutual_information() -> None:
    # How often each word has each other one behind it, and before it, in the window.
    sentences = [target for _, target in PAIRS]
    after = np.zeros((13, 13))
    for sentence in sentences:
        for place, later_place in itertools.combinations(range(len(sentence)), 2):
            if later_place - place <= count_initialization.WINDOW:
                after[sentence[place], sentence[later_place]] += 1
    counts = np.hstack([after, after.T])

    # Positive mutual information, with one more count for each sum and a power that flattens the frequencies.
    shares = counts / (counts.sum(axis=1, keepdims=True) + 1)
    frequencies = (counts.sum(axis=0) + 1) ** 0.75
    expected_shares = frequencies / frequencies.sum()
    information = np.log(np.maximum(shares / expected_shares, 1))

    # The vectors are unique up to a rotation, so their products are compared.
    directions, values, _ = np.linalg.svd(information)
    expected_products = directions * values @ directions.T
    vectors = neighbour_vectors(TARGET_ROWS, 13, 16).numpy()
    np.testing.assert_allclose(vectors @ vectors.T, expected_products, atol=1e-3)


def test_a_source_row_is_the_mean_head_row_of_its_translations_beyond_their_frequency() -> None:
    model = Transformer(NetworkSettings(32, 2, 1, 1, feed_forward=64), 13, 13)
    initialize_from_counts(model, SOURCE_ROWS, TARGET_ROWS)
    table = torch.from_numpy(translation_probabilities(SOURCE_ROWS, TARGET_ROWS, 13, 13))
    frequencies = torch.bincount(torch.from_numpy(TARGET_ROWS.ids), minlength=13) / len(TARGET_ROWS.ids)
    expected = (table - frequencies / 2).clamp(min=0) @ model.head_weight
    directions = torch.nn.functional.normalize(expected[4:])
    torch.testing.assert_close(model.source_embedding.tokens.weight[4:], directions)


@pytest.mark.parametrize(("norm", "tied"), [("pre", "none"), ("post", "target")])
def test_a_model_translates_words_before_its_first_update(norm: NormOrder, tied: Literal["none", "target"]) -> None:
    torch.manual_seed(1)
    settings = NetworkSettings(32, 2, 2, 2, feed_forward=64, norm=norm, tied_embeddings=tied)
    model = Transformer(settings, 13, 13).eval()
    initialize_from_counts(model, SOURCE_ROWS, TARGET_ROWS)

    # Each source is one word.
    words = torch.arange(4, 13)
    source = torch.stack((words, torch.full_like(words, EOS)), dim=1)  # (WORDS, 2)
    target_input = torch.full((WORDS, 1), SOS)
    logits = model(source, target_input)[:, 0, 4:]  # (WORDS, WORDS)

    raised = logits - logits.mean(dim=0)  # the effect of the source word, without that of the sentence start
    translations = raised.argmax(dim=1) + 4
    assert torch.equal(translations, 16 - words)
