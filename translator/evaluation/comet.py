"""COMET (Rei et al. 2020), where a person has the program and a model: in a process of its own, with no way to the net.

COMET's checkpoints are pickles. Nothing is unpickled here: the program `comet-score` does that, with a file that a
person has named.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from translator.config import EvaluationConfig
from translator.errors import InputError
from translator.evaluation.sentence_counts import SentenceCounts
from translator.evaluation.text_variants import RAW
from translator.storage import storage_errors, write_text

_KEYS: Final = ("evaluation", "evaluation.comet_model")
"""What an override is called that names a model."""
_PROGRAM: Final = "comet-score"
_OFFLINE: Final = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONUTF8": "1"}


def named_model(config: EvaluationConfig, overrides: Sequence[str]) -> str | None:
    """Return the model of `config` if whoever evaluates has named it, in `overrides`: loading it runs what is inside.

    So a run from elsewhere cannot bring its own.
    """
    named = any(override.partition("=")[0].strip() in _KEYS for override in overrides)
    return config.comet_model if named else None


def comet_lacks(model: str | None) -> str | None:
    """Return what is missing for COMET and how to get it; None if it can be computed."""
    if model is None:
        return (
            "COMET needs a model: fetch one, and name its checkpoint with --set evaluation.comet_model=FILE.ckpt; one "
            "that a run names is not taken, since loading it runs what is inside"
        )
    if not Path(model).is_file():
        return f"COMET needs a model: evaluation.comet_model is {model}, and there is no such file"
    if not model.endswith(".ckpt"):
        return f"COMET needs a checkpoint, a file that ends with .ckpt; evaluation.comet_model is {model}"
    if shutil.which(_PROGRAM) is None:
        return f"COMET needs the program {_PROGRAM}: pip install unbabel-comet, in any environment on PATH"
    return None


def count_comet(
    model: str, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[tuple[str, ...]]
) -> SentenceCounts:
    """Return COMET's score of each sentence, on raw text and against its first reference.

    Raises:
        InputError: the program fails; the message holds what it said last.
    """
    with storage_errors("a temporary folder"), tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        texts = {"source": sources, "hypothesis": hypotheses, "reference": [several[0] for several in references]}
        for name, lines in texts.items():
            write_text(folder / name, "".join(f"{' '.join(line.split())}\n" for line in lines))
        command = [_PROGRAM, "-s", "source", "-t", "hypothesis", "-r", "reference", "--gpus", "0", "--quiet"]
        command += ["--model", str(Path(model).resolve()), "--to_json", "scores.json"]
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | _OFFLINE,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        scores = _read(folder / "scores.json") if done.returncode == 0 else None
    if scores is None or len(scores) != len(sources):
        last = "\n".join(done.stderr.strip().splitlines()[-5:]) or "nothing"
        raise InputError(
            f"{_PROGRAM} did not score the translations with {model} (exit code {done.returncode}). It runs without a "
            "network, so what the model needs must be in the caches already; leave out evaluation.comet_model to go on "
            f"without it. It said last: {last}"
        )
    counts = np.column_stack([scores, np.ones(len(scores))])
    return SentenceCounts("comet", RAW, counts, f"model:{Path(model).stem}|program:{_PROGRAM}", _mean)


def _read(path: Path) -> list[float] | None:
    """Return the score of each sentence; None if the file is not what the program writes."""
    try:
        (rows,) = json.loads(path.read_text(encoding="utf-8")).values()
        return [float(_score(row)) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _score(row: dict[str, Any]) -> Any:
    return row["COMET"]


def _mean(sums: list[float]) -> float:
    return sums[0] / sums[1]
