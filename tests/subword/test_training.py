"""Training of one model depends only on text and settings, and reports errors in either."""

from pathlib import Path

import pytest

from tests.support.sentences import PERSIAN, make_corpus, pieces, trained, unigram, vocabulary
from translator.errors import StorageError, SubwordError
from translator.subword import training
from translator.subword.training import draw_lines, train_model, uses_byte_fallback


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_every_digit_is_a_piece_of_its_own(tmp_path: Path, kind: str) -> None:
    numbers = ["1398", "۱۳۹۸", "١٣٩٨"]
    text = [f"سال {number} بود" for number in numbers]
    model = trained(text * 50 + PERSIAN * 5, unigram(vocabulary_size=70, model_type=kind), tmp_path / "t.model")
    for piece in vocabulary(model):
        assert sum(character.isdigit() for character in piece) <= 1
    for number in numbers:
        digit_pieces = [piece.lstrip("▁") for piece in pieces(model, number) if piece != "▁"]
        assert digit_pieces == list(number)
    assert model.decode_ids(model.encode(text)) == text


@pytest.mark.parametrize("kind", ["unigram", "char"])
def test_digits_and_punctuation_are_in_the_vocabulary_however_rare(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_CHARACTER_COVERAGE", 0.99)
    config = unigram(model_type=kind, vocabulary_size=60)
    model = trained([*PERSIAN * 40, "۷ (5) Q"], config, tmp_path / "m.model")
    characters = set("".join(vocabulary(model)[4:]))
    assert set("۷(5)؟") <= characters
    assert "Q" not in characters, "a letter as rare is left out"
    assert "8" not in characters, "a digit that does not occur takes no room"


@pytest.mark.parametrize(
    ("model_type", "size", "setting", "expected"),
    [
        ("unigram", 1000, None, True),
        ("unigram", 999, None, False),
        ("char", 8000, None, False),
        ("unigram", 8000, False, False),
        ("bpe", 300, True, True),
    ],
)
def test_byte_fallback_is_on_by_default_only_for_large_vocabularies(
    model_type: str, size: int, setting: bool | None, expected: bool
) -> None:
    config = unigram(model_type=model_type, vocabulary_size=size, byte_fallback=setting)
    assert uses_byte_fallback(config) is expected


def test_training_twice_gives_the_same_bytes_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert train_model(PERSIAN * 5, unigram(), "source") == train_model(PERSIAN * 5, unigram(), "target")
    assert capfd.readouterr() == ("", "")


def test_lines_are_drawn_in_order_and_alike_on_every_machine_and_damage_after_the_last_is_noticed(
    tmp_path: Path,
) -> None:
    corpus = make_corpus(tmp_path)
    all_lines = list(corpus.lines("train", "pairs", "en"))
    expected = [all_lines[number] for number in (9, 36, 39, 61, 75, 93)]
    assert list(draw_lines(corpus, "train", "en", 6)) == expected

    path = corpus.directory / "train" / "pairs.en"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StorageError, match=r"pairs\.en is damaged"):
        list(draw_lines(corpus, "train", "en", 1))


# --- mistakes ---


def test_too_small_a_vocabulary_is_refused_naming_the_smallest_value() -> None:
    message = r"subword\.vocabulary_size: 10 is too small .* value is 42$"
    with pytest.raises(SubwordError, match=message):
        train_model(PERSIAN, unigram(vocabulary_size=10), "target")


def test_a_text_without_sentences_is_refused() -> None:
    with pytest.raises(SubwordError, match="no text to train the source subword model on"):
        train_model([], unigram(), "source")
