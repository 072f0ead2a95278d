"""Subword regularization: random, but a pure function of seed, place and text, with the right distribution."""

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subword.sentences import ENGLISH, PERSIAN, unigram

from translator.special_tokens import EOS, PAD, SOS, UNK
from translator.subword import SubwordModel, sampling
from translator.subword.sampling import SubwordSampler

TEXTS = (ENGLISH + PERSIAN) * 3
PLACES = [str(number) for number in range(len(TEXTS))]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sampling") / "joint.model"
    config = unigram(model_type=request.param, byte_fallback=True, vocabulary_size=380)
    SubwordModel.train((ENGLISH + PERSIAN) * 20, config, path)
    return path


@pytest.fixture(scope="module")
def model(file: Path) -> SubwordModel:
    return SubwordModel.load(file)


def draw(model: SubwordModel, seed: str = "1", strength: float = 0.2, texts: Sequence[str] = TEXTS) -> list[list[int]]:
    return model.sampler(strength, seed).sample(texts, [str(number) for number in range(len(texts))])


def test_pieces_depend_on_seed_place_and_text(model: SubwordModel, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = draw(model)
    sampler = model.sampler(0.2, "1")
    backwards = [sampler.sample([TEXTS[number]], [PLACES[number]])[0] for number in reversed(range(len(TEXTS)))]
    assert backwards[::-1] == first, "a text's pieces depend on nothing that was sampled before"
    assert draw(SubwordModel.load(file)) == first
    drawn = [first, draw(model, "2"), draw(model, strength=0.5), sampler.sample(TEXTS, PLACES[::-1])]
    assert all(drawn[i] != drawn[j] for i in range(len(drawn)) for j in range(i))
    monkeypatch.setattr(sampling, "_WORDS_KEPT", 2)
    forgetful = model.sampler(0.2, "1")
    assert [forgetful.sample(TEXTS, PLACES) for _ in range(2)] == [first] * 2


def test_another_process_draws_the_same_samples(model: SubwordModel, file: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from translator.subword import SubwordModel; "
        "print(SubwordModel.load(Path(sys.argv[1])).sampler(0.2, '5').sample(sys.argv[2:], 'abcdefgh'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(file), *ENGLISH], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(model.sampler(0.2, "5").sample(ENGLISH, "abcdefgh"))


@settings(deadline=None, max_examples=60)
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=3),
    strength=st.floats(0.01, 0.99),
    seed=st.text(max_size=5),
)
def test_a_sample_decodes_to_the_same_text(model: SubwordModel, texts: list[str], strength: float, seed: str) -> None:
    texts = [*texts, PERSIAN[1], "", "  "]
    rows = draw(model, seed.encode("utf-8", "ignore").decode(), strength, texts)
    assert model.decode_ids(rows) == model.decode_ids(model.encode(texts))
    assert not {PAD, UNK, SOS, EOS} & {token for row in rows for token in row}


def test_merges_that_are_never_dropped_give_the_plain_pieces(tmp_path: Path) -> None:
    config = unigram(model_type="bpe", byte_fallback=True, vocabulary_size=380)
    model = SubwordModel.train((ENGLISH + PERSIAN) * 20, config, tmp_path / "bpe.model")
    texts = [*TEXTS, "漢字 " + "x" * 20, "Ω" * 5]
    assert draw(model, strength=1e-15, texts=texts) == model.encode(texts)


def segmentations(pieces: dict[str, tuple[int, float]], strength: float, word: str) -> Counter[tuple[int, ...]]:
    """Return how often each segmentation of a word comes in 8,000 draws: 1,000 seeds, 8 places."""
    found: Counter[tuple[int, ...]] = Counter()
    for seed in range(1000):
        sampler = SubwordSampler(pieces, [], strength, str(seed), lambda text: f"▁{text}")
        found.update(map(tuple, sampler.sample([word] * 8, [str(place) for place in range(8)])))
    return found


def assert_shares(drawn: Counter[tuple[int, ...]], shares: dict[tuple[int, ...], float]) -> None:
    assert drawn.keys() == shares.keys()
    for ids, share in shares.items():
        # Eight places share 16 candidates, which makes the deviation up to 1.5 times that of independent draws.
        assert abs(drawn[ids] / drawn.total() - share) < 5 * 1.25 * math.sqrt(share * (1 - share) / drawn.total())


def test_unigram_segmentations_are_drawn_in_proportion_to_probability() -> None:
    scores = {"▁": -2.0, "a": -1.5, "b": -2.5, "▁a": -2.2, "ab": -2.7, "▁ab": -4.1}
    pieces = {piece: (number + 4, score) for number, (piece, score) in enumerate(scores.items())}
    ways = (["▁", "a", "b"], ["▁", "ab"], ["▁a", "b"], ["▁ab"])
    weights = {tuple(pieces[piece][0] for piece in way): math.exp(sum(scores[p] for p in way) / 2) for way in ways}
    total = sum(weights.values())
    assert_shares(segmentations(pieces, 0.5, "ab"), {ids: weight / total for ids, weight in weights.items()})


def test_each_merge_is_dropped_with_probability_equal_to_the_strength() -> None:
    pieces = {"ab": (4, 0.0), "▁ab": (5, -1.0), "▁": (6, -2.0), "a": (7, -3.0), "b": (8, -4.0)}
    assert_shares(segmentations(pieces, 0.3, "ab"), {(5,): 0.7 * 0.7, (6, 4): 0.7 * 0.3, (6, 7, 8): 0.3})


def test_adjacent_unknown_characters_become_one_unk(tmp_path: Path) -> None:
    for kind in ("unigram", "bpe"):
        model = SubwordModel.train(ENGLISH * 20, unigram(model_type=kind), tmp_path / f"{kind}.model")
        (row,) = draw(model, texts=["I 漢字 go"])
        assert row.count(UNK) == 1 and model.decode_ids([row]) == ["I ⁇ go"]


def test_a_very_long_word_is_sampled_alike_at_both_ends() -> None:
    pieces = {"▁": (4, -9.5), "a": (5, -9.5), "aa": (6, -18.5)}
    (ids,) = SubwordSampler(pieces, [], 0.9, "1", lambda text: f"▁{text}").sample(["a" * 3000], ["1"])
    assert sum(2 if token == 6 else 1 for token in ids) == 3001
    assert all(200 < part.count(6) < 400 for part in (ids[:800], ids[-800:]))
