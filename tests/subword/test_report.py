"""The table of a side's subwords: counted by hand here."""

import itertools
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from subword.sentences import ENGLISH, PERSIAN, make_corpus, unigram

from translator.config import NormalizationConfig
from translator.corpus.normalize import Normalizer
from translator.subword import SubwordModel, SubwordPair, format_subword_tables, prepare_subword, subword_tables

NORMALIZER = Normalizer(NormalizationConfig())


def test_validation_text_is_counted(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, held_out=4)
    pair, _ = prepare_subword(unigram(), corpus, tmp_path / "prepared")
    english, persian = subword_tables(pair, corpus, NORMALIZER, unigram())
    lines = [NORMALIZER.source(line) for line in corpus.lines("validation", "pairs", "en")]
    assert len(lines) == 4
    ids = [token for row in pair.source.encode(lines) for token in row]
    assert (english.side, english.model, english.vocabulary_size) == ("English", "unigram", 60)
    assert (english.words, english.pieces) == (sum(len(line.split()) for line in lines), len(ids))
    assert english.pieces_per_word == english.pieces / english.words
    assert (english.coverage, english.unknown, english.byte_pieces) == (1.0, 0, 0)
    assert persian.side == "Persian" and persian.words != english.words


def test_training_text_stands_in_where_nothing_is_held_out(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path, held_out=0)
    pair, _ = prepare_subword(unigram(), corpus, tmp_path / "prepared")
    english = subword_tables(pair, corpus, NORMALIZER, unigram())[0]
    assert english.words == sum(len(line.split()) for line in corpus.lines("train", "pairs", "en"))


@pytest.mark.parametrize("with_bytes", [False, True])
def test_what_the_vocabulary_lacks_is_counted(tmp_path: Path, with_bytes: bool) -> None:
    corpus = make_corpus(tmp_path, held_out=4)
    lines = list(corpus.lines("validation", "pairs", "en"))
    config = unigram(model_type="bpe", byte_fallback=with_bytes, vocabulary_size=350 if with_bytes else 60)
    text = [line.replace("e", "a") for line in ENGLISH] * 20 + [*" ".join("0123456789")]
    source = SubwordModel.train(text, config, tmp_path / "source.model")
    target = SubwordModel.train(PERSIAN * 20, config, tmp_path / "target.model")
    table = subword_tables(SubwordPair(source, target), corpus, NORMALIZER, config)[0]
    whole = "".join(lines).replace(" ", "")
    lacking = whole.count("e")
    assert lacking and table.coverage == pytest.approx(1 - lacking / len(whole))
    assert (table.byte_pieces, table.unknown > 0) == ((lacking, False) if with_bytes else (0, True))
    assert not any(piece.startswith("<") for piece in table.longest)


def test_the_longest_pieces_come_first(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path)
    config = unigram(joint=True, vocabulary_size=160, model_type="bpe")
    pair, _ = prepare_subword(config, corpus, tmp_path / "prepared")
    tables = subword_tables(pair, corpus, NORMALIZER, config)
    assert [table.model for table in tables] == ["bpe, joint"] * 2
    longest = tables[0].longest
    assert len(longest) == 20 and longest == tables[1].longest
    lengths = [len(piece) for piece in longest]
    ids = {piece: number for number, piece in pair.source.text_pieces.items()}
    assert lengths == sorted(lengths, reverse=True)
    assert all(ids[a] < ids[b] for a, b in itertools.pairwise(longest) if len(a) == len(b))
    assert max(map(len, pair.source.text_pieces.values())) == lengths[0]


def test_the_tables_are_json_and_readable(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path)
    pair, _ = prepare_subword(unigram(), corpus, tmp_path / "prepared")
    tables = subword_tables(pair, corpus, NORMALIZER, unigram())
    assert json.loads(json.dumps(asdict(tables[1])))["longest"] == list(tables[1].longest)
    shown = format_subword_tables(tables).splitlines()
    assert shown[0].split() == [
        *["subwords", "model", "vocabulary", "pieces", "words", "pieces/word", "coverage", "unknown", "bytes"]
    ]
    assert shown[2].startswith("English   unigram") and "100.000%" in shown[2]
    assert shown[5].startswith("longest pieces, Persian: ") and tables[1].longest[0] in shown[5]
