"""The sample's recipe on a GPU: its time and score, and whether a restarted training ends with the same bits."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import torch

from bench.processes import TRANSLATOR, run_command
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.run.folder import RunFolder

_RESUMED_AT: Final = 40
_RESUMED_TO: Final = 80  # updates of the run whose second half runs twice


def bench_sample(folder: Path, device: torch.device, results: dict[str, Any], *settings: str) -> Iterator[str]:
    """Yield time and score of the sample's recipe, whether a restart is bit-exact, and the speed of each search."""
    train = [*TRANSLATOR, "train", "--config", "sample", "--set", f"run.device={device.type}", *settings]
    log = folder / "log.txt"

    # 1. The whole recipe.
    run = folder / "sample"
    began = time.monotonic()
    run_command([*train, f"run.directory={run}"], log)
    seconds = time.monotonic() - began
    score = json.loads((run / "evaluation" / "scores.json").read_text(encoding="utf-8"))[0]
    yield f"  the sample: {seconds:.0f} s from the start to the scores, {score['metric']} {score['score']:.2f}"

    # 2. A restart.
    same_bits = restart_has_same_bits(train, RunFolder(folder / "short"), device, log)
    yield f"  resumed at update {_RESUMED_AT} of {_RESUMED_TO}: {'the same' if same_bits else 'OTHER'} bits"

    results["sample"] = {"seconds": seconds, "score": score, "resumed_alike": same_bits}


def restart_has_same_bits(train: list[str], run: RunFolder, device: torch.device, log: Path) -> bool:
    """Return whether a training that starts again in its middle ends with the same weights, compiled and captured."""
    settings = [
        f"run.directory={run.path}",
        f"training.validate_every={_RESUMED_AT}",
        f"training.checkpoint_every={_RESUMED_AT}",
        f"training.max_steps={_RESUMED_TO}",
        f"training.compile={'always' if device.type == 'cuda' else 'never'}",
        "evaluation.metrics=[bleu]",
    ]
    weights = []
    for _ in range(2):
        run_command([*train, *settings], log)
        last = find_checkpoint(run.checkpoints_folder, "last")
        weights.append(load_checkpoint(last).model)
        shutil.rmtree(last.resolve())  # the same command resumes from the checkpoint before
    first, second = weights
    return all(torch.equal(weight, second[name]) for name, weight in first.items())
