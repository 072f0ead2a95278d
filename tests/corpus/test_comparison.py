"""What two corpora have in common, counted by hand, with sets, and on real text."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import NormalizationConfig, SourceConfig
from translator.corpus import comparison
from translator.corpus.comparison import Found, compare_corpora, corpus_argument, format_comparison
from translator.corpus.normalize import Normalizer
from translator.corpus.sources import read_pairs
from translator.errors import CorpusError, InputError, StorageError

DATA = Path("../shared/data")
NORMALIZER = Normalizer(NormalizationConfig())
Corpus = Callable[[str, Sequence[tuple[str, str]]], SourceConfig]

LONG = (
    "The moment has come for me to set the whole story down on paper",
    "وقت آن رسیده که همهٔ داستان را روی کاغذ بیاورم",
)
SAME = ("Nothing in this long sentence is different in the two of them", "در این جملهٔ بلند هیچ چیز در آن دو فرق ندارد")
OWN = (
    "This sentence stands in one of the two corpora alone, but twice",
    "این جمله فقط در یکی از دو پیکره است، اما دو بار",
)
FIRST = [
    ("Good morning.", "صبح بخیر."),
    ("", "خالی"),
    ("Good night.", "شب بخیر."),
    ("Come in!", "بیا تو!"),
    ("good morning", "صبـح بخیر!"),
    ("Only here.", "فقط این‌جا."),
    LONG,
    SAME,
]
SECOND = [
    ("Nobody knows.", "هیچ‌کس نمی‌داند."),
    (LONG[0], LONG[1] + "م"),
    ("GOOD MORNING", "روز خوش"),
    ("Good morning!", "صبح بخير"),
    ("Have a good night.", "شب بخیر"),
    ("Good morning!", "صبح بخير"),
    SAME,
    OWN,
    (OWN[0], OWN[1] + "ن"),
    (LONG[0] + "!", LONG[1] + "ش"),
]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    def write(name: str, pairs: Sequence[tuple[str, str]]) -> SourceConfig:
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
        return SourceConfig(name=name, path=str(path))

    return write


def test_counts(corpus: Corpus) -> None:
    """Counted by hand."""
    found = compare_corpora(corpus("a", FIRST), corpus("b", SECOND), NORMALIZER).found
    assert found[0] == Found(pairs=7, same_pair=3, similar_pair=1, same_source=4, same_target=4)
    assert found[1] == Found(pairs=10, same_pair=3, similar_pair=2, same_source=6, same_target=4)


def test_examples_say_where_they_stand(corpus: Corpus) -> None:
    made = compare_corpora(corpus("a", FIRST), corpus("b", SECOND), NORMALIZER)
    assert [(example.a.line, example.b.line) for example in made.examples] == [(1, 3), (7, 2), (8, 7)]
    assert made.examples[0].a[1:3] == FIRST[0]
    assert made.examples[0].b[1:3] == SECOND[2]


def test_examples_come_from_all_over(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_AT_A_TIME", 7)
    pairs = [(f"line {number}", f"خط {number}") for number in range(100)]
    shuffled = random.Random(1).sample(pairs, 100)
    made = compare_corpora(corpus("a", pairs), corpus("b", shuffled), NORMALIZER)
    assert [example.a.line for example in made.examples] == [1, 25, 50, 75, 100]
    assert all(example.a[1:3] == example.b[1:3] for example in made.examples)
    assert made.found[0] == made.found[1] == Found(100, 100, 0, 100, 100)


def test_table(corpus: Corpus) -> None:
    made = compare_corpora(corpus("a", FIRST), corpus("b", SECOND), NORMALIZER)
    lines = format_comparison(made).splitlines()
    assert lines[0].split() == ["A:", "a", "B:", "b"]
    assert [line.split()[-4:] for line in lines[3:7]] == [
        ["3", "42.9%", "3", "30.0%"],
        ["1", "14.3%", "2", "20.0%"],
        ["4", "57.1%", "6", "60.0%"],
        ["4", "57.1%", "4", "40.0%"],
    ]
    assert "  A 1: Good morning." in lines
    assert "  B 3: GOOD MORNING" in lines


def test_nothing_in_common(corpus: Corpus) -> None:
    made = compare_corpora(corpus("a", [("one", "یک")]), corpus("b", [("two", "دو"), ("", "")]), NORMALIZER)
    assert made.found == (Found(1, 0, 0, 0, 0), Found(1, 0, 0, 0, 0))
    assert made.examples == ()
    assert "lines" not in format_comparison(made)


def test_corpora_without_a_whole_pair(corpus: Corpus) -> None:
    made = compare_corpora(corpus("a", [("", "یک"), ("one", "")]), corpus("b", [("", "دو"), ("two", "")]), NORMALIZER)
    assert made.found == (Found(0, 0, 0, 0, 0), Found(0, 0, 0, 0, 0))
    assert "%" not in format_comparison(made)


SIDES = st.lists(st.tuples(st.sampled_from("abcd "), st.sampled_from("ابپت ")), max_size=12)


@settings(deadline=None, max_examples=40)
@given(SIDES, SIDES)
def test_against_sets(
    tmp_path_factory: pytest.TempPathFactory, first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("corpora")
    corpora = {"a": [*first, ("x", "ک")], "b": [*second, ("y", "گ")]}  # the last ones, so that no side is all blank
    for name, pairs in corpora.items():
        (folder / name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    a, b = (SourceConfig(name=name, path=str(folder / name)) for name in corpora)
    made = compare_corpora(a, b, NORMALIZER)
    whole = [[pair for pair in pairs if " " not in pair] for pairs in corpora.values()]
    for found, own, other in zip(made.found, whole, whole[::-1], strict=True):
        assert found.pairs == len(own)
        assert found.same_pair == sum(pair in other for pair in own)
        assert found.same_source == sum(source in {pair[0] for pair in other} for source, _ in own)
        assert found.same_target == sum(target in {pair[1] for pair in other} for _, target in own)
    shared = {pair[0] for pair in whole[0]} & {pair[0] for pair in whole[1]}
    assert len(made.examples) == min(comparison.EXAMPLES, len(shared))
    assert {example.a.source for example in made.examples} <= shared


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared corpora are not here")
def test_mizan_and_afec_overlap() -> None:
    mizan = SourceConfig(name="mizan", path=str(DATA / "mizan.zip"), max_pairs=4010)
    afec = SourceConfig(
        name="afec", source_path=str(DATA / "afec.en.gz"), target_path=str(DATA / "afec.fa.gz"), max_pairs=4600
    )
    made = compare_corpora(mizan, afec, NORMALIZER)
    assert made.found[0].same_pair == made.found[1].same_pair > 0
    assert made.found[0].same_source >= made.found[0].same_pair
    assert [example.a.line for example in made.examples] == sorted(example.a.line for example in made.examples)


@pytest.mark.parametrize(
    "name", ["mizan.zip", "my corpus.tsv", "پیکرهٔ من.tsv", "a:b.tsv", "-x.tsv", ".hidden", "folder"]
)
def test_one_path(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.mkdir() if name == "folder" else path.write_text("one\tیک\n", encoding="utf-8")
    source = corpus_argument(str(path))
    assert source.path == str(path)
    assert source.source_path is None


@pytest.mark.parametrize(("english", "persian"), [("a.en", "a.fa"), ("my english", "متن فارسی"), ("x:y.en", "z:w.fa")])
def test_two_files(tmp_path: Path, english: str, persian: str) -> None:
    (tmp_path / english).write_text("one\n", encoding="utf-8")
    (tmp_path / persian).write_text("یک\n", encoding="utf-8")
    source = corpus_argument(f"{tmp_path / english}:{tmp_path / persian}")
    assert [pair[1:3] for pair in read_pairs(source)] == [("one", "یک")]


def test_names_of_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file, name in (
        ("bible.en-fa.zip", "bible"),
        ("پیکرهٔ من.tsv", "پیکره_من"),
        (".zip", "corpus"),
        ("--.x", "corpus"),
    ):
        Path(file).write_text("", encoding="utf-8")
        assert corpus_argument(file).name == name
    Path("x" * 100).write_text("", encoding="utf-8")
    assert corpus_argument("x" * 100).name == "x" * 60


@pytest.mark.parametrize("text", ["", ":", "nowhere.zip", "one:two", "a:b:c", "x" * 5000, "a\0b", "here.en:gone.fa"])
def test_what_is_no_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.en").write_text("one\n", encoding="utf-8")
    with pytest.raises(InputError, match="ENGLISH:PERSIAN") as caught:
        corpus_argument(text)
    if text == "here.en:gone.fa":
        assert "`gone.fa` cannot be found" in str(caught.value)


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path, corpus: Corpus) -> None:
    (tmp_path / "bad.tsv").write_bytes("caf\xe9\tx\n".encode("latin-1") + "Good morning!\tصبح بخیر\n".encode())
    bad = SourceConfig(name="bad", path=str(tmp_path / "bad.tsv"), invalid_utf8="drop")
    made = compare_corpora(corpus("a", FIRST), bad, NORMALIZER)
    assert made.found[1] == Found(1, 1, 0, 1, 1)
    assert made.examples[0].b.line == 2


def test_a_corpus_that_cannot_be_read(tmp_path: Path, corpus: Corpus) -> None:
    (tmp_path / "bad.tsv").write_text("no tab\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"bad\.tsv, line 1"):
        compare_corpora(corpus("a", FIRST), SourceConfig(name="bad", path=str(tmp_path / "bad.tsv")), NORMALIZER)


def test_no_room_for_temporary_files(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = corpus("a", FIRST), corpus("b", SECOND)
    monkeypatch.setattr("tempfile.tempdir", str(Path("/nowhere/at/all")))
    with pytest.raises(StorageError, match="temporary folder"):
        compare_corpora(a, b, NORMALIZER)
