"""Byte fallback: no text is unknown, none loses anything but line breaks and controls, and any bytes can be read."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subword.sentences import ENGLISH, PERSIAN, pieces, unigram, vocabulary

from translator.special_tokens import EOS, UNK
from translator.subword import SubwordModel

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), max_size=30)
"""All of Unicode but surrogates, which are no characters, and the mark that SentencePiece takes for a space."""
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> SubwordModel:
    """Return a model of both languages with bytes."""
    config = unigram(model_type=request.param, byte_fallback=True, vocabulary_size=380)
    return SubwordModel.train((ENGLISH + PERSIAN) * 20, config, tmp_path_factory.mktemp("bytes") / "joint.model")


def spell(model: SubwordModel, content: bytes) -> list[int]:
    """Return the ids of single bytes."""
    ids = {piece: number for number, piece in enumerate(vocabulary(model))}
    return [ids[f"<0x{byte:02X}>"] for byte in content]


@settings(deadline=None, max_examples=300)
@given(text=ANY_TEXT)
def test_any_text_survives_but_for_controls(model: SubwordModel, text: str) -> None:
    (ids,) = model.encode([text])
    assert UNK not in ids
    assert model.decode_ids([ids]) == [CONTROLS.sub(" ", model.normalized(text))]


def test_every_character_survives(model: SubwordModel) -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF and chr(code) != "▁"]
    texts = ["b".join(["a", *characters[start : start + 512], "c"]) for start in range(0, len(characters), 512)]
    rows = model.encode(texts)
    assert not any(UNK in row for row in rows)
    assert model.decode_ids(rows) == [CONTROLS.sub(" ", model.normalized(text)) for text in texts]


def test_the_normal_form_is_nfkc_with_single_spaces_inside(model: SubwordModel) -> None:
    codes = [code for code in range(0x20, 0x3000) if unicodedata.category(chr(code)) not in ("Cc", "Cn")]
    texts = [f"a{chr(code)}b" for code in codes]
    nfkc = {text: re.sub(" +", " ", unicodedata.normalize("NFKC", text)).strip(" ") for text in texts}
    # One double mark of Greek is composed in part only; the other is SentencePiece's own mark of a space.
    assert {text[1] for text in texts if model.normalized(text) != nfkc[text]} == {"\u0344", "▁"}
    assert model.normalized("  a\u00a0 \u3000b ") == "a b"


def test_bytes_written_out_are_text(model: SubwordModel) -> None:
    assert model.decode_ids(model.encode(["<0x0A> <s> </s>"])) == ["<0x0A> <s> </s>"]


@settings(deadline=None, max_examples=300)
@given(content=st.binary(max_size=12))
def test_any_bytes_decode_to_one_line(model: SubwordModel, content: bytes) -> None:
    (text,) = model.decode_ids([spell(model, content)])
    assert len(text.splitlines()) <= 1
    assert not CONTROLS.search(text)
    if b"\xef\xbf\xbd" not in content:
        valid = content.decode("utf-8", "ignore").encode() == content
        assert ("\ufffd" in text) != valid


def test_bytes_between_words_are_read_or_marked(model: SubwordModel) -> None:
    word = model.encode(["I"])[0]
    zwnj = spell(model, "\u200c".encode())
    assert model.decode_ids([[*word, *zwnj, *word], [*word, *zwnj[:1], *word, EOS]]) == ["I\u200c I", "I\ufffd I"]


@pytest.mark.parametrize("control", ["\n", "\r", "\x00", "\t", "\x0b", "\x1f", "\x7f", "\x85", "\u2028", "\u2029"])
def test_a_control_or_line_break_becomes_a_space(model: SubwordModel, control: str) -> None:
    assert model.decode_ids([spell(model, f"a{control}b".encode())]) == ["a b"]


def test_rare_characters_are_spelt_and_common_ones_are_not(model: SubwordModel) -> None:
    assert [piece for piece in pieces(model, "漢") if piece != "▁"] == ["<0xE6>", "<0xBC>", "<0xA2>"]
    assert not set(model.encode([PERSIAN[0]])[0]) & model.byte_ids
    assert len(model.byte_ids) == 256 and not set(model.text_pieces) & model.byte_ids
