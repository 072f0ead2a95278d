"""Each check finds its mistake, and leaves correct text alone; counts add up on any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.translated_sets import HOSTILE, hostile_sets, translated
from translator.evaluation.mistakes import MEANINGS
from translator.evaluation.results import ScoredSet

SOURCE = "He went home in the evening with his friends."
REFERENCE = "عصر با دوستانش به خانه رفت."


@pytest.mark.parametrize(
    ("name", "source", "hypothesis", "references", "expected"),
    [
        ("empty", "A door.", "", ("در.",), "nothing"),
        ("empty", "A door.", " \u200c . ", ("در.",), "\u200c ."),
        ("empty", "...", "", ("…",), None),
        ("empty", "A door.", "", ("",), None),
        ("loop", SOURCE, "او به خانه به خانه به خانه رفت.", (REFERENCE,), "4 of 8 words repeated"),
        ("loop", SOURCE, "خانه‌ه‌ه‌ه‌ه رففففت.", (REFERENCE,), "1 of 2 words repeated"),
        ("loop", "No, no, no, I will not.", "نه، نه، نه، نمی‌روم.", ("هرگز.",), None),
        ("loop", SOURCE, "را باز کرد و جعبه را باز کرد", ("را باز کرد و را باز کرد",), None),
        ("loop", SOURCE, "و پدر و مادر و پسر", ("هرگز.",), None),
        ("loop", SOURCE, "سال ۱۱۱۱ بود", ("هرگز.",), None),
        ("latin_words", SOURCE, "او در garden است.", ("او در باغ است.",), "garden"),
        ("latin_words", SOURCE, "فرمان LS را اجرا کنید", ("فرمان ls را اجرا کن",), None),
        ("latin_words", SOURCE, "فرمان ls", ("دستور", "فرمان ls"), None),
        ("latin_words", SOURCE, "گروه A", ("گروه الف",), None),
        ("latin_words", SOURCE, "café و naïve", ("کافه",), "café naïve"),
        ("latin_words", SOURCE, "x و the the the", ("ایکس",), "the ×3"),
        ("latin_words", "در باز است.", "The door is open.", ("The gate is open.",), None),
        ("lost", "in 1979", "در ۱۹۷۹", ("در سال ۱۹۷۹",), None),
        ("lost", "12,500 men", "۱۲٬۵۰۰ مرد", ("۱۲۵۰۰ مرد",), None),
        ("lost", "in 1979", "در ۱۹۷۸", ("در سال ۱۹۷۹",), "1979"),
        ("lost", "5 books", "پنج کتاب", ("پنج کتاب", "۵ کتاب"), None),
        ("lost", "5 of seven", "۵ تا از ۷", ("پنج تا از ۷",), None),
        ("lost", "in 1979", "در ۱۳۵۸", ("در ۱۳۵۸",), None),
        ("lost", "12 and 12", "۱۲", ("۱۲ و ۱۲",), "12"),
        ("lost", "see a.org 😂", "a.org را ببین", ("a.org را ببین 😂",), "😂"),
        ("lost", "see a.org 😂", "a.org را ببین", ("آن را ببین",), None),
        ("lost", "room B12", "اتاق ۱۲", ("اتاق B12",), "B12"),
        ("lost", "+98 21 8877", "۲۱ +۹۸ ۸۸۷۷", ("+۹۸ ۲۱ ۸۸۷۷",), "+98 21 8877"),
    ],
)
def test_each_check_notes_its_mistake_and_accepts_correct_text(
    name: str, source: str, hypothesis: str, references: tuple[str, ...], expected: str | None
) -> None:
    (notes,) = translated([hypothesis], [references], [source]).mistakes
    assert (notes.get(name) or None) == expected


def test_a_translation_is_cut_off_where_the_search_says_so() -> None:
    test_set = translated(["یک", "دو"], cut_off=(2,))
    assert [notes["cut_off"] for notes in test_set.mistakes] == ["", "stopped at the length limit"]
    assert test_set.mistake_counts["cut_off"] == {"count": 1, "of": 2}


def test_nobody_knows_whether_a_text_file_was_cut_off() -> None:
    assert translated(["یک", "دو"], cut_off=None).mistake_counts["cut_off"]["of"] == 0


@settings(deadline=None, max_examples=25)
@given(hostile_sets())
def test_any_text_is_checked_and_the_counts_add_up(test_set: ScoredSet) -> None:
    assert len(test_set.mistakes) == len(test_set.hypotheses)
    assert test_set.mistake_counts.keys() == MEANINGS.keys()
    for name, counts in test_set.mistake_counts.items():
        assert counts["count"] == sum(bool(notes.get(name)) for notes in test_set.mistakes)
        assert counts["count"] <= counts["of"] <= len(test_set.hypotheses)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=5))
def test_a_hypothesis_equal_to_a_reference_has_no_mistakes(rows: list[tuple[str, str, str]]) -> None:
    sources, hypotheses, other_references = zip(*rows, strict=True)
    two_references = list(zip(hypotheses, other_references, strict=True))
    for references in (two_references, hypotheses):
        for notes in translated(hypotheses, references, sources).mistakes:
            assert not any(notes.values())
