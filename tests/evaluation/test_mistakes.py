"""Each check finds its mistake, and leaves correct text alone."""

import math

import pytest

from tests.support.translated_sets import model_score, translated
from translator.evaluation.diagnosis import diagnose
from translator.evaluation.mistakes.half_spaces import compare_half_spaces
from translator.evaluation.results import ModelScore

TEN = "ابپتثجچحخد"
SOURCE = "He went home in the evening with his friends."
REFERENCE = "عصر با دوستانش به خانه رفت."


def note(name: str, hypothesis: str, references: str | tuple[str, ...], source: str = "He is there.") -> str | None:
    """Return the note of the check `name` on one sentence; None if the sentence does not have that mistake."""
    mistakes = diagnose(translated([hypothesis], [references], [source])).mistakes[0]
    return mistakes[name].note if name in mistakes else None


@pytest.mark.parametrize(
    ("name", "source", "hypothesis", "references", "expected"),
    [
        ("empty", "A door.", "", ("در.",), "nothing"),
        ("empty", "A door.", " \u200c . ", ("در.",), "\u200c ."),
        ("empty", "...", "", ("…",), None),
        ("empty", "A door.", "", ("",), None),
        ("repetition", SOURCE, "او به خانه به خانه رفت.", (REFERENCE,), "2 of 6 words repeated: به خانه"),
        ("repetition", SOURCE, "خانه‌ه‌ه‌ه‌ه رففففت.", (REFERENCE,), "1 of 2 words repeated: رففففت"),
        ("repetition", "No, no, no, I will not.", "نه، نه، نه، نمی‌روم.", ("هرگز.",), None),
        ("repetition", SOURCE, "نه، نه، نه، نمی‌روم.", ("هرگز.", "نه، نه، نه!"), None),
        ("repetition", "No, no.", "نه، نه، نه، نمی‌روم.", ("نه، نه، نمی‌روم.",), "2 of 4 words repeated: نه ×2"),
        ("repetition", SOURCE, "پنج شمع پنج شمع هست", ("هرگز.",), "2 of 5 words repeated: پنج شمع"),
        ("repetition", SOURCE, "و پدر و مادر و پسر", ("هرگز.",), None),
        ("repetition", SOURCE, "در را باز کرد و سپس در را بست", ("هرگز.",), None),
        ("repetition", SOURCE, "را باز کرد و جعبه را باز کرد", ("هرگز.",), "3 of 8 words repeated: را باز کرد"),
        ("repetition", SOURCE, "سال ۱۱۱۱ بود", ("هرگز.",), None),
        ("latin_words", SOURCE, "او در garden است.", ("او در باغ است.",), "garden"),
        ("latin_words", SOURCE, "فرمان LS را اجرا کنید", ("فرمان ls را اجرا کن",), None),
        ("latin_words", SOURCE, "فرمان ls", ("دستور", "فرمان ls"), None),
        ("latin_words", SOURCE, "گروه A", ("گروه الف",), None),
        ("latin_words", SOURCE, "café و naïve", ("کافه",), "café naïve"),
        ("latin_words", SOURCE, "x و the the the", ("ایکس",), "the ×3"),
        ("numbers", "in 1979", "در ۱۹۷۹", ("در سال ۱۹۷۹",), None),
        ("numbers", "12,500 men", "۱۲٬۵۰۰ مرد", ("۱۲۵۰۰ مرد",), None),
        ("numbers", "in 1979", "در ۱۹۷۸", ("در سال ۱۹۷۹",), "lost 1979, invented 1978"),
        ("numbers", "in 1979", "در ۱۹۷۹ و ۱۹۷۹", ("در سال ۱۹۷۹",), "invented 1979"),
        ("numbers", "5 books", "پنج کتاب", ("پنج کتاب", "۵ کتاب"), None),
        ("copies", "see a.org 😂", "a.org را ببین", ("a.org را ببین 😂",), "😂"),
        ("copies", "see a.org 😂", "a.org را ببین", ("آن را ببین",), None),
        ("copies", "room B12", "اتاق ۱۲", ("اتاق B12",), "B12"),
        ("copies", "+98 21 8877", "۲۱ +۹۸ ۸۸۷۷", ("+۹۸ ۲۱ ۸۸۷۷",), "+98 21 8877"),
        ("numbers", "5 of seven", "۵ تا از ۷", ("پنج تا از ۷",), None),
        ("numbers", "five books", "۵۰۰ کتاب", ("پنج کتاب",), None),
        ("numbers", "in 1979", "در ۱۳۵۸", ("در ۱۳۵۸",), None),
        ("numbers", "12 and 12", "۱۲", ("۱۲ و ۱۲",), "lost 12"),
        ("english_punctuation", SOURCE, "چرا?", ("چرا؟",), "?"),
        ("english_punctuation", SOURCE, "چرا؟", ("چرا?",), None),
        ("english_punctuation", SOURCE, "آری, نه; بلی", ("آری",), ", ;"),
        ("english_punctuation", SOURCE, "۱,۲۰۰ نفر", ("هزار نفر",), None),
        ("half_spaces", SOURCE, "او می رود.", ("او می‌رود.", "او می رود."), None),
        ("half_spaces", SOURCE, "او میرود.", ("می‌رود", "او می‌رود!"), "میرود"),
    ],
)
def test_each_check_notes_its_mistake_and_accepts_correct_text(
    name: str, source: str, hypothesis: str, references: tuple[str, ...], expected: str | None
) -> None:
    assert note(name, hypothesis, references, source) == expected


@pytest.mark.parametrize(
    ("hypothesis", "references", "name"),
    [
        (TEN * 2, (TEN * 4,), ""),
        (TEN * 2 + "ا", (TEN,), "too_long"),
        (TEN * 2, (TEN * 5,), "too_short"),
        (TEN * 5, (TEN * 2, TEN * 4), ""),
        ("نه", ("به هیچ وجه",), ""),
        ("", (TEN * 5,), ""),
        (TEN * 5, ("",), ""),
    ],
)
def test_length_is_judged_by_the_nearest_reference(hypothesis: str, references: tuple[str, ...], name: str) -> None:
    names = [check for check in ("too_short", "too_long") if note(check, hypothesis, references)]
    assert names == ([name] if name else [])


def test_half_spaces_are_compared_in_words_of_both_texts_only() -> None:
    comparison = compare_half_spaces("او می رود و کتاب‌ها", "او می‌رود با کتاب‌ها و خانه‌ها")
    assert comparison.shared == 2
    assert comparison.differing == ["می رود"]


def test_unfinished_translations_are_reported_longest_first() -> None:
    scores = tuple(model_score("یک", -1, -1, tokens, finished=tokens < 9) for tokens in (4, 9, 12))
    diagnosis = diagnose(translated(["یک"] * 3, hypothesis_scores=scores))
    assert diagnosis.worst("unfinished", 5) == [(3, "stopped after 12 tokens"), (2, "stopped after 9 tokens")]


# --- search errors ---

HYPOTHESIS_SCORE = model_score("الف", -4, -4)


@pytest.mark.parametrize(
    ("hypothesis_score", "reference_score", "possible", "count"),
    [
        (HYPOTHESIS_SCORE, model_score("ب", -1, -1), 1, 1),
        (model_score("الف", -4, -4, pieces=2), model_score("ب", -1, -1), 0, 0),
        (HYPOTHESIS_SCORE, model_score("ب", -1, -1, pieces=0), 0, 0),
        (model_score("الف", -4, -math.inf), model_score("ب", -1, -1), 0, 0),
        (model_score("الف", -4, -4, finished=False), model_score("ب", -1, -1), 0, 0),
        (HYPOTHESIS_SCORE, model_score("ب", -1, -1, finished=False), 0, 0),
        (HYPOTHESIS_SCORE, model_score("\u2047 ب", -1, -1), 0, 0),
        (HYPOTHESIS_SCORE, model_score("الف", 3, 3), 1, 0),
        (HYPOTHESIS_SCORE, model_score("ب", -4 + 5e-5, -4 + 5e-5), 1, 0),
        (HYPOTHESIS_SCORE, model_score("ب", -3.9998, -3.9998), 1, 1),
    ],
)
def test_search_errors_need_comparable_scores(
    hypothesis_score: ModelScore, reference_score: ModelScore, possible: int, count: int
) -> None:
    test_set = translated(["الف"], ["ب"], hypothesis_scores=(hypothesis_score,), reference_scores=(reference_score,))
    diagnosis = diagnose(test_set)
    assert diagnosis.possible["search_errors"] == possible
    assert diagnosis.counts()["search_errors"] == count
