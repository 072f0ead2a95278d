"""Subword regularization: random, but a pure function of seed and text, with the right distribution."""

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sentences import ENGLISH, PERSIAN, trained, unigram
from translator.core import EOS, PAD, SOS, UNK
from translator.subword import SubwordModel
from translator.subword.subword_sampling import SubwordSampler

TEXTS = ENGLISH + PERSIAN


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sampling") / "joint.model"
    trained(TEXTS * 20, unigram(model_type=request.param, byte_fallback=True, vocabulary_size=380), path)
    return path


@pytest.fixture(scope="module")
def model(file: Path) -> SubwordModel:
    return SubwordModel.load(file)


def samples(model: SubwordModel, seed: str = "1", strength: float = 0.2) -> list[list[int]]:
    sampler = model.sampler(strength)
    return [sampler.sample(text, seed) for text in TEXTS]


def test_samples_depend_on_seed_and_strength_and_on_nothing_sampled_before(model: SubwordModel) -> None:
    sampler = model.sampler(0.2)
    backwards = [sampler.sample(text, "1") for text in reversed(TEXTS)]
    assert backwards[::-1] == samples(model)
    assert samples(model) != samples(model, seed="2")
    assert samples(model) != samples(model, strength=0.5)


def test_another_process_draws_the_same_samples(model: SubwordModel, file: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from translator.subword import SubwordModel; "
        "print(SubwordModel.load(Path(sys.argv[1])).sampler(0.2).sample(sys.argv[2], '5'))"
    )
    command = [sys.executable, "-c", program, str(file), ENGLISH[0]]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == str(model.sampler(0.2).sample(ENGLISH[0], "5"))


@settings(deadline=None, max_examples=60)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20), strength=st.floats(0.01, 0.99))
def test_a_sample_decodes_to_the_same_text(model: SubwordModel, text: str, strength: float) -> None:
    ids = model.sampler(strength).sample(text, "1")
    assert model.decode_ids([ids]) == model.decode_ids(model.encode([text]))
    assert {PAD, UNK, SOS, EOS}.isdisjoint(ids)


def test_merges_that_are_never_dropped_give_the_plain_pieces(tmp_path: Path) -> None:
    config = unigram(model_type="bpe", byte_fallback=True, vocabulary_size=380)
    model = trained(TEXTS * 20, config, tmp_path / "bpe.model")
    sampler = model.sampler(1e-15)
    for text in [*TEXTS, "漢字 " + "x" * 20, "Ω" * 5]:
        assert sampler.sample(text, "1") == model.encode_one(text)


def assert_drawn_in_proportion(
    scores: Mapping[str, float], strength: float, expected: Mapping[tuple[str, ...], float]
) -> None:
    """Assert that 4,000 draws of `ab` have the `expected` weights of segmentations."""
    ids = {piece: token for token, piece in enumerate(scores, start=4)}
    sampler = SubwordSampler(ids, scores, [], strength, lambda text: f"▁{text}")
    counts = Counter(tuple(sampler.sample("ab", str(seed))) for seed in range(4000))
    total = sum(expected.values())
    assert len(counts) == len(expected)
    for segmentation, weight in expected.items():
        probability = weight / total
        deviation = math.sqrt(probability * (1 - probability) / 4000)
        share = counts[tuple(ids[piece] for piece in segmentation)] / 4000
        assert abs(share - probability) < 5 * deviation


def test_unigram_segmentations_are_drawn_in_proportion_to_probability() -> None:
    scores = {"▁": -2.0, "a": -1.5, "b": -2.5, "▁a": -2.2, "ab": -2.7, "▁ab": -4.1}
    segmentations: list[tuple[str, ...]] = [("▁", "a", "b"), ("▁", "ab"), ("▁a", "b"), ("▁ab",)]
    weights = {}
    for segmentation in segmentations:
        weights[segmentation] = math.exp(0.5 * sum(scores[piece] for piece in segmentation))
    assert_drawn_in_proportion(scores, 0.5, weights)


def test_each_merge_is_dropped_with_probability_equal_to_the_strength() -> None:
    scores = {"ab": 0.0, "▁ab": -1.0, "▁": -2.0, "a": -3.0, "b": -4.0}
    expected = {("▁ab",): 0.7 * 0.7, ("▁", "ab"): 0.7 * 0.3, ("▁", "a", "b"): 0.3}
    assert_drawn_in_proportion(scores, 0.3, expected)


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_adjacent_unknown_characters_become_one_unk(tmp_path: Path, model_type: str) -> None:
    model = trained(ENGLISH * 20, unigram(model_type=model_type), tmp_path / "source.model")
    ids = model.sampler(0.2).sample("I 漢字 go", "1")
    assert model.decode_ids([ids]) == ["I ⁇ go"]
