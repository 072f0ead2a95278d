"""Training is a function of text and settings alone, and says what is wrong with either."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from subword.sentences import PERSIAN, ZWNJ, pieces, unigram, vocabulary

from translator.config import SubwordConfig
from translator.errors import CorpusError, SubwordError
from translator.special_tokens import UNK
from translator.subword import SubwordModel, uses_byte_fallback
from translator.subword.training import train_model


def test_zwnj_can_stand_inside_a_piece(tmp_path: Path) -> None:
    model = SubwordModel.train(PERSIAN * 20, unigram(model_type="bpe", vocabulary_size=80), tmp_path / "t.model")
    inside = [piece for piece in vocabulary(model) if ZWNJ in piece.strip(ZWNJ)]
    assert any(piece.startswith("▁") for piece in inside), "no word with a half-space became a piece"


@pytest.mark.parametrize("digits", ["1398", "۱۳۹۸", "١٣٩٨"])
def test_every_digit_is_a_piece_of_its_own(tmp_path: Path, digits: str) -> None:
    for kind in ("unigram", "bpe"):
        path = tmp_path / f"{kind}.model"
        text = [f"سال {digits} بود"] * 50 + PERSIAN * 5
        model = SubwordModel.train(text, unigram(vocabulary_size=65, model_type=kind), path)
        assert all(sum(character.isdigit() for character in piece) <= 1 for piece in vocabulary(model))
        assert [piece.lstrip("▁") for piece in pieces(model, digits) if piece != "▁"] == list(digits)
        assert model.decode_ids(model.encode(text[:1])) == text[:1]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_digits_and_punctuation_are_in_the_vocabulary_however_rare(tmp_path: Path, kind: str) -> None:
    text = [*PERSIAN * 40, "۷ (5) Q"]
    config = unigram(model_type=kind, vocabulary_size=60, character_coverage=0.99)
    model = SubwordModel.train(text, config, tmp_path / "m.model")
    known = set("".join(vocabulary(model)[4:]))
    assert set("۷(5)؟") <= known
    assert "Q" not in known, "a letter as rare is left out"
    assert "8" not in known, "a digit that does not occur takes no room"


@pytest.mark.parametrize(
    ("kind", "size", "setting", "expected"),
    [
        ("unigram", 1000, None, True),
        ("bpe", 8000, None, True),
        ("unigram", 999, None, False),
        ("char", 8000, None, False),
        ("unigram", 8000, False, False),
        ("bpe", 300, True, True),
    ],
)
def test_bytes_are_used_where_there_is_room(kind: str, size: int, setting: bool | None, expected: bool) -> None:
    config = SubwordConfig.model_validate({"model_type": kind, "vocabulary_size": size, "byte_fallback": setting})
    assert uses_byte_fallback(config) is expected


def test_a_model_of_default_settings_has_bytes(tmp_path: Path) -> None:
    text = [f"{chr(0x4E00 + number)}{chr(0x4E00 + number * 7 % 800)}" for number in range(800)]
    config = SubwordConfig(vocabulary_size=1061, character_coverage=1.0, model_type="bpe")
    model = SubwordModel.train(text, config, tmp_path / "source.model")
    assert len(model.byte_ids) == 256 and UNK not in model.encode(["ش"])[0]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_training_twice_gives_the_same_bytes(kind: str) -> None:
    one, two = (train_model(PERSIAN * 5, unigram(model_type=kind), name) for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_vocabulary_larger_than_the_text_allows_names_the_largest_value(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "target.model"
    with pytest.raises(
        SubwordError, match=r"subword\.vocabulary_size: 5000 .* target model .* value is \d+$"
    ) as caught:
        SubwordModel.train(PERSIAN, unigram(model_type=kind, vocabulary_size=5000), path)
    assert not path.exists()
    largest = int(str(caught.value).rpartition(" ")[2])
    model = SubwordModel.train(PERSIAN, unigram(model_type=kind, vocabulary_size=largest), path)
    assert model.vocabulary_size == largest


def test_vocabulary_size_is_only_a_limit_for_characters(tmp_path: Path) -> None:
    model = SubwordModel.train(["ab ba"], unigram(model_type="char", vocabulary_size=5000), tmp_path / "s.model")
    assert model.vocabulary_size == 4 + len("ab▁")


def test_vocabulary_smaller_than_the_alphabet_says_what_is_needed() -> None:
    with pytest.raises(SubwordError, match=r"subword\.vocabulary_size: 10 is too small .* need \d+ pieces; raise it"):
        train_model(PERSIAN, unigram(vocabulary_size=10), "target")


def test_no_text_is_a_users_mistake() -> None:
    with pytest.raises(SubwordError, match="no text to train the source subword model on"):
        train_model([], unigram(), "source")


def test_an_error_of_the_text_itself_is_passed_on_unchanged() -> None:
    def broken() -> Iterator[str]:
        yield "one"
        raise CorpusError("line 2 of pairs.tsv is broken")

    with pytest.raises(CorpusError, match=r"line 2 of pairs\.tsv is broken"):
        train_model(broken(), unigram(), "source")


def test_training_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    train_model(PERSIAN * 5, unigram(), "target")
    assert capfd.readouterr() == ("", "")
