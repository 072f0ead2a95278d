"""What two corpora have in common, counted by hand and with sets."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.corpora import Rows, one_file, tsv
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
SAME = (
    "Nothing in this long sentence is different in the two of them",
    "در این جملهٔ بلند هیچ چیز در آن دو فرق ندارد",
)
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


@pytest.fixture(scope="module")
def first_and_second(tmp_path_factory: pytest.TempPathFactory) -> Overlap:
    return overlap(tmp_path_factory.mktemp("corpora"), FIRST, SECOND)


def test_pairs_in_common_are_counted_for_each_corpus(first_and_second: Overlap) -> None:
    assert first_and_second.found == (
        Found(pairs=7, same_pair=3, similar_pair=1, same_source=4, same_target=4),
        Found(pairs=10, same_pair=3, similar_pair=2, same_source=6, same_target=4),
    )


def test_examples_are_the_lines_of_both_corpora_as_they_are_read(first_and_second: Overlap) -> None:
    assert [(a.line, b.line) for a, b in first_and_second.examples] == [(1, 3), (7, 2), (8, 7)]
    good_morning = first_and_second.examples[0]
    assert [pair[1:3] for pair in good_morning] == [FIRST[0], SECOND[2]]


def test_the_table_shows_counts_and_shares_of_each_corpus(first_and_second: Overlap) -> None:
    lines = format_overlap(first_and_second).splitlines()
    assert lines[0].split() == ["A:", "a", "B:", "b"]
    assert [line.split()[-4:] for line in lines[3:7]] == [
        ["3", "42.9%", "3", "30.0%"],
        ["1", "14.3%", "2", "20.0%"],
        ["4", "57.1%", "6", "60.0%"],
        ["4", "57.1%", "4", "40.0%"],
    ]


def test_the_table_ends_with_examples(first_and_second: Overlap) -> None:
    lines = format_overlap(first_and_second).splitlines()
    assert "  A 1: Good morning." in lines
    assert "  B 3: GOOD MORNING" in lines


def test_examples_are_spread_evenly_over_the_corpus(tmp_path: Path) -> None:
    pairs = [(f"line {number}", f"خط {number}") for number in range(100)]
    shuffled = overlap(tmp_path, pairs, random.Random(1).sample(pairs, 100))
    assert [a.line for a, _ in shuffled.examples] == [1, 25, 50, 75, 100]
    for a, b in shuffled.examples:
        assert a[1:3] == b[1:3]


def test_corpora_of_the_same_pairs_in_another_order_overlap_whole(tmp_path: Path) -> None:
    pairs = [(f"line {number}", f"خط {number}") for number in range(100)]
    shuffled = overlap(tmp_path, pairs, random.Random(1).sample(pairs, 100))
    whole = Found(pairs=100, same_pair=100, similar_pair=0, same_source=100, same_target=100)
    assert shuffled.found == (whole, whole)


@pytest.mark.parametrize(("source", "pairs"), [("two", 1), ("", 0)])
def test_disjoint_corpora_have_no_overlap_and_no_examples(tmp_path: Path, source: str, pairs: int) -> None:
    disjoint = overlap(tmp_path, [("one", "یک")], [(source, "دو"), ("x", "")])
    assert disjoint.found == (Found(1, 0, 0, 0, 0), Found(pairs, 0, 0, 0, 0))
    assert "lines" not in format_overlap(disjoint)


SIDES = st.lists(st.tuples(st.sampled_from("abcd "), st.sampled_from("ابپت ")), max_size=12)


def without_blanks(pairs: Rows) -> Rows:
    return [pair for pair in pairs if " " not in pair]


def counted_with_sets(pairs: Rows, other_pairs: Rows) -> Found:
    """Count what `pairs` have in common with `other_pairs`; texts of one letter are never near-duplicates."""
    sources = {source for source, _ in other_pairs}
    targets = {target for _, target in other_pairs}
    return Found(
        pairs=len(pairs),
        same_pair=sum(pair in other_pairs for pair in pairs),
        similar_pair=0,
        same_source=sum(source in sources for source, _ in pairs),
        same_target=sum(target in targets for _, target in pairs),
    )


@settings(deadline=None, max_examples=40)
@given(SIDES, SIDES)
def test_overlap_counts_agree_with_sets(tmp_path_factory: pytest.TempPathFactory, first: Rows, second: Rows) -> None:
    # The added pairs ensure that no side is all blank.
    first = [*first, ("x", "ک")]
    second = [*second, ("y", "گ")]
    result = overlap(tmp_path_factory.mktemp("corpora"), first, second)

    first = without_blanks(first)
    second = without_blanks(second)
    assert result.found == (counted_with_sets(first, second), counted_with_sets(second, first))

    first_sources = {source for source, _ in first}
    second_sources = {source for source, _ in second}
    shared_sources = first_sources & second_sources
    assert len(result.examples) == min(EXAMPLES, len(shared_sources))
    assert {a.source for a, _ in result.examples} <= shared_sources


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("bible.en-fa.zip", "bible"),
        ("پیکرهٔ من.tsv", "پیکره_من"),
        (".zip", "corpus"),
        ("--.x", "corpus"),
        ("x" * 100, "x" * 60),
    ],
)
def test_corpus_name_is_derived_from_the_file_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).write_text("", encoding="utf-8")
    assert corpus_argument(file).name == name


@pytest.fixture
def folder_with_one_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.en").write_text("one\n", encoding="utf-8")


@pytest.mark.usefixtures("folder_with_one_side")
@pytest.mark.parametrize("text", ["", ":", "nowhere.zip", "one:two", "a:b:c", "x" * 5000, "here.en:gone.fa"])
def test_an_argument_that_is_no_corpus_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="ENGLISH:PERSIAN"):
        corpus_argument(text)


@pytest.mark.usefixtures("folder_with_one_side")
def test_the_missing_file_of_two_is_named() -> None:
    with pytest.raises(InputError, match=r"`gone\.fa` cannot be found"):
        corpus_argument("here.en:gone.fa")


def test_a_path_with_a_control_character_is_refused() -> None:
    with pytest.raises(InputError, match="control character"):
        corpus_argument("a\0b")


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    content = "caf\xe9\tx\n".encode("latin-1") + "Good morning!\tصبح بخیر\n".encode()
    bad = one_file(tmp_path / "bad.tsv", content, invalid_utf8="drop")
    overlap_with_bad = find_overlap(tsv(tmp_path / "a.tsv", FIRST), bad, NORMALIZER)
    assert overlap_with_bad.found[1] == Found(1, 1, 0, 1, 1)
    assert overlap_with_bad.examples[0][1].line == 2


def test_an_unusable_temporary_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(Path("/nowhere/at/all")))
    with pytest.raises(StorageError, match="temporary folder"):
        overlap(tmp_path, FIRST, SECOND)
