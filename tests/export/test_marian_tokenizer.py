"""`MarianTokenizer` gives our ids for every text, and our text for every id."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from export.stand_ins import sample_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import SubwordConfig
from translator.export.marian_tokenizer import write_marian_tokenizer
from translator.special_tokens import EOS, PAD, SOS
from translator.subword import SOURCE_FILE, TARGET_FILE, SubwordModel, SubwordPair

transformers: Any = importlib.import_module("transformers")  # its types say otherwise than it does

TEXTS = [
    "The door is open.",
    "emoji 👩‍👩‍👧‍👦 🇮🇷 and é ß 中文",
    "<s> </s> <pad> <unk> are text",
    " two  spaces , and a comma .",
    "▁ the mark of a space",
    "do n't",
    "",
    "می‌رود",
]


@pytest.fixture(scope="module", params=["subword_folder", "joint_folder"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SubwordPair, Any]:
    subword_folder: Path = request.getfixturevalue(request.param)
    folder = tmp_path_factory.mktemp("tokenizer")
    write_marian_tokenizer(folder, subword_folder, max_length=64)
    return SubwordPair.load(subword_folder), transformers.MarianTokenizer.from_pretrained(folder)


def ids(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    found: list[list[int]] = tokenizer(texts)["input_ids"]
    return found


def test_sources_have_our_ids_and_an_end(both: tuple[SubwordPair, Any]) -> None:
    subword, tokenizer = both
    texts = [*TEXTS, *(english for english, _ in sample_pairs("test")[:500])]
    assert ids(tokenizer, texts) == [[*row, EOS] for row in subword.source.encode(texts)]
    assert {token for row in ids(tokenizer, TEXTS) for token in row} & subword.source.byte_ids


def test_targets_have_our_ids_and_come_back_as_our_text(both: tuple[SubwordPair, Any]) -> None:
    subword, tokenizer = both
    texts = [persian for _, persian in sample_pairs("test")[:200]]
    rows = subword.target.encode(texts)
    assert tokenizer(text_target=texts)["input_ids"] == [[*row, EOS] for row in rows]
    generated = [[SOS, *row, EOS, PAD] for row in [*rows, *subword.target.encode(["می‌رود ؟ 👍 ."])]]
    assert tokenizer.batch_decode(generated, skip_special_tokens=True) == subword.target.decode_ids(generated)


@settings(deadline=None, max_examples=50)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40).filter(lambda text: "<<" not in text))
def test_any_text_has_our_ids(both: tuple[SubwordPair, Any], text: str) -> None:
    subword, tokenizer = both
    assert ids(tokenizer, [text]) == [[*subword.source.encode([text])[0], EOS]]


def test_special_tokens_are_where_they_are(both: tuple[SubwordPair, Any]) -> None:
    _, tokenizer = both
    assert (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id) == (PAD, SOS, EOS)
    assert tokenizer.model_max_length == 64


def test_what_a_model_without_bytes_does_not_know(tmp_path: Path) -> None:
    config = SubwordConfig(model_type="char", vocabulary_size=40)
    SubwordModel.train(["abc cab", "bca"], config, tmp_path / SOURCE_FILE)
    SubwordModel.train(["الف ب", "ب پ"], config, tmp_path / TARGET_FILE)
    write_marian_tokenizer(tmp_path / "tokenizer", tmp_path, max_length=64)
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "tokenizer")
    model = SubwordModel.load(tmp_path / SOURCE_FILE)
    for text in ("abxyzc", "x", "a x y b", "<pad> a"):
        assert ids(tokenizer, [text]) == [[*model.encode([text])[0], EOS]]
