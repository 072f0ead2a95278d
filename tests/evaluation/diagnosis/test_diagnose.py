"""What holds for every diagnosis, whatever the text."""

import json
import random
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from translated_sets import HOSTILE, ModelScore, hostile_sets, translated

from translator.evaluation.diagnosis import Diagnosis, diagnose, format_diagnosis
from translator.evaluation.scored_set import ScoredSet

NAMES = [
    *("empty", "repetition", "too_short", "too_long", "unfinished", "latin_words", "numbers", "half_spaces"),
    *("punctuation", "english_punctuation", "identical", "search_errors", "search_errors_normalized"),
]


@settings(deadline=None, max_examples=25)
@given(hostile_sets())
def test_any_text_is_diagnosed_and_the_counts_add_up(scored: ScoredSet) -> None:
    diagnosis = diagnose(scored, examples=2)
    sentences = len(scored.sources)
    assert diagnosis.sentences == sentences
    assert [finding.name for finding in diagnosis.findings] == [name for name in NAMES if name not in diagnosis.missing]
    for finding in diagnosis.findings:
        assert finding.count == len(set(finding.sentences)) <= finding.of <= sentences
        assert list(finding.sentences) == sorted(finding.sentences)
        assert all(1 <= number <= sentences for number in finding.sentences)
        assert len(finding.examples) == min(2, finding.count)
        assert {example.sentence for example in finding.examples} <= set(finding.sentences)
        assert finding.meaning.endswith(".")
        for agreement in finding.agreements.values():
            assert 0 <= agreement.matched <= min(agreement.hypotheses, agreement.references)
    json.dumps(diagnosis.to_json(), allow_nan=False)
    lines = format_diagnosis(diagnosis)
    assert all(character.isprintable() or character == "\u200c" for line in lines for character in line)


@settings(deadline=None, max_examples=20)
@given(hostile_sets(), st.randoms(use_true_random=False))
def test_the_order_of_the_sentences_makes_no_difference(scored: ScoredSet, chance: random.Random) -> None:
    order = list(range(len(scored.sources)))
    chance.shuffle(order)
    other = shuffled(scored, order)
    for ours, theirs in zip(diagnose(scored).findings, diagnose(other).findings, strict=True):
        assert (ours.name, ours.count, ours.of) == (theirs.name, theirs.count, theirs.of)
        assert ours.agreements == theirs.agreements
        assert ours.figures == theirs.figures
        assert {order[number - 1] + 1 for number in theirs.sentences} == set(ours.sentences)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=5))
def test_a_reference_has_no_mistakes(rows: list[tuple[str, str, str]]) -> None:
    scored = translated([row[1] for row in rows], [(row[1], row[2]) for row in rows], [row[0] for row in rows])
    diagnosis = diagnose(scored)
    assert [finding.name for finding in diagnosis.findings if finding.count] == []
    alone = diagnose(replace(scored, references=tuple((row[1],) for row in rows)))
    assert [finding.name for finding in alone.findings if finding.count] == []
    for name in ("half_spaces", "punctuation"):
        finding = alone.finding(name)
        assert finding is not None
        assert all(one.matched == one.hypotheses == one.references for one in finding.agreements.values())


def test_what_could_not_be_looked_for_is_said() -> None:
    without = diagnose(translated(["نه"]))
    assert list(without.missing) == ["unfinished", "search_errors", "search_errors_normalized"]
    assert without.finding("search_errors") is None
    scores = (ModelScore("نه", -1.0, -1.0),)
    half = diagnose(translated(["نه"], hypothesis_scores=scores))
    assert list(half.missing) == ["search_errors", "search_errors_normalized"]
    assert not diagnose(translated(["نه"], hypothesis_scores=scores, reference_scores=scores)).missing
    assert "not looked for: unfinished (the model's scores of its translations are not known)" in format_diagnosis(
        without
    )


def test_lines_for_a_person() -> None:
    diagnosis = diagnose(translated(["نه نه نه\x1b[2J", "آری."], ["هرگز.", "آری."]), examples=5)
    lines = format_diagnosis(diagnosis)
    assert lines[0] == "Diagnosis of held, system, step-000001, beam-5"
    for label in ("system (2)", "system step-000001", "system step-000001 beam-5"):
        heading = format_diagnosis(diagnosis, system=label)[0].replace(",", "")
        assert heading.startswith(f"Diagnosis of held {label}")
        assert [heading.split().count(detail) for detail in ("step-000001", "beam-5")] == [1, 1]
    assert next(line for line in lines if line.startswith("repetition ")).split() == ["repetition", "1", "2", "50.0%"]
    assert "  sentence 1: 2 of 4 words said before: نه ×2" in lines
    assert next(line for line in lines if line.startswith("  .")).split() == [".", "100.0%", "50.0%", "66.7%", "1", "2"]
    assert not any("identical:" in line for line in lines), "what was found nowhere has one line only"


def test_examples_are_counted_and_json_is_complete() -> None:
    diagnosis: Diagnosis = diagnose(translated(["نه نه"] * 4, ["هرگز"] * 4), examples=3)
    values = diagnosis.to_json()
    repetition = values["findings"][1]
    assert repetition["name"] == "repetition"
    assert (repetition["count"], repetition["of"], repetition["share"]) == (4, 4, 1.0)
    assert [example["sentence"] for example in repetition["examples"]] == [1, 2, 3]
    assert values["missing"] == dict(diagnosis.missing)


def shuffled(scored: ScoredSet, order: list[int]) -> ScoredSet:
    """Return the sentences in another order."""
    changed: dict[str, Any] = {}
    for name in ("sources", "references", "hypotheses", "origins", "hypothesis_scores", "reference_scores"):
        column = getattr(scored, name)
        changed[name] = None if column is None else tuple(column[place] for place in order)
    return replace(scored, **changed)
