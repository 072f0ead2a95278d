"""The numbers are those of sacreBLEU's own command line."""

import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from translated_sets import translated

from translator.errors import InputError
from translator.evaluation.comparison import PairedTest, SystemComparison, compare_systems

TEXT = "او به خانه می‌رود و کتاب خوبی را در باغ بزرگ شهر با دوستان خود می‌خواند"
WORDS = TEXT.split()


def sentences(count: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.sample(WORDS, chance.randint(6, 12))) + " ." for _ in range(count)]


def spoilt(texts: Sequence[str], share: float, seed: int) -> list[str]:
    """Return the texts with so many of their words exchanged."""
    chance = random.Random(seed)
    return [
        " ".join(chance.choice(WORDS) if chance.random() < share else word for word in text.split()) for text in texts
    ]


REFERENCES = sentences(40, 1)
SECOND = spoilt(REFERENCES, 0.3, 2)
BASELINE, CLOSE, WORSE = (spoilt(REFERENCES, share, seed) for share, seed in ((0.3, 3), (0.35, 4), (0.7, 5)))


def compared(*hypotheses: Sequence[str], references: Sequence[tuple[str, ...]] | None = None) -> SystemComparison:
    several = references or [(text,) for text in REFERENCES]
    sets = [translated(texts, several, system=f"s{number}") for number, texts in enumerate(hypotheses)]
    return compare_systems(sets, metrics=("bleu", "chrf", "ter"), samples=100, trials=100)


def paired_test_of(comparison: SystemComparison, metric: str, method: str) -> PairedTest:
    return next(test for test in comparison.tests if (test.metric, test.method) == (metric, method))


def sacrebleus(folder: Path, *flags: str) -> tuple[list[list[list[float]]], list[str]]:
    """Return, for each system, what the command line prints of each metric, and the signatures."""
    files = {"ref1": REFERENCES, "ref2": SECOND, "a": BASELINE, "b": CLOSE, "c": WORSE}
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
def test_the_numbers_are_sacrebleus(method: str, tmp_path: Path) -> None:
    flags = {"bootstrap": ("-pbs", "-pbsn", "100"), "randomisation": ("-par", "-parn", "100")}[method]
    theirs, signatures = sacrebleus(tmp_path, *flags)
    found = compared(BASELINE, CLOSE, WORSE, references=list(zip(REFERENCES, SECOND, strict=True)))
    for place, metric in enumerate(("bleu", "chrf", "ter")):
        test = paired_test_of(found, metric, method)
        assert test.signature == signatures[place]
        for ours, row in zip(test.systems, theirs, strict=True):
            expected = list(row[place])
            if ours.p_value is not None:
                assert ours.p_value == pytest.approx(expected.pop(), abs=1e-4), "four decimals are printed"
            numbers = [number for number in (ours.score, ours.mean, ours.half_interval) if number is not None]
            assert numbers == pytest.approx(expected, abs=2e-5), "some are computed in single precision"


def test_a_system_against_itself_differs_in_nothing() -> None:
    for test in compared(BASELINE, BASELINE).tests:
        assert test.systems[1].difference == 0
        assert test.systems[1].p_value == 1
        assert test.systems[0].p_value is None


def test_a_much_worse_system_is_no_chance() -> None:
    for test in compared(BASELINE, WORSE).tests:
        p_value = test.systems[1].p_value
        assert p_value is not None
        assert p_value < 0.01
        assert (test.systems[1].difference > 0) == test.lower_is_better


def test_systems_are_tested_each_against_the_first() -> None:
    together, alone = compared(BASELINE, CLOSE, WORSE), compared(BASELINE, WORSE)
    for ours, theirs in zip(together.tests, alone.tests, strict=True):
        assert ours.systems[2].p_value == theirs.systems[1].p_value
        assert ours.systems[2].score == theirs.systems[1].score


def test_the_same_comparison_gives_the_same() -> None:
    assert compared(BASELINE, CLOSE) == compared(BASELINE, CLOSE)


def test_more_draws_than_the_memory_holds_are_refused() -> None:
    sets = [translated(texts, REFERENCES, system=texts[0]) for texts in (BASELINE, CLOSE)]
    with pytest.raises(InputError, match=r"3,000,000 draws of 40 sentences .* take at most 2,500,000"):
        compare_systems(sets, metrics=("bleu",), samples=3_000_000, trials=0)
