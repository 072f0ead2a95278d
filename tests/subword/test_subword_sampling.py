"""Subword regularization: random, but a pure function of seed and text, with the right distribution."""

import math
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sentences import ENGLISH, PERSIAN, trained, unigram
from translator.core import EOS, PAD, SOS, UNK
from translator.subword import SubwordModel
from translator.subword.subword_sampling import SubwordSampler

TEXTS = ENGLISH + PERSIAN


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SubwordModel:
    config = unigram(model_type=request.param, byte_fallback=True, vocabulary_size=380)
    return trained(TEXTS * 20, config, tmp_path_factory.mktemp("sampling") / "joint.model")


@settings(max_examples=60)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20), strength=st.floats(0.01, 0.99))
def test_a_sample_decodes_to_the_same_text(model: SubwordModel, text: str, strength: float) -> None:
    ids = model.sampler(strength).sample(text, "1")
    assert model.decode_ids([ids]) == model.decode_ids(model.encode([text]))
    assert {PAD, UNK, SOS, EOS}.isdisjoint(ids)


@pytest.mark.parametrize("model", ["bpe"], indirect=True)
def test_merges_that_are_never_dropped_give_the_plain_pieces(model: SubwordModel) -> None:
    sampler = model.sampler(1e-15)
    for text in [*TEXTS, "漢字 " + "x" * 20, "Ω" * 5]:
        assert sampler.sample(text, "1") == model.encode_one(text)


UNIGRAM = {"▁": -2.0, "a": -1.5, "b": -2.5, "▁a": -2.2, "ab": -2.7, "▁ab": -4.1}
SEGMENTATIONS: list[tuple[str, ...]] = [("▁", "a", "b"), ("▁", "ab"), ("▁a", "b"), ("▁ab",)]
BPE = {"ab": 0.0, "▁ab": -1.0, "▁": -2.0, "a": -3.0, "b": -4.0}


@pytest.mark.parametrize(
    ("scores", "strength", "expected", "first_draws"),
    [
        # In proportion to the probability of the pieces, raised to the power of the strength.
        (
            UNIGRAM,
            0.5,
            {s: math.exp(0.5 * sum(UNIGRAM[piece] for piece in s)) for s in SEGMENTATIONS},
            "▁|ab ▁|ab ▁|ab ▁a|b ▁ab ▁|ab ▁|ab ▁|a|b",
        ),
        # Each merge is dropped with a probability equal to the strength.
        (
            BPE,
            0.3,
            {("▁ab",): 0.7 * 0.7, ("▁", "ab"): 0.7 * 0.3, ("▁", "a", "b"): 0.3},
            "▁ab ▁|ab ▁ab ▁ab ▁|a|b ▁ab ▁ab ▁ab",
        ),
    ],
    ids=["unigram", "bpe"],
)
def test_segmentations_are_drawn_in_proportion_and_alike_for_ever(
    scores: Mapping[str, float], strength: float, expected: Mapping[tuple[str, ...], float], first_draws: str
) -> None:
    pieces = dict(enumerate(scores, start=4))
    ids = {piece: token for token, piece in pieces.items()}
    sampler = SubwordSampler(ids, scores, [], strength, lambda text: f"▁{text}")
    draws = [tuple(pieces[token] for token in sampler.sample("ab", str(seed))) for seed in range(4000)]
    counts = Counter(draws)
    assert counts.keys() == expected.keys()
    for segmentation, weight in expected.items():
        probability = weight / sum(expected.values())
        deviation = math.sqrt(probability * (1 - probability) / 4000)
        assert abs(counts[segmentation] / 4000 - probability) < 5 * deviation
    assert " ".join("|".join(segmentation) for segmentation in draws[:8]) == first_draws


def test_adjacent_unknown_characters_become_one_unk() -> None:
    sampler = SubwordSampler({"▁": 4, "a": 5}, {"▁": -1.0, "a": -1.5}, [], 0.2, lambda text: f"▁{text}")
    assert sampler.sample("漢字a", "1") == [4, UNK, 5]
