"""One subword model: what survives the way to ids and back, and which files are refused."""

from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from subword.sentences import PERSIAN, ZWNJ, pieces, unigram

from translator.errors import StorageError, SubwordError
from translator.special_tokens import EOS, PAD, SOS, UNK
from translator.subword import SubwordModel, SubwordPair


@pytest.fixture(scope="module", params=["unigram", "bpe", "char"])
def persian(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SubwordModel:
    """Return a model of each type, trained on the Persian sentences many times over."""
    path = tmp_path_factory.mktemp("subword") / "target.model"
    return SubwordModel.train(PERSIAN * 20, unigram(model_type=request.param), path)


def test_a_sentence_with_zwnj_survives_the_round_trip(persian: SubwordModel) -> None:
    assert persian.decode_ids(persian.encode(PERSIAN)) == PERSIAN
    for sentence in PERSIAN:
        assert "".join(pieces(persian, sentence)) == "▁" + sentence.replace(" ", "▁")


def test_repeated_zwnj_and_shaped_letters_are_left_to_the_normalizer(persian: SubwordModel, tmp_path: Path) -> None:
    # nfkc alone keeps both ZWNJ, and makes an Arabic kaf (not the Persian one) of a shaped kaf.
    assert "".join(pieces(persian, "می" + ZWNJ * 2 + "روم")) == "▁می" + ZWNJ * 2 + "روم"
    shaped, plain = "\ufedb\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628"
    arabic = SubwordModel.train([plain], unigram(model_type="char"), tmp_path / "arabic.model")
    assert "".join(pieces(arabic, shaped)) == "▁" + plain


def test_special_tokens_have_their_ids_and_never_come_from_text(persian: SubwordModel) -> None:
    assert persian.pieces_of([PAD, UNK, SOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    ids = persian.encode(["<pad> <s> </s> <unk> می‌روم"])[0]
    assert not {PAD, SOS, EOS} & set(ids)


def test_special_ids_are_dropped_and_unknown_ones_shown(persian: SubwordModel) -> None:
    ids = persian.encode([PERSIAN[2]])[0]
    assert persian.decode_ids([[SOS, *ids, EOS, PAD, PAD], [], [PAD]]) == [PERSIAN[2], "", ""]
    assert persian.decode_ids(persian.encode(["من 漢 می‌روم"])) == ["من ⁇ می‌روم"]


def test_empty_and_blank_texts_have_no_ids(persian: SubwordModel) -> None:
    assert persian.encode(["", "   ", PERSIAN[0]])[:2] == [[], []]
    assert persian.encode([]) == []


@settings(deadline=None, max_examples=60)
@given(words=st.lists(st.text("ابپتسمنوهیکگ۰۱۲۹" + ZWNJ, min_size=1, max_size=8), min_size=1, max_size=6))
def test_any_text_of_known_characters_survives_without_bytes(words: list[str]) -> None:
    text = " ".join(words)
    assert KNOWN.decode_ids(KNOWN.encode([text])) == [KNOWN.normalized(text)]


def _known_model() -> SubwordModel:
    """Return a character model that knows the alphabet of the test above."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        text = [" ".join("ابپتسمنوهیکگ۰۱۲۹" + ZWNJ)]
        return SubwordModel.train(text, unigram(model_type="char"), Path(folder) / "known.model")


KNOWN = _known_model()


def test_text_pieces_are_neither_special_nor_bytes(persian: SubwordModel) -> None:
    assert min(persian.text_pieces) == 4 and len(persian.text_pieces) == persian.vocabulary_size - 4
    assert not persian.byte_ids


def test_a_missing_model_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        SubwordError, match=rf"no subword model at .*source\.model; take it .* or delete the folder {tmp_path}"
    ):
        SubwordPair.load(tmp_path)


def test_an_unreadable_model_file_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "joint.model").mkdir()
    with pytest.raises(StorageError, match=r"cannot read .*joint\.model: this is a folder"):
        SubwordPair.load(tmp_path)


def test_a_truncated_model_is_refused_at_every_length(tmp_path: Path) -> None:
    SubwordModel.train(PERSIAN * 5, unigram(vocabulary_size=50), tmp_path / "whole.model")
    content = (tmp_path / "whole.model").read_bytes()
    cut = tmp_path / "cut.model"
    for length in {0, 1, 100, *range(200, 1200), len(content) // 2}:
        cut.write_bytes(content[:length])
        with pytest.raises(SubwordError, match=r"cut\.model(:| is) (empty|damaged|its normalization rule|pad, unk)"):
            SubwordModel.load(cut)


def _foreign_model(path: Path, **options: Any) -> None:
    """Train a model as another tool would."""
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(PERSIAN * 5), model_writer=file, vocab_size=60, minloglevel=2, **options
        )


def test_a_model_with_other_special_ids_is_refused(tmp_path: Path) -> None:
    _foreign_model(tmp_path / "joint.model", normalization_rule_name="nfkc")
    with pytest.raises(SubwordError, match="have the ids -1, 0, 1, 2; they must be 0, 1, 2, 3"):
        SubwordPair.load(tmp_path)


@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity"])
def test_a_model_with_another_rule_is_refused(tmp_path: Path, rule: str) -> None:
    ids = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
    _foreign_model(tmp_path / "joint.model", normalization_rule_name=rule, **ids)
    with pytest.raises(SubwordError, match="its normalization rule is not `nfkc`"):
        SubwordPair.load(tmp_path)
