"""COMET, a learned metric (Rei et al. 2020, "COMET: A Neural Framework for MT Evaluation"), by its own program."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from translator.config import Config
from translator.errors import InputError
from translator.evaluation.metrics import SEED, Interval, Score, bounded_resamples
from translator.evaluation.text_variants import RAW
from translator.run.files import storage_errors, write_text
from translator.run.folder import RunFolder

_PROGRAM: Final = "comet-score"
_QUOTED_LINES: Final = 5  # last lines of the program's errors, in a message


def comet_lacks(model: str | None, run: RunFolder) -> str | None:
    """Return what COMET lacks and how to get it; None if it can be computed.

    A model inside the folder of the run is refused: a run may come from someone else, and loading runs code in it.
    """
    if model is None:
        return "COMET needs a model: download one, and set evaluation.comet_model=FILE.ckpt"
    path = Path(model)
    if path.suffix != ".ckpt" or not path.is_file():
        return f"COMET needs a checkpoint file that ends in .ckpt; evaluation.comet_model is {model}"
    if path.resolve().is_relative_to(run.path.resolve()):
        return f"COMET's model {model} is inside a run folder and is not loaded, since loading runs its code"
    if shutil.which(_PROGRAM) is None:
        return (
            f"COMET needs the program {_PROGRAM} on PATH: install unbabel-comet in an environment of its own, since "
            "its requirements conflict with ours"
        )
    return None


def comet_score(
    config: Config, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]
) -> Score:
    """Return COMET's score on raw text, against the first reference of each sentence, with a bootstrap interval.

    Args:
        config: with `evaluation.comet_model`, for which `comet_lacks` returns None.
        sources: N texts.
        hypotheses: N translations.
        references: N tuples of at least one text.

    Raises InputError: the program fails; the message quotes its last lines.
    """
    model = config.evaluation.comet_model
    assert model is not None, "the caller has asked comet_lacks"
    first_references = [texts[0] for texts in references]
    texts = {"source": sources, "hypothesis": hypotheses, "reference": first_references}
    sentence_scores, last_output = _run_program(Path(model), texts)
    if len(sentence_scores) != len(sources):
        raise InputError(
            f"{_PROGRAM} did not score the translations with {model}. It runs without network access, so the caches "
            "must have all files of the model; set evaluation.comet_model=null to skip COMET. Its last output: "
            f"{last_output}"
        )
    sentences = len(sentence_scores)
    resamples = bounded_resamples(sentences)
    return Score(
        metric="comet",
        score=sum(sentence_scores) / sentences,
        signature=f"model:{Path(model).stem}|program:{_PROGRAM}|bs:{resamples}|seed:{SEED}",
        normalization=RAW,
        sentences=sentences,
        interval=_interval(sentence_scores, resamples),
    )


def _interval(sentence_scores: Sequence[float], resamples: int) -> Interval:
    """Return the 95% interval of the mean over bootstrap resamples of the sentences (Koehn 2004)."""
    generator = np.random.default_rng(SEED)
    means = [generator.choice(sentence_scores, len(sentence_scores)).mean() for _ in range(resamples)]
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def _run_program(model: Path, texts: dict[str, Sequence[str]]) -> tuple[list[float], str]:
    """Return the scores of the sentences by COMET's program, none if it fails, and the last lines of its errors.

    The program runs on a CPU, as a separate process without network access, and unpickles the checkpoint.

    Args:
        model: COMET's checkpoint.
        texts: `source`, `hypothesis` and `reference`, N sentences each.
    """
    sentence_scores: list[float] = []
    with storage_errors("a temporary folder"), tempfile.TemporaryDirectory() as folder:
        # 1. Write a file for each side. The program takes one line for each sentence.
        for name, sentences in texts.items():
            lines = [" ".join(sentence.split()) + "\n" for sentence in sentences]
            write_text(Path(folder, name), "".join(lines))

        # 2. Run the program, cut off from the network.
        command = [_PROGRAM, "-s", "source", "-t", "hypothesis", "-r", "reference", "--gpus", "0", "--quiet"]
        command += ["--model", str(model.resolve()), "--to_json", "scores.json"]
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONUTF8": "1"}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
        )

        # 3. Read the scores. A missing or damaged file leaves them empty; the caller's message quotes the program.
        scores_file = Path(folder, "scores.json")
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            (rows,) = json.loads(scores_file.read_text(encoding="utf-8")).values()
            sentence_scores = [float(row["COMET"]) for row in rows]
    last_output = "\n".join(done.stderr.strip().splitlines()[-_QUOTED_LINES:]) or "nothing"
    return [] if done.returncode else sentence_scores, last_output
