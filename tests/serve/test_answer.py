"""What a translation becomes in JSON: the weights between words are those between their pieces."""

from typing import Any

import numpy as np
import pytest
from echo_model import echo
from untrained import untrained_run

from translator import Translator
from translator.inference import AttentionMap
from translator.serve.answer import answer, word_weights

FIRST = AttentionMap(
    ["▁a", "b", "▁", "c", "</s>"],
    ["▁x", "▁y", "z", "</s>"],
    np.array(
        [[0.5, 0.25, 0.125, 0.125, 0], [0.01, 0, 0, 0, 0.99], [0, 0, 0.25, 0.25, 0.5], [0, 0, 0, 0, 1]], np.float32
    ),
)
STOPPED = AttentionMap(["▁d", "</s>"], ["▁w"], np.array([[0.75, 0.25]], np.float32))


def test_shares_are_summed_over_the_source_and_averaged_over_the_target() -> None:
    assert word_weights([FIRST]) == [[[0, 0.75], [1, 0.25]], [[1, 0.25]]]


def test_words_are_counted_through_all_parts() -> None:
    assert word_weights([FIRST, STOPPED])[2] == [[2, 0.75]]


def test_a_text_without_words_has_none() -> None:
    assert word_weights([AttentionMap(["</s>"], ["</s>"], np.ones((1, 1), np.float32))]) == []


def test_without_attention_it_is_what_the_command_line_writes() -> None:
    translator, _ = echo()
    (one,) = translator.translations(["a b"])[0]
    assert answer(one) == one.to_json()
    assert answer(translator.translations([""], attention=True)[0][0])["text"] == ""


@pytest.mark.parametrize("text", ["abc hgf", "abc", "a b c " * 20, "x!  ?"])
def test_there_are_weights_for_each_word_of_the_alignment(tiny: Any, text: str) -> None:
    translator = Translator.load(untrained_run(tiny("batching.max_length=12")).path)
    record = answer(translator.translations([text], attention=True)[0][0])
    source, target, weights = (record["alignment"][key] for key in ("source", "target", "weights"))
    assert len(weights) == len(target)
    for of_word in weights:
        assert all(0 <= number < len(source) and 0.01 <= share <= 1.0005 for number, share in of_word)
        assert sum(share for _, share in of_word) <= 1.01
    best = [max(of_word, key=lambda one: one[1])[1] for of_word in weights if of_word]
    paired = [
        dict(map(tuple, weights[of])).get(source, 0) for source, of in record["alignment"]["pairs"] if weights[of]
    ]
    assert paired == pytest.approx(best, abs=0.0011), "the pair is the word that was looked at most"
