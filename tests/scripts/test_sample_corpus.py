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


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return generate(SAMPLE)


def test_committed_files_are_what_the_generator_writes(corpus: Corpus, tmp_path: Path) -> None:
    write(corpus, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{name}.tsv" for name in SPLITS)
    for name in SPLITS:
        assert (SAMPLE / f"{name}.tsv").read_bytes() == (tmp_path / f"{name}.tsv").read_bytes(), (
            "run `python -m scripts.sample_corpus`"
        )
    assert [len(corpus.split(name)) for name in SPLITS] == [15_000, 500, 1000]
    idioms = {(sentence.en, sentence.fa) for sentence in read_idioms(SAMPLE / "idioms.tsv")}
    assert idioms <= {(sentence.en, sentence.fa) for sentence in corpus.train}


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
            assert ENGLISH.fullmatch(en) and PERSIAN.fullmatch(fa), (en, fa)
            assert en[-1] in ".?!" and (en[-1] == "?") == (fa[-1] == "؟"), (en, fa)
            assert "  " not in en + fa
            assert not re.search(r" [،.؟!]|\u200c[ .،؟]|\u200c\u200c|[ادذرزژو]\u200c|(^| )ن?می ", fa), fa
            assert not re.search(r"\b(True|False|None|a [aeio]|an [bcdfgjklmnpqrstvwxz])", en), en


def test_too_few_pairs_and_a_malformed_idiom_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="too few"):
        generate(SAMPLE, pairs=1600)
    path = tmp_path / "idioms.tsv"
    path.write_text("# fine\nHello.\tسلام.\nNo tab here\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"idioms.tsv, line 3: want English TAB Persian"):
        read_idioms(path)
