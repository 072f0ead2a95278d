"""Subword regularization: random, but a pure function of seed, place and text, with the right distribution."""

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sentences import ENGLISH, PERSIAN, trained, unigram
from translator.core import EOS, PAD, SOS, UNK
from translator.subword import SubwordModel, subword_sampling
from translator.subword.subword_sampling import ScoredPiece, SubwordSampler

TEXTS = (ENGLISH + PERSIAN) * 3
PLACES = [str(number) for number in range(len(TEXTS))]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sampling") / "joint.model"
    config = unigram(model_type=request.param, byte_fallback=True, vocabulary_size=380)
    trained((ENGLISH + PERSIAN) * 20, config, path)
    return path


@pytest.fixture(scope="module")
def model(file: Path) -> SubwordModel:
    return SubwordModel.load(file)


def samples(
    model: SubwordModel, seed: str = "1", strength: float = 0.2, texts: Sequence[str] = TEXTS
) -> list[list[int]]:
    places = [str(number) for number in range(len(texts))]
    return model.sampler(strength, seed).sample(texts, places)


def test_a_sample_depends_on_nothing_that_was_sampled_before(model: SubwordModel) -> None:
    sampler = model.sampler(0.2, "1")
    backwards = []
    for text, place in zip(reversed(TEXTS), reversed(PLACES), strict=True):
        backwards += sampler.sample([text], [place])
    assert backwards[::-1] == samples(model)


def test_a_model_that_is_loaded_again_draws_the_same_samples(model: SubwordModel, file: Path) -> None:
    assert samples(SubwordModel.load(file)) == samples(model)


def test_samples_differ_between_seeds_strengths_and_places(model: SubwordModel) -> None:
    sample_sets = [
        samples(model),
        samples(model, seed="2"),
        samples(model, strength=0.5),
        model.sampler(0.2, "1").sample(TEXTS, PLACES[::-1]),
    ]
    for number, rows in enumerate(sample_sets):
        assert rows not in sample_sets[:number]


def test_a_full_cache_does_not_change_samples(model: SubwordModel, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = samples(model)
    monkeypatch.setattr(subword_sampling, "_MAX_CACHED_WORDS", 2)
    sampler = model.sampler(0.2, "1")
    for _ in range(2):
        assert sampler.sample(TEXTS, PLACES) == expected


def test_another_process_draws_the_same_samples(model: SubwordModel, file: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from translator.subword import SubwordModel; "
        "print(SubwordModel.load(Path(sys.argv[1])).sampler(0.2, '5').sample(sys.argv[2:], 'abcdefgh'))"
    )
    process = subprocess.run(
        [sys.executable, "-c", program, str(file), *ENGLISH], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == str(model.sampler(0.2, "5").sample(ENGLISH, "abcdefgh"))


@settings(deadline=None, max_examples=60)
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=3),
    strength=st.floats(0.01, 0.99),
    seed=st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)
def test_a_sample_decodes_to_the_same_text(model: SubwordModel, texts: list[str], strength: float, seed: str) -> None:
    texts = [*texts, PERSIAN[1], "", "  "]
    rows = samples(model, seed, strength, texts)
    assert model.decode_ids(rows) == model.decode_ids(model.encode(texts))
    for row in rows:
        assert {PAD, UNK, SOS, EOS}.isdisjoint(row)


def test_merges_that_are_never_dropped_give_the_plain_pieces(tmp_path: Path) -> None:
    config = unigram(model_type="bpe", byte_fallback=True, vocabulary_size=380)
    model = trained((ENGLISH + PERSIAN) * 20, config, tmp_path / "bpe.model")
    texts = [*TEXTS, "漢字 " + "x" * 20, "Ω" * 5]
    assert samples(model, strength=1e-15, texts=texts) == model.encode(texts)


def pieces_of_scores(scores: Mapping[str, float]) -> dict[str, ScoredPiece]:
    """Return the pieces with ids from 4, in the order of `scores`."""
    return {piece: ScoredPiece(token, score) for token, (piece, score) in enumerate(scores.items(), 4)}


def assert_drawn_in_proportion(
    pieces: dict[str, ScoredPiece], strength: float, word: str, expected: Mapping[tuple[str, ...], float]
) -> None:
    """Assert that 8,000 draws (1,000 seeds, 8 places) have the `expected` probabilities of segmentations."""
    places = [str(place) for place in range(8)]
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(1000):
        sampler = SubwordSampler(pieces, [], strength, str(seed), lambda text: f"▁{text}")
        for ids in sampler.sample([word] * len(places), places):
            counts[tuple(ids)] += 1
    draws = counts.total()

    probabilities = {}
    for segmentation, probability in expected.items():
        segmentation_ids = tuple(pieces[piece].token for piece in segmentation)
        probabilities[segmentation_ids] = probability
    assert counts.keys() == probabilities.keys()
    for segmentation_ids, probability in probabilities.items():
        # Eight places share 16 candidates, which makes the deviation up to 1.5 times that of independent draws.
        deviation = 1.25 * math.sqrt(probability * (1 - probability) / draws)
        share = counts[segmentation_ids] / draws
        assert abs(share - probability) < 5 * deviation


def test_unigram_segmentations_are_drawn_in_proportion_to_probability() -> None:
    scores = {"▁": -2.0, "a": -1.5, "b": -2.5, "▁a": -2.2, "ab": -2.7, "▁ab": -4.1}
    strength = 0.5
    segmentations: list[tuple[str, ...]] = [("▁", "a", "b"), ("▁", "ab"), ("▁a", "b"), ("▁ab",)]
    weights = {}
    for segmentation in segmentations:
        log_probability = sum(scores[piece] for piece in segmentation)
        weights[segmentation] = math.exp(strength * log_probability)
    total = sum(weights.values())
    expected = {segmentation: weight / total for segmentation, weight in weights.items()}
    assert_drawn_in_proportion(pieces_of_scores(scores), strength, "ab", expected)


def test_each_merge_is_dropped_with_probability_equal_to_the_strength() -> None:
    pieces = pieces_of_scores({"ab": 0.0, "▁ab": -1.0, "▁": -2.0, "a": -3.0, "b": -4.0})
    expected = {("▁ab",): 0.7 * 0.7, ("▁", "ab"): 0.7 * 0.3, ("▁", "a", "b"): 0.3}
    assert_drawn_in_proportion(pieces, 0.3, "ab", expected)


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_adjacent_unknown_characters_become_one_unk(tmp_path: Path, model_type: str) -> None:
    model = trained(ENGLISH * 20, unigram(model_type=model_type), tmp_path / "source.model")
    (row,) = samples(model, texts=["I 漢字 go"])
    assert row.count(UNK) == 1
    assert model.decode_ids([row]) == ["I ⁇ go"]


def test_a_very_long_word_is_sampled_alike_at_its_beginning_and_at_its_end() -> None:
    pieces = {"▁": ScoredPiece(4, -9.5), "a": ScoredPiece(5, -9.5), "aa": ScoredPiece(6, -18.5)}
    double = pieces["aa"].token
    sampler = SubwordSampler(pieces, [], 0.9, "1", lambda text: f"▁{text}")
    (ids,) = sampler.sample(["a" * 3000], ["1"])
    assert len(ids) + ids.count(double) == 3001
    assert 200 < ids[:800].count(double) < 400
    assert 200 < ids[-800:].count(double) < 400
