"""Subword regularization: random, but the same for the same texts, strength and seed, wherever it is drawn."""

import math
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from subword.sentences import ENGLISH, PERSIAN, unigram, vocabulary

from translator.special_tokens import EOS, PAD, SOS, UNK
from translator.subword import SubwordModel, sampling
from translator.subword.sampling import SubwordSampler

TEXTS = (ENGLISH + PERSIAN) * 3


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model of both languages with bytes."""
    path = tmp_path_factory.mktemp("sampling") / "joint.model"
    config = unigram(model_type=request.param, byte_fallback=True, vocabulary_size=380)
    SubwordModel.train((ENGLISH + PERSIAN) * 20, config, path)
    return path


def _scores(file: Path) -> dict[str, float]:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(file))
    return {processor.id_to_piece(token): processor.get_score(token) for token in range(260, 300)}


@pytest.fixture(scope="module")
def model(file: Path) -> SubwordModel:
    return SubwordModel.load(file)


def test_the_same_seed_gives_the_same_pieces_whatever_came_before(model: SubwordModel, file: Path) -> None:
    first = model.sample(TEXTS, 0.2, 7)
    model.sample(TEXTS[:5], 0.5, 8)
    model.encode(TEXTS)
    assert model.sample(TEXTS, 0.2, 7) == first
    assert SubwordModel.load(file).sample(tuple(TEXTS), 0.2, 7) == first


def test_other_seeds_and_strengths_give_other_pieces(model: SubwordModel) -> None:
    drawn = [model.sample(TEXTS, 0.2, seed) for seed in (0, 1, 2**31, 2**32 - 1, 2**64, 2**100)]
    drawn.append(model.sample(TEXTS, 0.5, 1))
    assert all(drawn[i] != drawn[j] for i in range(len(drawn)) for j in range(i))


def test_the_same_text_is_cut_in_several_ways(model: SubwordModel) -> None:
    rows = model.sample([PERSIAN[0]] * 20, 0.2, 1)
    assert len({tuple(row) for row in rows}) > 5


def test_another_process_draws_the_same(model: SubwordModel, file: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from translator.subword import SubwordModel; "
        "print(SubwordModel.load(Path(sys.argv[1])).sample(sys.argv[2:], 0.2, 5))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(file), *ENGLISH], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(model.sample(ENGLISH, 0.2, 5))


def test_threads_draw_what_one_thread_draws(model: SubwordModel) -> None:
    expected = [model.sample(TEXTS, 0.2, seed) for seed in range(12)]
    plain = model.encode(TEXTS)
    found: dict[int, list[list[int]]] = {}
    disturbed: list[bool] = []

    def draw(seeds: range) -> None:
        for seed in seeds:
            found[seed] = model.sample(TEXTS, 0.2, seed)
            disturbed.append(model.encode(TEXTS) != plain)

    threads = [threading.Thread(target=draw, args=(range(start, 12, 4),)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(12)] == expected
    assert not any(disturbed)


@settings(deadline=None, max_examples=200)
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=3),
    strength=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**40),
)
def test_a_sample_reads_as_the_text_does(model: SubwordModel, texts: list[str], strength: float, seed: int) -> None:
    texts = [*texts, PERSIAN[1]]
    rows = model.sample(texts, strength, seed)
    assert model.decode_ids(rows) == model.decode_ids(model.encode(texts))
    assert not {PAD, UNK, SOS, EOS} & {token for row in rows for token in row}


def test_digits_stay_apart(model: SubwordModel) -> None:
    known = vocabulary(model)
    for row in model.sample(["سال ۱۳۹۸ 2024"] * 50, 0.3, 1):
        for token in row:
            assert token in model.byte_ids or sum(character.isdigit() for character in known[token]) <= 1


def test_merges_that_are_never_dropped_give_the_plain_pieces(model: SubwordModel, file: Path) -> None:
    texts = [*TEXTS, "漢字 " + "x" * 20, "Ω" * 5]
    same = model.sample(texts, 1e-15, 1) == model.encode(texts)
    assert same is all(score.is_integer() for score in _scores(file).values())


def test_unigram_segmentations_come_as_often_as_their_probability_says() -> None:
    scores = {"▁": -2.0, "a": -1.5, "b": -2.5, "▁a": -2.2, "ab": -2.7, "▁ab": -4.1}
    pieces = {piece: (number + 4, score) for number, (piece, score) in enumerate(scores.items())}
    sampler = SubwordSampler(pieces, [], 0.5)
    ways = (["▁", "a", "b"], ["▁", "ab"], ["▁a", "b"], ["▁ab"])
    weights = {tuple(pieces[piece][0] for piece in way): math.exp(sum(scores[p] for p in way) / 2) for way in ways}
    drawn = Counter(sampler.segmentation("ab", variant) for variant in range(8000))
    assert drawn.keys() == weights.keys()
    for ids, weight in weights.items():
        share = weight / sum(weights.values())
        assert abs(drawn[ids] / 8000 - share) < 5 * math.sqrt(share * (1 - share) / 8000)


def test_each_merge_is_dropped_as_often_as_the_strength_says() -> None:
    pieces = {"ab": (4, 0.0), "▁ab": (5, -1.0), "▁": (6, -2.0), "a": (7, -3.0), "b": (8, -4.0)}
    sampler = SubwordSampler(pieces, [], 0.3)
    drawn = Counter(sampler.segmentation("ab", variant) for variant in range(8000))
    shares = {(5,): 0.7 * 0.7, (6, 4): 0.7 * 0.3, (6, 7, 8): 0.3}
    assert drawn.keys() == shares.keys()
    for ids, share in shares.items():
        assert abs(drawn[ids] / 8000 - share) < 5 * math.sqrt(share * (1 - share) / 8000)


def test_what_is_kept_in_memory_changes_nothing(
    model: SubwordModel, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    expected = model.sample(TEXTS, 0.2, 3)
    monkeypatch.setattr(sampling, "_WORDS_KEPT", 2)
    forgetful = SubwordModel.load(file)
    assert [forgetful.sample(TEXTS, 0.2, 3) for _ in range(2)] == [expected] * 2


def test_unknown_characters_side_by_side_are_one(tmp_path: Path) -> None:
    for kind in ("unigram", "bpe"):
        model = SubwordModel.train(ENGLISH * 20, unigram(model_type=kind), tmp_path / f"{kind}.model")
        (row,) = model.sample(["I 漢字 go"], 0.2, 1)
        assert row.count(UNK) == 1 and model.decode_ids([row]) == ["I ⁇ go"]


def test_of_equal_merges_the_first_comes_first() -> None:
    sampler = SubwordSampler({"aa": (4, 0.0), "▁": (5, -1.0), "a": (6, -2.0)}, [], 1e-15)
    assert sampler.segmentation("aaa", 0) == (5, 4, 6)


def test_a_very_long_word_is_as_random_at_both_ends() -> None:
    sampler = SubwordSampler({"▁": (4, -9.5), "a": (5, -9.5), "aa": (6, -18.5)}, [], 0.9)
    ids = sampler.segmentation("a" * 3000, 0)
    assert sum(2 if token == 6 else 1 for token in ids) == 3001
    assert all(200 < part.count(6) < 400 for part in (ids[:800], ids[-800:]))


def test_nothing_to_sample(model: SubwordModel) -> None:
    assert model.sample([], 0.2, 1) == []
    assert model.sample(["", "  "], 0.2, 1) == [[], []]
