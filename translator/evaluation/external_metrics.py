"""Metrics of other programs, such as COMET, MetricX or a judge, which run in environments of their own."""

import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from translator.config import ExternalMetric
from translator.errors import InputError
from translator.evaluation.metrics import SEED, Interval, Score, bounded_resamples
from translator.evaluation.text_variants import RAW
from translator.run.files import storage_errors, write_text

_QUOTED_LINES: Final = 5  # last lines of the program's errors, in a message


def external_score(
    metric: ExternalMetric, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]
) -> Score:
    """Return the mean of the scores that a program gives to N sentences of raw text, with a bootstrap interval.

    Args:
        metric: name and command; `{source}`, `{hypothesis}` and `{reference}` in it become paths of text files, with a
            sentence on each line, and the first reference of each.
        sources: N texts.
        hypotheses: N translations.
        references: one or more for each.

    Raises InputError: the program cannot be run, fails, or prints anything but N lines of one number.
    """
    sides = {"source": sources, "hypothesis": hypotheses, "reference": [texts[0] for texts in references]}
    with storage_errors("a temporary folder"), tempfile.TemporaryDirectory() as folder:
        files = {side: Path(folder, f"{side}.txt") for side in sides}
        for side, sentences in sides.items():
            write_text(files[side], "".join(" ".join(sentence.split()) + "\n" for sentence in sentences))
        command = [part.format(**files) for part in shlex.split(metric.command)]
        scores, complaint = _numbers_of(command)
    if complaint is None and len(scores) != len(sources):
        complaint = f"it printed {len(scores):,} lines for {len(sources):,} sentences"
    if complaint is not None:
        raise InputError(
            f"the metric `{metric.name}` has no scores: {complaint}. Its command must print one number a line: "
            f"{metric.command}"
        )
    resamples = bounded_resamples(len(scores))
    return Score(
        metric=metric.name,
        score=float(np.mean(scores)),
        signature=f"command:{metric.command}|bs:{resamples}|seed:{SEED}",
        normalization=RAW,
        sentences=len(scores),
        interval=_interval(scores, resamples),
    )


def _numbers_of(command: Sequence[str]) -> tuple[list[float], str | None]:
    """Return the numbers that a command prints, one a line, and in words what went wrong, if anything did."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        return [], f"{command[0]} cannot be run ({error.strerror})"
    if done.returncode:
        last_lines = "\n".join(done.stderr.strip().splitlines()[-_QUOTED_LINES:])
        return [], f"it ended with exit code {done.returncode}: {last_lines or 'it said nothing'}"
    try:
        return [float(line) for line in done.stdout.splitlines()], None
    except ValueError as error:
        return [], f"it printed something else ({error})"


def _interval(scores: Sequence[float], resamples: int) -> Interval:
    """Return the 95% interval of the mean over bootstrap resamples of the sentences (Koehn 2004)."""
    generator = np.random.default_rng(SEED)
    means = [generator.choice(scores, len(scores)).mean() for _ in range(resamples)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
