"""How a run learned: its losses and validation scores over its steps, from what it said in its log."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from translator.run_folder import RunFolder
from translator.storage import storage_errors

Points: TypeAlias = tuple[tuple[int, float], ...]
"""Step and value, by step."""

_LINE: Final = re.compile(r"[\d-]{10} [\d:,]{8,12} INFO step ([\d,]+): (validation )?(loss [^;(]*)")
_NUMBER: Final = re.compile(r"(\w+) (\S+)")
TRAINING_LOSS: Final = "training loss"


@dataclass(frozen=True)
class LearningCurve:
    """The curves of one run."""

    system: str
    """The run's name, as in the sets that it translated."""
    curves: Mapping[str, Points]
    """By name: `loss`, `bleu` and `chrf` of the validations, and `training loss`."""


def read_learning_curve(run: RunFolder) -> LearningCurve:
    """Return the curves of `run`, empty ones where its log is not there or does not tell.

    The log says more than the checkpoints, of which few are kept, and asks for no TensorBoard. Steps that were lost
    with a killed process, and taken again, count as they were taken last.

    Raises:
        StorageError: the log cannot be read.
    """
    values: dict[str, dict[int, float]] = {}
    if run.log_file.is_file():
        with storage_errors(run.log_file, "read"), run.log_file.open(encoding="utf-8", errors="replace") as lines:
            last = 0
            for line in lines:
                match = _LINE.match(line)
                if match is None:
                    continue
                step = int(match[1].replace(",", ""))
                if step < last:
                    for curve in values.values():
                        for lost in [one for one in curve if one >= step]:
                            del curve[lost]
                last = step
                for name, value in _numbers(match):
                    values.setdefault(name, {})[step] = value
    system = run.path.resolve().name
    return LearningCurve(system, {name: tuple(curve.items()) for name, curve in values.items() if curve})


def _numbers(match: re.Match[str]) -> list[tuple[str, float]]:
    """Return what a line of the log tells of a validation, or the loss of one about training."""
    found = []
    for name, text in _NUMBER.findall(match[3]):
        try:
            value = float(text)
        except ValueError:
            continue
        if not math.isfinite(value):
            continue
        if match[2] and name != "perplexity":
            found.append((name, value))
        elif not match[2] and name == "loss":
            found.append((TRAINING_LOSS, value))
    return found
