"""Where two texts of unequal length come apart: a guess from lengths, numbers and marks of their lines."""

import array
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.corpus.sources.lines import Run

_MOST_STEPS: Final = 16
"""Surplus lines up to which each may be at a place of its own; more are taken to be together."""
_MOST_CELLS: Final = 40_000_000
_LARGEST_LENGTH_COST: Final = 2.5
_NUMBERS_AGREE, _NUMBERS_DIFFER = -2.5, 1.0
_MARKS_AGREE, _MARKS_DIFFER = -0.6, 0.8
_DIGIT: Final = re.compile(r"\d")
_MARKS: Final = {"?": 1, "؟": 1, "!": 2}

Costs = NDArray[np.float32]


@dataclass
class LineTraits:
    """A few small numbers for each line of a text."""

    lengths: "array.array[int]" = field(default_factory=lambda: array.array("I"))
    """Characters."""
    numbers: "array.array[int]" = field(default_factory=lambda: array.array("I"))
    """A hash of the digits in it; 0 where there are none."""
    marks: "array.array[int]" = field(default_factory=lambda: array.array("B"))
    """1 for a question, 2 for an exclamation, 3 for both, else 0."""


def traits_of(runs: Iterable[Run]) -> LineTraits:
    """Return the traits of all lines of a text."""
    traits = LineTraits()
    for texts, _ in runs:
        traits.lengths.extend(map(len, texts))
        traits.numbers.extend(map(_number_hash, texts))
        traits.marks.extend(map(_mark_bits, texts))
    return traits


def first_shifted_line(shorter: LineTraits, longer: LineTraits) -> int:
    """Return the likeliest 0-based line from which on the lines of `longer` stand too low, in linear time.

    Line i of the shorter text goes with line i + s of the longer, where s grows from 0 to the surplus. Of all ways to
    grow, the one is taken whose pairs agree best; it is found by dynamic programming over prefix sums.
    """
    count = len(shorter.lengths)
    surplus = len(longer.lengths) - count
    one_by_one = surplus <= _MOST_STEPS and (surplus + 1) * count <= _MOST_CELLS
    shifts = list(range(surplus + 1)) if one_by_one else [0, surplus]
    mean = _mean_log_length(shorter) - _mean_log_length(longer)
    # gains[s][i]: by how much the first i lines are cheaper up to the shift before s, than all with shift s
    gains: list[NDArray[np.float64]] = []
    best = _prefix_sums(shorter, longer, shifts[0], mean)
    for shift in shifts[1:]:
        total = _prefix_sums(shorter, longer, shift, mean)
        gains.append(best - total)
        best = total + np.minimum.accumulate(gains[-1])
    change = count
    for gain in reversed(gains):
        change = int(np.argmin(gain[: change + 1]))
    return change


def _prefix_sums(shorter: LineTraits, longer: LineTraits, shift: int, mean: float) -> NDArray[np.float64]:
    """Return what pairing the first 0, 1, 2, … lines of `shorter` with those `shift` further on in `longer` costs."""
    count = len(shorter.lengths)
    there = slice(shift, shift + count)
    ratio = _log_lengths(shorter) - _log_lengths(longer)[there] - np.float32(mean)
    cost = np.minimum(np.abs(ratio) * 2, _LARGEST_LENGTH_COST)
    numbers = np.asarray(shorter.numbers), np.asarray(longer.numbers)[there]
    some = (numbers[0] != 0) | (numbers[1] != 0)
    cost += np.where(some, np.where(numbers[0] == numbers[1], _NUMBERS_AGREE, _NUMBERS_DIFFER), 0)
    marks = np.asarray(shorter.marks), np.asarray(longer.marks)[there]
    some = (marks[0] != 0) | (marks[1] != 0)
    cost += np.where(some, np.where(marks[0] == marks[1], _MARKS_AGREE, _MARKS_DIFFER), 0)
    return np.concatenate([np.zeros(1), np.cumsum(cost, dtype=np.float64)])


def _log_lengths(traits: LineTraits) -> Costs:
    return np.log(np.asarray(traits.lengths, dtype=np.float32) + 1)


def _mean_log_length(traits: LineTraits) -> float:
    return float(_log_lengths(traits).mean())


def _number_hash(text: str) -> int:
    if not _DIGIT.search(text):
        return 0
    digits = sorted(str(int(digit)) for digit in _DIGIT.findall(text))
    return zlib.crc32("".join(digits).encode()) | 1


def _mark_bits(text: str) -> int:
    return sum({_MARKS[mark] for mark in _MARKS if mark in text})
