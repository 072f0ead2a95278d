"""The generator of the embedded sample writes the committed files; their split and what a pair may look like."""

import itertools
import re
from collections import Counter
from pathlib import Path

import pytest

from scripts.sample_corpus.generate import MINIMUM_COUNT, SPLITS, Corpus, bucket, generate, read_idioms, write
from translator.errors import CorpusError

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
ENGLISH = re.compile(r"[A-Za-z0-9 ,.?!'-]+")
PERSIAN = re.compile(r"[آابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیءأؤئ\u064b۰-۹ \u200c،.؟!]+")
BAD_PERSIAN = re.compile(r" [،.؟!]|\u200c[ .،؟]|\u200c\u200c|[ادذرزژو]\u200c|(^| )ن?می ")
"""Spaces before marks, half-spaces without need, and the prefix of a verb before a space instead of a half-space."""
BAD_ENGLISH = re.compile(r"\b(True|False|None|a [aeio]|an [bcdfgjklmnpqrstvwxz])")
"""Constants of the program, and the wrong article."""


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return generate(SAMPLE)


def test_committed_files_are_what_the_generator_writes(corpus: Corpus, tmp_path: Path) -> None:
    write(corpus, tmp_path)
    files = [f"{name}.tsv" for name in SPLITS]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    for file in files:
        committed = (SAMPLE / file).read_bytes()
        assert committed == (tmp_path / file).read_bytes(), "run `python -m scripts.sample_corpus`"


def test_splits_have_their_sizes(corpus: Corpus) -> None:
    assert [len(corpus.split(name)) for name in SPLITS] == [15_000, 500, 1000]


def test_all_idioms_are_in_training(corpus: Corpus) -> None:
    idioms = {(sentence.en, sentence.fa) for sentence in read_idioms(SAMPLE / "idioms.tsv")}
    training_pairs = {(sentence.en, sentence.fa) for sentence in corpus.train}
    assert idioms <= training_pairs


def test_no_english_sentence_is_there_twice(corpus: Corpus) -> None:
    counts: Counter[str] = Counter()
    for name in SPLITS:
        counts.update(sentence.en for sentence in corpus.split(name))
    assert max(counts.values()) == 1


def test_no_persian_sentence_is_in_two_splits(corpus: Corpus) -> None:
    counts: Counter[str] = Counter()
    for name in SPLITS:
        counts.update({sentence.fa for sentence in corpus.split(name)})
    assert max(counts.values()) == 1


@pytest.mark.parametrize("name", ["validation", "test"])
def test_every_held_out_sentence_has_a_combination_that_training_lacks(corpus: Corpus, name: str) -> None:
    training_keys = set(itertools.chain.from_iterable(sentence.keys for sentence in corpus.train))
    for sentence in corpus.split(name):
        held_out_keys = {key for key in sentence.keys if bucket(key) == name}
        assert held_out_keys, sentence
        assert not training_keys & held_out_keys, sentence


@pytest.mark.parametrize("name", ["validation", "test"])
def test_every_word_of_a_held_out_sentence_is_frequent_in_training(corpus: Corpus, name: str) -> None:
    counts: Counter[str] = Counter()
    for sentence in corpus.train:
        counts.update(set(sentence.lemmas))
    for sentence in corpus.split(name):
        for lemma in sentence.lemmas:
            assert counts[lemma] >= MINIMUM_COUNT, sentence


def test_pairs_contain_only_well_formed_english_and_persian(corpus: Corpus) -> None:
    for name in SPLITS:
        for sentence in corpus.split(name):
            en, fa = sentence.en, sentence.fa
            assert ENGLISH.fullmatch(en), en
            assert PERSIAN.fullmatch(fa), fa
            assert "  " not in en + fa
            assert not BAD_PERSIAN.search(fa), fa
            assert not BAD_ENGLISH.search(en), en


def test_both_sides_of_a_pair_end_alike(corpus: Corpus) -> None:
    for name in SPLITS:
        for sentence in corpus.split(name):
            assert sentence.en[-1] in ".?!", sentence
            is_english_question = sentence.en[-1] == "?"
            is_persian_question = sentence.fa[-1] == "؟"
            assert is_english_question == is_persian_question, sentence


def test_a_sample_of_too_few_pairs_is_refused() -> None:
    with pytest.raises(CorpusError, match="too few"):
        generate(SAMPLE, pairs=1600)


def test_a_malformed_idiom_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "idioms.tsv"
    path.write_text("# fine\nHello.\tسلام.\nNo tab here\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"idioms.tsv, line 3: want English TAB Persian"):
        read_idioms(path)
