"""The drawn attention is that of the translator, with queries and keys of its kind."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.untrained import untrained_run
from translator import Translator
from translator.errors import InputError
from translator.plots.attention import SentenceAttention, sentence_attention


@pytest.fixture
def run(tiny: Any) -> Path:
    return untrained_run(tiny("model.encoder_layers=2", "model.decoder_layers=2", "search.max_length_ratio=2.0")).path


def test_cross_attention_equals_that_of_the_translator(run: Path) -> None:
    expected = Translator.load(run, engine="torch").attention("abc de")
    attention = sentence_attention(run, "abc de")
    assert (attention.queries, attention.keys) == (expected.target, expected.source)
    ((title, weights),) = attention.panels().items()
    assert title == "layer 2, mean of 2 heads"
    assert np.allclose(weights, expected.weights, atol=1e-6)


def test_decoder_attention_looks_at_no_later_position(run: Path) -> None:
    attention = sentence_attention(run, "abc", kind="decoder")
    assert attention.queries[0] == "<s>"
    assert not np.triu(attention.weights, 1).any()


def test_encoder_attention_is_between_source_pieces(run: Path) -> None:
    attention = sentence_attention(run, "abc", kind="encoder")
    assert attention.queries == attention.keys
    assert attention.queries[-1] == "</s>"


def test_a_text_without_words_is_refused(run: Path) -> None:
    with pytest.raises(InputError, match="the text has no words"):
        sentence_attention(run, " ")


def four_maps() -> SentenceAttention:
    """Two layers of two heads, with 0, 1, 2 and 3 as their only weights."""
    weights = np.arange(4, dtype=np.float32).reshape(2, 2, 1, 1)
    return SentenceAttention(kind="encoder", queries=["a"], keys=["a"], weights=weights)


@pytest.mark.parametrize(
    ("layer", "head", "panels"),
    [
        ("last", "mean", {"layer 2, mean of 2 heads": 2.5}),
        ("1", "2", {"layer 1, head 2": 1.0}),
        ("all", "1", {"layer 1, head 1": 0.0, "layer 2, head 1": 2.0}),
        ("2", "all", {"layer 2, head 1": 2.0, "layer 2, head 2": 3.0}),
    ],
)
def test_layers_and_heads_are_chosen_by_word_or_number(layer: str, head: str, panels: dict[str, float]) -> None:
    assert {title: weights.item() for title, weights in four_maps().panels(layer, head).items()} == panels


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        ("3", "mean", "--layer 3 does not exist in this model; give a number from 1 to 2, last or all"),
        ("last", "0", "--head 0 does not exist in this model; give a number from 1 to 2, mean or all"),
    ],
)
def test_a_layer_or_head_that_does_not_exist_is_refused(layer: str, head: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        four_maps().panels(layer, head)
