"""Subword models: the round trip from text to ids, byte fallback, and which files are refused."""

import re
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


@pytest.fixture(scope="module")
def with_bytes(tmp_path_factory: pytest.TempPathFactory) -> SubwordModel:
    config = unigram(byte_fallback=True, vocabulary_size=380)
    return trained((ENGLISH + PERSIAN) * 20, config, tmp_path_factory.mktemp("bytes") / "joint.model")


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_a_sentence_with_zwnj_survives_the_round_trip_without_special_tokens(tmp_path: Path, kind: str) -> None:
    model = trained(PERSIAN * 20, unigram(model_type=kind), tmp_path / "target.model")
    assert model.decode_ids(model.encode(PERSIAN)) == PERSIAN
    assert model.pieces_of([PAD, UNK, SOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert model.decode_ids([[SOS, *model.encode_one(PERSIAN[2]), EOS, PAD], [], [PAD]]) == [PERSIAN[2], "", ""]


@settings(max_examples=200)
@given(text=ANY_TEXT)
def test_byte_fallback_round_trips_any_text_except_controls(with_bytes: SubwordModel, text: str) -> None:
    (ids,) = with_bytes.encode([text])
    assert UNK not in ids
    if "\ufffd" not in text:
        assert with_bytes.decode_ids([ids]) == [CONTROLS.sub(" ", with_bytes.normalized(text))]


@settings(max_examples=200)
@given(content=st.binary(max_size=12))
def test_any_bytes_decode_to_one_line_of_their_valid_characters(with_bytes: SubwordModel, content: bytes) -> None:
    ids = {piece: token for token, piece in enumerate(vocabulary(with_bytes))}
    (text,) = with_bytes.decode_ids([[ids[f"<0x{byte:02X}>"] for byte in content]])
    assert len(text.splitlines()) <= 1
    assert not CONTROLS.search(text)
    valid_text = content.decode("utf-8", "ignore").replace("\ufffd", "")
    assert text.split() == CONTROLS.sub(" ", valid_text).split()


def test_only_unknown_characters_are_spelt_in_bytes(with_bytes: SubwordModel) -> None:
    assert [piece for piece in pieces(with_bytes, "漢") if piece != "▁"] == ["<0xE6>", "<0xBC>", "<0xA2>"]
    assert with_bytes.byte_ids.isdisjoint(with_bytes.encode_one(PERSIAN[0]))


# --- files that are refused ---


def test_other_special_ids_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "joint.model"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(PERSIAN * 5), model_writer=file, vocab_size=60, minloglevel=2
        )
    with pytest.raises(SubwordError, match="have the ids -1, 0, 1, 2; they must be 0, 1, 2, 3"):
        SubwordModel.load(path)
