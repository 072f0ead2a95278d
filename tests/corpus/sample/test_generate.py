"""The corpus that the generator writes: the committed files, the split, and what a pair may look like."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from translator.corpus.sample.generate import (
    MINIMUM_COUNT,
    SPLITS,
    Corpus,
    bucket,
    generate,
    home_of,
    read_idioms,
    render,
    write,
)
from translator.corpus.sample.lexicon import load_lexicon
from translator.errors import CorpusError

SAMPLE = Path(__file__).resolve().parents[3] / "data" / "sample"
ENGLISH = re.compile(r"[A-Za-z0-9 ,.?!'-]+")
PERSIAN = re.compile(r"[آابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیءأؤئ\u064b۰-۹ \u200c،.؟!]+")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return generate(SAMPLE)


@pytest.fixture(scope="module")
def pairs() -> dict[str, list[tuple[str, str]]]:
    result: dict[str, list[tuple[str, str]]] = {}
    for name in SPLITS:
        lines = (SAMPLE / f"{name}.tsv").read_text(encoding="utf-8").removesuffix("\n").split("\n")
        fields = [line.split("\t") for line in lines]
        assert all(len(field) == 2 for field in fields)
        result[name] = [(field[0], field[1]) for field in fields]
    return result


def test_committed_files_are_what_the_generator_writes(corpus: Corpus) -> None:
    for name in SPLITS:
        assert (SAMPLE / f"{name}.tsv").read_bytes() == render(corpus.split(name)), f"{name}.tsv: run the script again"


def test_sizes(pairs: dict[str, list[tuple[str, str]]]) -> None:
    assert len(pairs["train"]) >= 12_000
    assert (len(pairs["validation"]), len(pairs["test"])) == (500, 1000)
    assert all((SAMPLE / f"{name}.tsv").stat().st_size < 1_900_000 for name in SPLITS)
    lengths = [len(en.split()) for name in SPLITS for en, _ in pairs[name]]
    assert 5 <= sum(lengths) / len(lengths) <= 10


def test_one_translation_for_each_english_sentence(pairs: dict[str, list[tuple[str, str]]]) -> None:
    counts = Counter(en for name in SPLITS for en, _ in pairs[name])
    assert [en for en, count in counts.items() if count > 1] == []


def test_no_held_out_sentence_in_another_split(pairs: dict[str, list[tuple[str, str]]]) -> None:
    for side in (0, 1):
        sets = {name: {pair[side] for pair in pairs[name]} for name in SPLITS}
        assert not sets["train"] & sets["test"]
        assert not sets["train"] & sets["validation"]
        assert not sets["validation"] & sets["test"]


def test_every_test_sentence_has_a_combination_that_train_never_shows(corpus: Corpus) -> None:
    seen = {key for sentence in corpus.train for key in sentence.keys}
    for name in ("validation", "test"):
        for sentence in corpus.split(name):
            held = [key for key in sentence.keys if bucket(key) == name]
            assert held, sentence
            assert not seen & set(held), sentence


def test_held_out_words_are_known_to_train(corpus: Corpus) -> None:
    counts = Counter(lemma for sentence in corpus.train for lemma in set(sentence.lemmas))
    for sentence in corpus.validation + corpus.test:
        assert all(counts[lemma] >= MINIMUM_COUNT for lemma in sentence.lemmas), sentence


def test_variety(corpus: Corpus) -> None:
    assert len({sentence.pattern for sentence in corpus.train}) >= 25
    assert len({sentence.pattern for sentence in corpus.test}) >= 25
    assert len({lemma for sentence in corpus.train for lemma in sentence.lemmas}) >= 450
    lexicon = load_lexicon(SAMPLE / "lexicon")
    assert len({(verb.fa_nonverbal, verb.fa_past) for verb in lexicon.verbs.values()}) >= 70
    used = {lemma for sentence in corpus.train for lemma in sentence.lemmas}
    assert sum(key in used for key in lexicon.verbs) >= 70


def test_only_expected_characters(pairs: dict[str, list[tuple[str, str]]]) -> None:
    for name in SPLITS:
        for en, fa in pairs[name]:
            assert ENGLISH.fullmatch(en), en
            assert PERSIAN.fullmatch(fa), fa
            assert en[-1] in ".?!" and (en[-1] == "?") == (fa[-1] == "؟"), (en, fa)
            assert "  " not in en + fa
            assert not re.search(r" [،.؟!]|\u200c[ .،؟]|\u200c\u200c|[ادذرزژو]\u200c", fa), fa


def test_half_space_in_common_forms(pairs: dict[str, list[tuple[str, str]]]) -> None:
    text = "\n".join(fa for _, fa in pairs["train"])
    assert not re.search(r"(^| )ن?می ", text), "می is joined with a half-space"
    assert sum("\u200c" in fa for _, fa in pairs["train"]) > len(pairs["train"]) / 3


def test_no_leftover_of_the_machinery(pairs: dict[str, list[tuple[str, str]]]) -> None:
    for name in SPLITS:
        for en, _ in pairs[name]:
            assert not re.search(r"\b(True|False|None|a [aeio]|an [bcdfgjklmnpqrstvwxz])", en), en


def test_idioms_are_in_train_only(pairs: dict[str, list[tuple[str, str]]]) -> None:
    idioms = {(sentence.en, sentence.fa) for sentence in read_idioms(SAMPLE / "idioms.tsv")}
    assert len(idioms) >= 400
    assert idioms <= set(pairs["train"])


def test_home_of() -> None:
    keys = [f"a|{number}" for number in range(200)]
    by_bucket = {name: next(key for key in keys if bucket(key) == name) for name in SPLITS}
    assert home_of([by_bucket["train"]]) == "train"
    assert home_of([by_bucket["train"], by_bucket["test"]]) == "test"
    assert home_of([by_bucket["validation"], by_bucket["test"]]) == ""
    assert home_of([]) == "train"


def test_bucket_is_stable() -> None:
    assert [bucket(key) for key in ("read|book", "new|house", "go|park", "eat|apple")] == BUCKETS


BUCKETS = ["test", "train", "train", "train"]


def test_another_seed_gives_other_sentences(corpus: Corpus, tmp_path: Path) -> None:
    other = generate(SAMPLE, seed=1, pairs=10000)
    assert len(other.train) == 8500
    assert [sentence.en for sentence in other.test] != [sentence.en for sentence in corpus.test]
    write(other, tmp_path)
    assert (tmp_path / "train.tsv").read_bytes() == render(other.train)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test.tsv", "train.tsv", "validation.tsv"]


def test_too_few_pairs() -> None:
    with pytest.raises(CorpusError, match="too few"):
        generate(SAMPLE, pairs=1600)


def test_broken_idioms(tmp_path: Path) -> None:
    path = tmp_path / "idioms.tsv"
    path.write_text("# fine\nHello.\tسلام.\nNo tab here\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"idioms.tsv, line 3: want English TAB Persian"):
        read_idioms(path)
    with pytest.raises(CorpusError, match="cannot read the hand-written pairs"):
        read_idioms(tmp_path / "missing.tsv")
