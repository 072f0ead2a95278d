"""The drawn attention is that of the translator, with queries and keys of its kind."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.untrained import add_checkpoint, untrained_run
from translator import Translator
from translator.data import DataHandler
from translator.errors import InputError
from translator.plots.attention import chosen_maps, sentence_attention
from translator.run.folder import RunFolder


@pytest.fixture
def run(tiny: Any) -> Path:
    return untrained_run(tiny("model.encoder_layers=2", "model.decoder_layers=2", "search.max_length_ratio=2.0")).path


def test_cross_attention_equals_that_of_the_translator_at_the_named_checkpoint(run: Path) -> None:
    config = RunFolder(run).config()
    add_checkpoint(RunFolder(run), config, DataHandler(config), step=9)
    queries, keys, weights = sentence_attention(run, "abc de", checkpoint="5")
    expected = Translator.load(run, engine="torch", checkpoint="5").attention("abc de")
    assert (queries, keys) == (expected.target, expected.source)
    assert np.allclose(weights[-1].mean(axis=0), expected.weights, atol=1e-6)


def test_each_kind_of_attention_has_its_queries_and_keys(run: Path) -> None:
    queries, _, weights = sentence_attention(run, "abc", "decoder")
    assert queries[0] == "<s>"
    assert not np.triu(weights, 1).any(), "no later position is looked at"
    queries, keys, _ = sentence_attention(run, "abc", "encoder")
    assert queries == keys
    assert queries[-1] == "</s>"
    with pytest.raises(InputError, match="the text has no words"):
        sentence_attention(run, " ")


TWO_LAYERS_OF_TWO_HEADS = np.arange(4, dtype=np.float32).reshape(2, 2, 1, 1)
"""Maps of one weight each, which is 0, 1, 2 or 3."""


@pytest.mark.parametrize(
    ("layer", "head", "rows"),
    [
        ("last", "mean", [[("layer 2, mean of 2 heads", 2.5)]]),
        ("1", "2", [[("layer 1, head 2", 1.0)]]),
        ("all", "1", [[("layer 1, head 1", 0.0)], [("layer 2, head 1", 2.0)]]),
    ],
)
def test_layers_and_heads_are_chosen_by_word_or_number(
    layer: str, head: str, rows: list[list[tuple[str, float]]]
) -> None:
    chosen = chosen_maps(TWO_LAYERS_OF_TWO_HEADS, layer, head)
    assert [[(title, weights.item()) for title, weights in row] for row in chosen] == rows


@pytest.mark.parametrize(
    ("layer", "head", "message"),
    [
        ("3", "mean", "--layer 3 does not exist in this model; give a number from 1 to 2, last or all"),
        ("last", "0", "--head 0 does not exist in this model; give a number from 1 to 2, mean or all"),
    ],
)
def test_a_layer_or_head_that_does_not_exist_is_refused(layer: str, head: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen_maps(TWO_LAYERS_OF_TWO_HEADS, layer, head)
