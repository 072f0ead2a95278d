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
        metric: name and command; `{source}`, `{hypothesis}` and `{reference}` in it become paths of text files, which
            have a sentence on each line; the reference file has the first reference of each sentence.
        sources: N texts.
        hypotheses: N translations.
        references: one or more for each.

    Raises InputError: the program cannot be run, fails, or prints anything but N lines of one number.
    """
    sides = {"source": sources, "hypothesis": hypotheses, "reference": [texts[0] for texts in references]}
    with storage_errors("a temporary folder"), tempfile.TemporaryDirectory() as folder:
        files = {side: Path(folder, f"{side}.txt") for side in sides}
        for side, sentences in sides.items():
            # A line break inside a sentence would make two lines of it.
            write_text(files[side], "".join(" ".join(sentence.split()) + "\n" for sentence in sentences))
        command = [part.format(**files) for part in shlex.split(metric.command)]
        scores = _numbers_of(metric, command, len(sources))
    resamples = bounded_resamples(len(scores))
    return Score(
        metric=metric.name,
        score=float(np.mean(scores)),
        signature=f"command:{metric.command}|bs:{resamples}|seed:{SEED}",
        normalization=RAW,
        sentences=len(scores),
        interval=_bootstrap_interval(scores, resamples),
    )


def _numbers_of(metric: ExternalMetric, command: Sequence[str], count: int) -> list[float]:
    """Return the `count` numbers that a command prints, one a line; raise InputError if it does anything else."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)
        scores = [float(line) for line in done.stdout.splitlines()]
        if len(scores) != count:
            raise ValueError(f"{len(scores):,} lines for {count:,} sentences")
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        complaint = [str(error)]
        if isinstance(error, subprocess.CalledProcessError):
            complaint += error.stderr.splitlines()[-_QUOTED_LINES:]
        raise InputError(
            f"the metric `{metric.name}` has no scores: {' '.join(complaint)}; its command must print one number a "
            f"line: {metric.command}"
        ) from error
    return scores


def _bootstrap_interval(scores: Sequence[float], resamples: int) -> Interval:
    """Return the 95% interval of the mean over bootstrap resamples of the sentences (Koehn 2004)."""
    generator = np.random.default_rng(SEED)
    means = generator.choice(scores, (resamples, len(scores))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
