"""What two corpora have in common, counted by hand and with sets."""

import random
from pathlib import Path

import pytest
from corpus.corpora import Rows, one_file, tsv
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import NormalizationConfig
from translator.corpus.normalizer import Normalizer
from translator.corpus.overlap import EXAMPLES, Found, Overlap, find_overlap, format_overlap
from translator.corpus.sources import corpus_argument
from translator.errors import InputError, StorageError

NORMALIZER = Normalizer(NormalizationConfig())

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


def overlap(folder: Path, first: Rows, second: Rows) -> Overlap:
    return find_overlap(tsv(folder / "a.tsv", first), tsv(folder / "b.tsv", second), NORMALIZER)


def test_overlap_reports_the_expected_counts_and_examples(tmp_path: Path) -> None:
    made = overlap(tmp_path, FIRST, SECOND)
    assert made.found[0] == Found(pairs=7, same_pair=3, similar_pair=1, same_source=4, same_target=4)
    assert made.found[1] == Found(pairs=10, same_pair=3, similar_pair=2, same_source=6, same_target=4)
    assert [(a.line, b.line) for a, b in made.examples] == [(1, 3), (7, 2), (8, 7)]
    assert made.examples[0][0][1:3] == FIRST[0]
    assert made.examples[0][1][1:3] == SECOND[2]
    lines = format_overlap(made).splitlines()
    assert lines[0].split() == ["A:", "a", "B:", "b"]
    assert [line.split()[-4:] for line in lines[3:7]] == [
        ["3", "42.9%", "3", "30.0%"],
        ["1", "14.3%", "2", "20.0%"],
        ["4", "57.1%", "6", "60.0%"],
        ["4", "57.1%", "4", "40.0%"],
    ]
    assert "  A 1: Good morning." in lines
    assert "  B 3: GOOD MORNING" in lines


def test_examples_are_spread_evenly_over_the_corpus(tmp_path: Path) -> None:
    pairs = [(f"line {number}", f"خط {number}") for number in range(100)]
    made = overlap(tmp_path, pairs, random.Random(1).sample(pairs, 100))
    assert [a.line for a, _ in made.examples] == [1, 25, 50, 75, 100]
    assert all(a[1:3] == b[1:3] for a, b in made.examples)
    assert made.found[0] == made.found[1] == Found(100, 100, 0, 100, 100)


def test_disjoint_corpora_have_no_overlap_and_no_examples(tmp_path: Path) -> None:
    for other, whole in (("two", 1), ("", 0)):
        made = overlap(tmp_path, [("one", "یک")], [(other, "دو"), ("x", "")])
        assert made.found == (Found(1, 0, 0, 0, 0), Found(whole, 0, 0, 0, 0))
        assert "lines" not in format_overlap(made)


SIDES = st.lists(st.tuples(st.sampled_from("abcd "), st.sampled_from("ابپت ")), max_size=12)


@settings(deadline=None, max_examples=40)
@given(SIDES, SIDES)
def test_overlap_counts_agree_with_sets(tmp_path_factory: pytest.TempPathFactory, first: Rows, second: Rows) -> None:
    corpora = [*first, ("x", "ک")], [*second, ("y", "گ")]  # the added pairs ensure that no side is all blank
    made = overlap(tmp_path_factory.mktemp("corpora"), *corpora)
    whole = [[pair for pair in pairs if " " not in pair] for pairs in corpora]
    for found, own, other in zip(made.found, whole, whole[::-1], strict=True):
        assert found.pairs == len(own)
        assert found.same_pair == sum(pair in other for pair in own)
        assert found.same_source == sum(source in {pair[0] for pair in other} for source, _ in own)
        assert found.same_target == sum(target in {pair[1] for pair in other} for _, target in own)
    shared = {pair[0] for pair in whole[0]} & {pair[0] for pair in whole[1]}
    assert len(made.examples) == min(EXAMPLES, len(shared))
    assert {a.source for a, _ in made.examples} <= shared


def test_corpus_name_is_derived_from_the_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"bible.en-fa.zip": "bible", "پیکرهٔ من.tsv": "پیکره_من", ".zip": "corpus", "--.x": "corpus"}
    for file, name in names.items():
        Path(file).write_text("", encoding="utf-8")
        assert corpus_argument(file).name == name
    Path("x" * 100).write_text("", encoding="utf-8")
    assert corpus_argument("x" * 100).name == "x" * 60


@pytest.mark.parametrize("text", ["", ":", "nowhere.zip", "one:two", "a:b:c", "x" * 5000, "here.en:gone.fa"])
def test_an_argument_that_is_no_corpus_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.en").write_text("one\n", encoding="utf-8")
    with pytest.raises(InputError, match="ENGLISH:PERSIAN") as caught:
        corpus_argument(text)
    if text == "here.en:gone.fa":
        assert "`gone.fa` cannot be found" in str(caught.value)


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    content = "caf\xe9\tx\n".encode("latin-1") + "Good morning!\tصبح بخیر\n".encode()
    bad = one_file(tmp_path / "bad.tsv", content, invalid_utf8="drop")
    made = find_overlap(tsv(tmp_path / "a.tsv", FIRST), bad, NORMALIZER)
    assert made.found[1] == Found(1, 1, 0, 1, 1)
    assert made.examples[0][1].line == 2


def test_an_unusable_temporary_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(Path("/nowhere/at/all")))
    with pytest.raises(StorageError, match="temporary folder"):
        overlap(tmp_path, FIRST, SECOND)
