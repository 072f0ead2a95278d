"""Systems are compared only on the same sentences; wins and losses are counted; p-values equal sacreBLEU's."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from translated_sets import HOSTILE, translated

from translator.config import NormalizationConfig
from translator.errors import InputError
from translator.evaluation.compare import SystemComparison, check_same_test_set, compare_systems
from translator.evaluation.metrics import text_variants
from translator.evaluation.report import format_comparison
from translator.evaluation.results import ScoredSet, distinct_labels
from translator.run.text import printable

SOURCES = ["The door is open.", "He reads.", "She left.", "It is cold."]
REFERENCES = ["در باز است.", "او می‌خواند.", "او رفت.", "هوا سرد است."]
BASELINE = translated(["در باز است.", "او کتاب", "ماند", "سرد"], REFERENCES, SOURCES, system="a")
SYSTEM = translated(["در بسته است", "او می‌خواند.", "ماند", "هوا سرد است"], REFERENCES, SOURCES, system="b")


def test_comparison_counts_wins_and_losses_and_lists_largest_differences() -> None:
    (found,) = compare_systems([BASELINE, SYSTEM], metrics=("chrf",), samples=10, trials=0).by_sentence
    assert (found.wins, found.losses, found.ties) == (2, 1, 1)
    assert [difference.sentence for difference in found.worse] == [1]
    assert [difference.sentence for difference in found.better] == [2, 4], "the largest gain first"
    second = found.better[0]
    assert (second.source, second.references) == (SOURCES[1], (REFERENCES[1],))
    assert (second.baseline, second.system) == ("او کتاب", "او می‌خواند.")
    assert second.system_chrf == sacrebleu.sentence_chrf("او می‌خواند.", [REFERENCES[1]]).score
    assert second.baseline_chrf == sacrebleu.sentence_chrf("او کتاب", [REFERENCES[1]]).score


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
    assert all(printable(line) == line for line in lines)


def test_printed_comparison_shows_metrics_signatures_and_example_sentences() -> None:
    variants = text_variants(NormalizationConfig())[:2]
    found = compare_systems([BASELINE, SYSTEM], metrics=("bleu", "ter"), samples=20, trials=30, variants=variants)
    assert len(found.tests) == 2 * 2 * 2, "spellings, metrics, methods"
    lines = "\n".join(format_comparison(found))
    assert lines.startswith("held: 4 sentences; differences and p-values against a\n")
    for text in ("ter (lower is better)", "\nrepetition ", "|bs:20|seed:12345|", "|ar:30|seed:12345|"):
        assert text in lines
    assert "\nb against a by sentence (chrF, raw): 2 better, 1 worse, 1 alike\n" in lines
    assert "    source     He reads.\n" in lines
    assert "    a: او کتاب\n" in lines


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (translated(SOURCES[:3], REFERENCES[:3], SOURCES[:3], system="b"), "they have 4 and 3 sentences"),
        (
            replace(SYSTEM, sources=(*SOURCES[:2], "He left.", "It was cold.")),
            "sentence 3 has different sources, «She left.» and «He left.»",
        ),
        (
            replace(SYSTEM, references=(*((text,) for text in REFERENCES[:3]), ("هوا سرد بود.",))),
            "sentence 4 has different references, «هوا سرد است.» and «هوا سرد بود.»",
        ),
        (replace(SYSTEM, references=tuple((text, text) for text in REFERENCES)), "sentence 1 has different references"),
    ],
)
def test_comparison_on_different_sentences_is_refused(changed: ScoredSet, message: str) -> None:
    with pytest.raises(InputError, match=f"^`a` and `b` cannot be compared on `held`: {message}.*on the same test set"):
        check_same_test_set([BASELINE, changed])


def test_labels_tell_systems_apart() -> None:
    def labels(*names: tuple[str, str, str]) -> tuple[str, ...]:
        return distinct_labels([translated(["نه"], system=a, checkpoint=b, search=c) for a, b, c in names])

    assert labels(("a", "1", "beam-5"), ("b", "2", "greedy")) == ("a", "b")
    assert labels(("a", "1", "beam-5"), ("a", "2", "beam-5"), ("b", "1", "x")) == ("a 1", "a 2", "b")
    assert labels(("a", "1", "beam-5"), ("a", "1", "greedy")) == ("a beam-5", "a greedy")
    assert labels(("a", "1", "x"), ("a", "1", "x"), ("a", "1", "x")) == ("a", "a (2)", "a (3)")
    assert len(set(labels(("a", "1", "x"), ("a", "1", "y"), ("a", "2", "x"), ("a", "1", "x")))) == 4


# --- significance: the numbers are those of sacreBLEU's own command line ---

TEXT = "او به خانه می‌رود و کتاب خوبی را در باغ بزرگ شهر با دوستان خود می‌خواند"
ALL_WORDS = TEXT.split()


def sentences(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.sample(ALL_WORDS, chance.randint(6, 12))) + " ." for _ in range(count)]


def spoilt(texts: Sequence[str], share: float, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [
        " ".join(chance.choice(ALL_WORDS) if chance.random() < share else word for word in text.split())
        for text in texts
    ]


TRUE = sentences(40, 1)
SECOND = spoilt(TRUE, 0.3, 2)
BASE, CLOSE, WORSE = (spoilt(TRUE, share, seed) for share, seed in ((0.3, 3), (0.35, 4), (0.7, 5)))


def compared(*hypotheses: Sequence[str], references: Sequence[tuple[str, ...]] | None = None) -> SystemComparison:
    several = references or [(text,) for text in TRUE]
    sets = [translated(texts, several, system=f"s{number}") for number, texts in enumerate(hypotheses)]
    return compare_systems(sets, metrics=("bleu", "chrf", "ter"), samples=100, trials=100)


def sacrebleus(folder: Path, *flags: str) -> tuple[list[list[list[float]]], list[str]]:
    """Return, for each system, what the command line prints of each metric, and the signatures."""
    files = {"ref1": TRUE, "ref2": SECOND, "a": BASE, "b": CLOSE, "c": WORSE}
    for name, texts in files.items():
        (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "ref1", "ref2", "-i", "a", "b", "c", "-m", "bleu", "chrf", "ter"]
    done = subprocess.run(
        [*command, *flags, "-w", "6", "-f", "text", "--no-color"], cwd=folder, capture_output=True, check=True
    )
    out = done.stdout.decode("utf-8")
    rows: list[list[list[float]]] = []
    for line in out.splitlines():
        cells = line.strip("│").split("│")
        if len(cells) != 4 or "BLEU" in line:
            continue
        numbers = [[float(number) for number in re.findall(r"-?\d+\.\d+", cell)] for cell in cells[1:]]
        if cells[0].strip():
            rows.append(numbers)
        else:  # the second line of a system: p-values
            rows[-1] = [first + second for first, second in zip(rows[-1], numbers, strict=True)]
    return rows, re.findall(r"^ - \w+ +(nrefs\S+)", out, re.MULTILINE)


@pytest.mark.parametrize("method", ["bootstrap", "randomisation"])
def test_significance_results_equal_those_of_sacrebleus_command_line(method: str, tmp_path: Path) -> None:
    flags = {"bootstrap": ("-pbs", "-pbsn", "100"), "randomisation": ("-par", "-parn", "100")}[method]
    theirs, signatures = sacrebleus(tmp_path, *flags)
    found = compared(BASE, CLOSE, WORSE, references=list(zip(TRUE, SECOND, strict=True)))
    for place, metric in enumerate(("bleu", "chrf", "ter")):
        (test,) = (one for one in found.tests if (one.metric, one.method) == (metric, method))
        assert test.signature == signatures[place]
        for ours, row in zip(test.systems, theirs, strict=True):
            expected = list(row[place])
            if ours.p_value is not None:
                assert ours.p_value == pytest.approx(expected.pop(), abs=1e-4), "four decimals are printed"
            numbers = [number for number in (ours.score, ours.mean, ours.half_interval) if number is not None]
            assert numbers == pytest.approx(expected, abs=2e-5), "some are computed in single precision"


def test_a_system_compared_with_itself_has_zero_difference_and_p_value_one() -> None:
    for test in compared(BASE, BASE).tests:
        first, second = test.systems
        assert (second.difference, second.p_value, first.p_value) == (0, 1, None)
