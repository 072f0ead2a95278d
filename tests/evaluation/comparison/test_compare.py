"""Systems are compared only on the same sentences; wins, losses and the largest differences are told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from translated_sets import HOSTILE, translated

from translator.config import NormalizationConfig
from translator.errors import InputError
from translator.evaluation.comparison import compare_systems, format_comparison
from translator.evaluation.comparison.compare import check_same_test_set, distinct_labels
from translator.evaluation.comparison.saved_sets import newest_sets
from translator.evaluation.text_variants import RAW, text_variants

SOURCES = ["The door is open.", "He reads.", "She left.", "It is cold."]
REFERENCES = ["در باز است.", "او می‌خواند.", "او رفت.", "هوا سرد است."]
BASELINE = translated(["در باز است.", "او کتاب", "ماند", "سرد"], REFERENCES, SOURCES, system="a")
SYSTEM = translated(["در بسته است", "او می‌خواند.", "ماند", "هوا سرد است"], REFERENCES, SOURCES, system="b")


def test_wins_losses_and_the_largest_differences() -> None:
    (found,) = compare_systems([BASELINE, SYSTEM], metrics=("chrf",), samples=10, trials=0).by_sentence
    assert (found.wins, found.losses, found.ties) == (2, 1, 1)
    assert [difference.sentence for difference in found.worse] == [1]
    gains = [difference.gain for difference in found.better]
    assert gains == sorted(gains, reverse=True)
    assert {difference.sentence for difference in found.better} == {2, 4}
    second = next(difference for difference in found.better if difference.sentence == 2)
    assert (second.source, second.references) == (SOURCES[1], (REFERENCES[1],))
    assert (second.baseline, second.system) == ("او کتاب", "او می‌خواند.")
    assert second.system_chrf == sacrebleu.sentence_chrf("او می‌خواند.", [REFERENCES[1]]).score
    assert second.baseline_chrf == sacrebleu.sentence_chrf("او کتاب", [REFERENCES[1]]).score


def test_examples_are_counted() -> None:
    (found,) = compare_systems([BASELINE, SYSTEM], metrics=("chrf",), samples=10, trials=0, examples=1).by_sentence
    assert (found.wins, len(found.better)) == (2, 1)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=4))
def test_any_text_is_compared_and_the_counts_add_up(rows: list[tuple[str, str, str, str]]) -> None:
    sources, references, *both = ([row[side] for row in rows] for side in range(4))
    sets = [translated(texts, references, sources, system=f"s{place}") for place, texts in enumerate(both)]
    found = compare_systems(sets, samples=10, trials=10, examples=2)
    (by_sentence,) = found.by_sentence
    assert by_sentence.wins + by_sentence.losses + by_sentence.ties == len(rows)
    (back,) = compare_systems(sets[::-1], samples=0, trials=0).by_sentence
    assert (back.wins, back.losses, back.ties) == (by_sentence.losses, by_sentence.wins, by_sentence.ties)
    json.dumps(found.to_json(), allow_nan=False)
    lines = format_comparison(found)
    assert all(character.isprintable() or character == "\u200c" for line in lines for character in line)


def test_lines_for_a_person() -> None:
    variants = text_variants(NormalizationConfig())[:2]
    found = compare_systems([BASELINE, SYSTEM], metrics=("bleu", "ter"), samples=20, trials=30, variants=variants)
    assert [(test.normalization == RAW, test.metric, test.method) for test in found.tests] == [
        (raw, metric, method)
        for raw in (True, False)
        for metric in ("bleu", "ter")
        for method in ("bootstrap", "randomisation")
    ]
    lines = format_comparison(found)
    assert lines[0] == "held: 4 sentences; differences and p-values against a"
    assert "text: raw" in lines
    assert any(line.startswith("ter (lower is better)  paired bootstrap") for line in lines)
    assert any("|bs:20|seed:12345|" in line for line in lines)
    assert any("|ar:30|seed:12345|" in line for line in lines)
    assert "b against a by sentence (chrF, raw): 2 better, 1 worse, 1 alike" in lines
    assert "    source     He reads." in lines
    assert "    a: او کتاب" in lines


def test_one_system_is_no_comparison() -> None:
    with pytest.raises(InputError, match="needs two systems or more"):
        compare_systems([BASELINE])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (translated(SOURCES[:3], REFERENCES[:3], SOURCES[:3], system="b"), "they have 4 and 3 sentences"),
        (
            replace(SYSTEM, sources=(*SOURCES[:2], "He left.", "It was cold.")),
            "sentence 3 has two sources, «She left.» and «He left.»",
        ),
        (
            replace(SYSTEM, references=(*((text,) for text in REFERENCES[:3]), ("هوا سرد بود.",))),
            "sentence 4 has other references, «هوا سرد است.» and «هوا سرد بود.»",
        ),
        (
            replace(SYSTEM, references=tuple((text, text) for text in REFERENCES)),
            "there are 1 and 2 references a sentence",
        ),
    ],
)
def test_other_sentences_are_refused(changed: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_same_test_set([BASELINE, changed])  # type: ignore[list-item]
    assert message in str(caught.value)
    assert str(caught.value).startswith("`a` and `b` cannot be compared on `held`")
    assert "evaluate both on the same test set" in str(caught.value)


def test_a_difference_deep_inside_a_long_text_is_shown() -> None:
    long = "و " * 500
    changed = [replace(BASELINE, sources=(f"{long}{end}", *SOURCES[1:])) for end in ("door", "gate")]
    with pytest.raises(InputError, match=r"«….*و door» and «….*و gate»"):
        check_same_test_set(changed)


def test_labels_tell_systems_apart() -> None:
    def labels(*names: tuple[str, str, str]) -> tuple[str, ...]:
        return distinct_labels(
            [
                translated(["نه"], system=name, checkpoint=checkpoint, search=search)
                for name, checkpoint, search in names
            ]
        )

    assert labels(("a", "1", "beam-5"), ("b", "2", "greedy")) == ("a", "b")
    assert labels(("a", "1", "beam-5"), ("a", "2", "beam-5"), ("b", "1", "x")) == ("a 1", "a 2", "b")
    assert labels(("a", "1", "beam-5"), ("a", "1", "greedy")) == ("a beam-5", "a greedy")
    assert labels(("a", "1", "x"), ("a", "1", "x"), ("a", "1", "x")) == ("a", "a (2)", "a (3)")
    assert len(set(labels(("a", "1", "x"), ("a", "1", "y"), ("a", "2", "x"), ("a", "1", "x")))) == 4


def test_no_run_is_no_system(tmp_path: Path) -> None:
    from translator.errors import RunError

    with pytest.raises(RunError, match="no run at"):
        newest_sets(tmp_path)
