"""Subword models: the round trip from text to ids, byte fallback, and which files are refused."""

import re
import unicodedata
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sentences import ENGLISH, PERSIAN, pieces, trained, unigram, vocabulary
from translator.core import EOS, PAD, SOS, UNK
from translator.errors import SubwordError
from translator.subword import SubwordModel

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), max_size=30)
"""All Unicode characters except `▁`, which SentencePiece uses for a space; surrogates are not characters."""
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@pytest.fixture(scope="module", params=["unigram", "bpe", "char"])
def persian(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SubwordModel:
    path = tmp_path_factory.mktemp("subword") / "target.model"
    return trained(PERSIAN * 20, unigram(model_type=request.param), path)


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def with_bytes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SubwordModel:
    config = unigram(model_type=request.param, byte_fallback=True, vocabulary_size=380)
    return trained((ENGLISH + PERSIAN) * 20, config, tmp_path_factory.mktemp("bytes") / "joint.model")


def byte_tokens(model: SubwordModel, content: bytes) -> list[int]:
    ids = {piece: token for token, piece in enumerate(vocabulary(model))}
    return [ids[f"<0x{byte:02X}>"] for byte in content]


def test_a_sentence_with_zwnj_survives_the_round_trip(persian: SubwordModel) -> None:
    assert persian.decode_ids(persian.encode(PERSIAN)) == PERSIAN


def test_special_tokens_have_their_ids(persian: SubwordModel) -> None:
    assert persian.pieces_of([PAD, UNK, SOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]


def test_special_tokens_are_dropped_from_the_text(persian: SubwordModel) -> None:
    (ids,) = persian.encode([PERSIAN[2]])
    assert persian.decode_ids([[SOS, *ids, EOS, PAD, PAD], [], [PAD]]) == [PERSIAN[2], "", ""]


@settings(deadline=None, max_examples=200)
@given(text=ANY_TEXT)
def test_byte_fallback_round_trips_any_text_except_controls(with_bytes: SubwordModel, text: str) -> None:
    (ids,) = with_bytes.encode([text])
    assert UNK not in ids
    if "\ufffd" not in text:
        assert with_bytes.decode_ids([ids]) == [CONTROLS.sub(" ", with_bytes.normalized(text))]


@settings(deadline=None, max_examples=100)
@given(text=st.text("abz ﬁ½Ⅳمی\u200c", max_size=20))
def test_the_normalized_text_is_nfkc_with_single_spaces(with_bytes: SubwordModel, text: str) -> None:
    words = unicodedata.normalize("NFKC", text).split(" ")
    assert with_bytes.normalized(text) == " ".join(filter(None, words))


@settings(deadline=None, max_examples=200)
@given(content=st.binary(max_size=12))
def test_any_bytes_decode_to_one_line_of_their_valid_characters(with_bytes: SubwordModel, content: bytes) -> None:
    (text,) = with_bytes.decode_ids([byte_tokens(with_bytes, content)])
    assert len(text.splitlines()) <= 1
    assert not CONTROLS.search(text)
    valid_text = content.decode("utf-8", "ignore").replace("\ufffd", "")
    assert text.split() == CONTROLS.sub(" ", valid_text).split()


def test_only_unknown_characters_are_spelt_in_bytes(with_bytes: SubwordModel) -> None:
    assert [piece for piece in pieces(with_bytes, "漢") if piece != "▁"] == ["<0xE6>", "<0xBC>", "<0xA2>"]
    assert with_bytes.byte_ids.isdisjoint(with_bytes.encode([PERSIAN[0]])[0])


@pytest.mark.parametrize(("content", "message"), [(b"", "is empty"), (b"\x00model", "is damaged or not a")])
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "cut.model").write_bytes(content)
    with pytest.raises(SubwordError, match=rf"cut\.model {message}.*; restore it from a backup, or delete the folder"):
        SubwordModel.load(tmp_path / "cut.model")


def test_other_special_ids_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "joint.model"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(PERSIAN * 5), model_writer=file, vocab_size=60, minloglevel=2
        )
    with pytest.raises(SubwordError, match="have the ids -1, 0, 1, 2; they must be 0, 1, 2, 3"):
        SubwordModel.load(path)
