"""Significance: p-values, means and signatures are those of sacreBLEU's own command line."""

import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.few_draws import RESAMPLES, TRIALS
from tests.support.translated_sets import translated
from translator.config import MetricName
from translator.evaluation.compare import compare_systems
from translator.evaluation.significance import PairedTest

METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "ter")
TEXT = "او به خانه می‌رود و کتاب خوبی را در باغ بزرگ شهر با دوستان خود می‌خواند"
WORDS = TEXT.split()


def sentences(count: int, seed: int) -> list[str]:
    """Return sentences of six to twelve different words."""
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        words = chance.sample(WORDS, chance.randint(6, 12))
        texts.append(" ".join(words) + " .")
    return texts


def spoilt(texts: Sequence[str], share: float, seed: int) -> list[str]:
    """Return the texts with this share of their words replaced at random."""
    chance = random.Random(seed)
    spoilt_texts = []
    for text in texts:
        words = [chance.choice(WORDS) if chance.random() < share else word for word in text.split()]
        spoilt_texts.append(" ".join(words))
    return spoilt_texts


REFERENCES = sentences(40, seed=1)
SECOND_REFERENCES = spoilt(REFERENCES, 0.3, seed=2)
BASE = spoilt(REFERENCES, 0.3, seed=3)
CLOSE = spoilt(REFERENCES, 0.35, seed=4)
WORSE = spoilt(REFERENCES, 0.7, seed=5)


def paired_tests(*hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]) -> tuple[PairedTest, ...]:
    sets = [translated(texts, references, system=f"system {number}") for number, texts in enumerate(hypotheses)]
    return compare_systems(sets, metrics=METRICS).tests


def decimal_numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


class PrintedTests(NamedTuple):
    """What sacreBLEU's command line prints, for three systems and the metrics of `METRICS`."""

    numbers: list[list[list[float]]]  # of each system and metric: score, then mean and half interval, then p-value
    signatures: list[str]  # of each metric


def printed_tests(folder: Path, *flags: str) -> PrintedTests:
    """Run sacreBLEU's command line in `folder` with the flags of a paired test."""
    # 1. Write the texts, and run the command.
    files = {"ref1": REFERENCES, "ref2": SECOND_REFERENCES, "a": BASE, "b": CLOSE, "c": WORSE}
    for name, texts in files.items():
        (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "ref1", "ref2", "-i", "a", "b", "c", "-m", *METRICS]
    command += [*flags, "-w", "6", "-f", "text", "--no-color"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    output = done.stdout.decode("utf-8")

    # 2. Read the table: a first line of each system with the scores, a second one with the p-values.
    systems: list[list[list[float]]] = []
    for line in output.splitlines():
        name, *cells = line.strip("│").split("│")
        if len(cells) != len(METRICS) or "BLEU" in line:
            continue
        numbers = [decimal_numbers(cell) for cell in cells]
        if name.strip():
            systems.append(numbers)
        else:
            for metric_numbers, p_values in zip(systems[-1], numbers, strict=True):
                metric_numbers += p_values
    signatures = re.findall(r"^ - \w+ +(nrefs\S+)", output, re.MULTILINE)
    return PrintedTests(numbers=systems, signatures=signatures)


@pytest.mark.parametrize(
    ("method", "flags"),
    [("bootstrap", ("-pbs", "-pbsn", str(RESAMPLES))), ("randomisation", ("-par", "-parn", str(TRIALS)))],
)
def test_significance_results_equal_those_of_sacrebleus_command_line(
    method: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    printed = printed_tests(tmp_path, *flags)
    references = list(zip(REFERENCES, SECOND_REFERENCES, strict=True))
    tests_of_all_methods = paired_tests(BASE, CLOSE, WORSE, references=references)
    tests = [test for test in tests_of_all_methods if test.method == method]
    assert [test.metric for test in tests] == list(METRICS)
    for place, test in enumerate(tests):
        assert test.signature == printed.signatures[place]
        for result, printed_system in zip(test.systems, printed.numbers, strict=True):
            expected = list(printed_system[place])
            if result.p_value is not None:
                expected_p_value = expected.pop()
                assert result.p_value == pytest.approx(expected_p_value, abs=1e-4), "four decimals are printed"
            numbers = (result.score, result.mean, result.half_interval)
            numbers_of_method = [number for number in numbers if number is not None]
            assert numbers_of_method == pytest.approx(expected, abs=2e-5), "some are computed in single precision"


def test_a_system_compared_with_itself_has_zero_difference_and_p_value_one() -> None:
    for test in paired_tests(BASE, BASE, references=[(text,) for text in REFERENCES]):
        baseline, system = test.systems
        assert baseline.p_value is None
        assert (system.difference, system.p_value) == (0, 1)
