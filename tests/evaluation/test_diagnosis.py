"""Diagnosis: each kind of mistake is found, correct text is left alone, any text is accepted; scores of parts."""

import json
import math
from dataclasses import replace

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from translated_sets import HOSTILE, hostile_sets, model_score, translated

from translator.evaluation.diagnosis import MEANINGS, Part, diagnose, score_parts
from translator.evaluation.report import format_diagnosis
from translator.evaluation.results import ModelScore, ScoredSet
from translator.run.text import printable

TEN = "ابپتثجچحخد"
SOURCE = "He went home in the evening with his friends."
REFERENCE = "عصر با دوستانش به خانه رفت."


def note(name: str, hypothesis: str, references: str | tuple[str, ...], source: str = "He is there.") -> str | None:
    """Return the note of the check `name` on one sentence; None if the sentence does not have that mistake."""
    mark = diagnose(translated([hypothesis], [references], [source])).marks[0].get(name)
    return mark and mark.note


@settings(deadline=None, max_examples=25)
@given(hostile_sets())
def test_any_text_is_diagnosed_and_the_counts_add_up(scored: ScoredSet) -> None:
    found = diagnose(scored)
    assert len(found.marks) == len(scored.sources)
    lacking = set() if scored.hypothesis_scores else {"unfinished", "search_errors"}
    assert found.possible.keys() == MEANINGS.keys() - lacking
    for name, count in found.counts().items():
        worst = found.worst(name, 2)
        assert len(worst) == min(2, count) <= found.possible[name] <= len(scored.sources)
        assert all(name in found.marks[number - 1] for number, _ in worst)
    json.dumps(found.to_json(), allow_nan=False)
    assert all(printable(line) == line for line in format_diagnosis(found))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=5))
def test_a_hypothesis_equal_to_a_reference_has_no_findings(rows: list[tuple[str, str, str]]) -> None:
    sources, texts = [row[0] for row in rows], [row[1] for row in rows]
    for references in ([(row[1], row[2]) for row in rows], [(row[1],) for row in rows]):
        assert not any(diagnose(translated(texts, references, sources)).marks)


def test_search_errors_are_left_out_without_reference_scores() -> None:
    half = diagnose(translated(["نه"], hypothesis_scores=(model_score("نه", -1.0, -1.0),)))
    assert MEANINGS.keys() - half.possible.keys() == {"search_errors"}


def test_json_lists_the_worst_examples_first_and_lines_show_counts() -> None:
    hypotheses = ["او رفت رفت به خانه و ماند.", "نه نه نه نه نه\x1b[2J", "او به خانه رفت رفت.", "آری"]
    found = diagnose(translated(hypotheses, [REFERENCE] * 4, [SOURCE] * 4))
    repetition = found.to_json(2)["findings"][1]
    assert (repetition["name"], repetition["count"], repetition["of"]) == ("repetition", 3, 4)
    assert [example["sentence"] for example in repetition["examples"]] == [2, 3]
    assert repetition["examples"][0]["note"] == "4 of 6 words repeated: نه ×4"
    lines = format_diagnosis(found)
    assert lines[0] == "Diagnosis of held, system, step-000001, beam-5"
    assert ["repetition", "3", "of", "4", "(75.0%)"] in [line.split() for line in lines]
    assert format_diagnosis(found, "system step-000001")[0] == "Diagnosis of held, system step-000001, beam-5"


# --- parts ---

SOURCES = ["one", "a b c d e", "a b c d e f", "w " * 41, "q " * 40]
TRANSLATED = ["یک", "آ ب پ ت ث", "آ ب پ ت ث ج", "و", "ق"]
CORRECT = ["یک", "آ ب پ ت", "ج چ", "و و", "ق"]


def parts(rare: tuple[float, ...] = (), origins: str = "ttttt") -> list[Part]:
    scored = translated(TRANSLATED, CORRECT, SOURCES)
    return score_parts(replace(scored, rare_shares=rare, origins=tuple(origins)))


def test_sentences_are_grouped_by_length_and_share_of_rare_words() -> None:
    of_length = {"1–5 words": 2, "6–10 words": 1, "21–40 words": 1, "over 40 words": 1}
    assert [part[:3] for part in parts()] == [("length", *item) for item in of_length.items()]
    of_rare = {"none": 1, "up to 10%": 1, "10–25%": 2, "over 25%": 1}
    found = [part for part in parts((0.0, 0.1, 0.11, 0.25, 1.0)) if part.kind == "rare words"]
    assert {part.name: part.sentences for part in found} == of_rare


def test_a_part_is_scored_on_its_own_sentences_only() -> None:
    part = next(one for one in parts(origins="ababb") if one.name == "a")
    assert (part.kind, part.sentences) == ("source", 2)
    pairs = [TRANSLATED[0], TRANSLATED[2]], [[CORRECT[0], CORRECT[2]]]
    assert part.scores == {"bleu": sacrebleu.corpus_bleu(*pairs).score, "chrf": sacrebleu.corpus_chrf(*pairs).score}


# --- the checks ---


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
    names = [kind for kind in ("too_short", "too_long") if note(kind, hypothesis, references)]
    assert names == ([name] if name else [])


def test_unfinished_translations_are_reported_longest_first() -> None:
    scores = tuple(model_score("یک", -1, -1, tokens, finished=tokens < 9) for tokens in (4, 9, 12))
    found = diagnose(translated(["یک"] * 3, hypothesis_scores=scores))
    assert found.worst("unfinished", 5) == [(3, "stopped after 12 tokens"), (2, "stopped after 9 tokens")]


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
        ("copied_source", "In the Garden.", "the garden بزرگ", ("باغ",), "the garden"),
        ("copied_source", "In the Garden.", "باغ the بزرگ", ("باغ",), None),
        ("copied_source", "In the Garden.", "a big city", ("باغ",), None),
        ("numbers", "in 1979", "در ۱۹۷۹", ("در سال ۱۹۷۹",), None),
        ("numbers", "12,500 men", "۱۲٬۵۰۰ مرد", ("۱۲۵۰۰ مرد",), None),
        ("numbers", "in 1979", "در ۱۹۷۸", ("در سال ۱۹۷۹",), "lost 1979, invented 1978"),
        ("numbers", "in 1979", "در ۱۹۷۹ و ۱۹۷۹", ("در سال ۱۹۷۹",), "invented 1979"),
        ("numbers", "5 books", "پنج کتاب", ("پنج کتاب", "۵ کتاب"), None),
        ("copies", "see a.org 😂", "a.org را ببین", ("a.org را ببین 😂",), "😂"),
        ("copies", "see a.org 😂", "a.org را ببین", ("آن را ببین",), None),
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


# --- search errors ---

OURS = model_score("الف", -4, -4)


@pytest.mark.parametrize(
    ("ours", "theirs", "possible", "count"),
    [
        (OURS, model_score("ب", -1, -1), 1, 1),
        (model_score("الف", -4, -4, pieces=2), model_score("ب", -1, -1), 0, 0),
        (OURS, model_score("ب", -1, -1, pieces=0), 0, 0),
        (model_score("الف", -4, -math.inf), model_score("ب", -1, -1), 0, 0),
        (model_score("الف", -4, -4, finished=False), model_score("ب", -1, -1), 0, 0),
        (OURS, model_score("ب", -1, -1, finished=False), 0, 0),
        (OURS, model_score("\u2047 ب", -1, -1), 0, 0),
        (OURS, model_score("الف", 3, 3), 1, 0),
        (OURS, model_score("ب", -4 + 5e-5, -4 + 5e-5), 1, 0),
        (OURS, model_score("ب", -3.9998, -3.9998), 1, 1),
    ],
)
def test_search_errors_need_comparable_scores(ours: ModelScore, theirs: ModelScore, possible: int, count: int) -> None:
    found = diagnose(translated(["الف"], ["ب"], hypothesis_scores=(ours,), reference_scores=(theirs,)))
    assert (found.possible["search_errors"], found.counts()["search_errors"]) == (possible, count)
