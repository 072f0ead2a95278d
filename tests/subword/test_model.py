"""Subword models: the round trip from text to ids, byte fallback, and which files are refused."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from subword.sentences import ENGLISH, PERSIAN, ZWNJ, make_corpus, pieces, unigram, vocabulary

from translator.errors import StorageError, SubwordError
from translator.special_tokens import EOS, PAD, SOS, UNK
from translator.subword import SubwordModel, SubwordPair, prepare_subword

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), max_size=30)
"""All Unicode characters except `▁`, which SentencePiece uses for a space; surrogates are not characters."""
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@pytest.fixture(scope="module", params=["unigram", "bpe", "char"])
def persian(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SubwordModel:
    path = tmp_path_factory.mktemp("subword") / "target.model"
    return SubwordModel.train(PERSIAN * 20, unigram(model_type=request.param), path)


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def with_bytes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SubwordModel:
    config = unigram(model_type=request.param, byte_fallback=True, vocabulary_size=380)
    return SubwordModel.train((ENGLISH + PERSIAN) * 20, config, tmp_path_factory.mktemp("bytes") / "joint.model")


def spell(model: SubwordModel, content: bytes) -> list[int]:
    ids = {piece: number for number, piece in enumerate(vocabulary(model))}
    return [ids[f"<0x{byte:02X}>"] for byte in content]


def test_a_sentence_with_zwnj_survives_the_round_trip(persian: SubwordModel) -> None:
    assert persian.decode_ids(persian.encode(PERSIAN)) == PERSIAN
    for sentence in PERSIAN:
        assert "".join(pieces(persian, sentence)) == "▁" + sentence.replace(" ", "▁")
    assert "".join(pieces(persian, "می" + ZWNJ * 2 + "روم")) == "▁می" + ZWNJ * 2 + "روم", "left to the normalizer"


def test_special_tokens_have_their_ids_and_never_come_from_text(persian: SubwordModel) -> None:
    assert persian.pieces_of([PAD, UNK, SOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert not {PAD, SOS, EOS} & set(persian.encode(["<pad> <s> </s> <unk> می‌روم"])[0])
    assert min(persian.text_pieces) == 4 and len(persian.text_pieces) == persian.vocabulary_size - 4
    assert not persian.byte_ids
    ids = persian.encode([PERSIAN[2]])[0]
    assert persian.decode_ids([[SOS, *ids, EOS, PAD, PAD], [], [PAD]]) == [PERSIAN[2], "", ""]
    assert persian.decode_ids(persian.encode(["من 漢 می‌روم"])) == ["من ⁇ می‌روم"]
    assert persian.encode(["", "   ", PERSIAN[0]])[:2] == [[], []]


@settings(deadline=None, max_examples=200)
@given(text=ANY_TEXT)
def test_byte_fallback_round_trips_any_text_except_controls(with_bytes: SubwordModel, text: str) -> None:
    (ids,) = with_bytes.encode([text])
    assert UNK not in ids
    if "\ufffd" not in text:
        assert with_bytes.decode_ids([ids]) == [CONTROLS.sub(" ", with_bytes.normalized(text))]


@settings(deadline=None, max_examples=200)
@given(content=st.binary(max_size=12))
def test_any_bytes_decode_to_one_line_of_their_valid_characters(with_bytes: SubwordModel, content: bytes) -> None:
    (text,) = with_bytes.decode_ids([spell(with_bytes, content)])
    assert len(text.splitlines()) <= 1
    assert not CONTROLS.search(text)
    valid_text = content.decode("utf-8", "ignore").replace("\ufffd", "")
    assert text.split() == CONTROLS.sub(" ", valid_text).split()


def test_byte_pieces_decode_to_characters_or_spaces(with_bytes: SubwordModel) -> None:
    word = with_bytes.encode(["I"])[0]
    zwnj = spell(with_bytes, ZWNJ.encode())
    rows = [[*word, *zwnj, *word], [*word, *zwnj[:1], *word, EOS], *with_bytes.encode(["<0x0A> <s> </s>"])]
    assert with_bytes.decode_ids(rows) == ["I\u200c I", "I I", "<0x0A> <s> </s>"]
    for control in "\n\r\x00\t\x0b\x1f\x7f\x85\u2028\u2029":
        assert with_bytes.decode_ids([spell(with_bytes, f"a{control}b".encode())]) == ["a b"]
    assert [piece for piece in pieces(with_bytes, "漢") if piece != "▁"] == ["<0xE6>", "<0xBC>", "<0xA2>"]
    assert not set(with_bytes.encode([PERSIAN[0]])[0]) & with_bytes.byte_ids
    assert len(with_bytes.byte_ids) == 256 and not set(with_bytes.text_pieces) & with_bytes.byte_ids


def test_a_missing_model_file_or_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        SubwordError, match=rf"no subword model at .*source\.model; restore it .* or delete the folder {tmp_path}"
    ):
        SubwordPair.load(tmp_path)
    (tmp_path / "joint.model").mkdir()
    with pytest.raises(StorageError, match=r"cannot read .*joint\.model: this is a folder"):
        SubwordPair.load(tmp_path)


def test_a_truncated_model_is_refused_at_every_length(tmp_path: Path) -> None:
    SubwordModel.train(PERSIAN * 5, unigram(vocabulary_size=50), tmp_path / "whole.model")
    content = (tmp_path / "whole.model").read_bytes()
    cut = tmp_path / "cut.model"
    for length in {0, 1, 100, *range(200, 1200, 7), len(content) // 2}:
        cut.write_bytes(content[:length])
        with pytest.raises(SubwordError, match=r"cut\.model(:| is) (empty|damaged|its normalization rule|pad, unk)"):
            SubwordModel.load(cut)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalization_rule_name": "nfkc"}, "have the ids -1, 0, 1, 2; they must be 0, 1, 2, 3"),
        ({"normalization_rule_name": "nmt_nfkc", "pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}, "not `nfkc` or"),
        ({"normalization_rule_name": "identity", "pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}, "not `nfkc` or"),
    ],
)
def test_other_special_ids_or_normalization_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with (tmp_path / "joint.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(PERSIAN * 5), model_writer=file, vocab_size=60, minloglevel=2, **options
        )
    with pytest.raises(SubwordError, match=message):
        SubwordPair.load(tmp_path)


def test_a_replaced_model_or_damaged_checksum_file_is_refused(tmp_path: Path) -> None:
    _, folder = prepare_subword(unigram(), make_corpus(tmp_path), tmp_path / "prepared")
    shutil.copy(folder / "source.model", folder / "target.model")
    with pytest.raises(SubwordError, match=r"target\.model is not the model that was trained .* prepare again"):
        SubwordPair.load(folder)
    for damaged in ("{}", "[]", "{", '{"sha256": 3}'):
        (folder / "subword.json").write_text(damaged, "utf-8")
        with pytest.raises(SubwordError, match=rf"subword\.json is damaged; .* or delete the folder {folder} and"):
            SubwordPair.load(folder)
